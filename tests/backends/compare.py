#!/usr/bin/env python3
"""Compares two builds of bertd, such as of two backends: compare.py BERTD OTHER

First the logits of the demo model's labelled texts, which must agree within the tolerance of the
golden tests. Then the speed: `bertd bench` of one and the other in turn (A B B A), the medians and
the ratio OTHER / BERTD, of tokens a second and of the CPU time of a token, which other load on the
machine changes less. Ends with status 1 when logits differ by more; the speed is for the
reader."""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "goemotions-minilm"
TEXTS = ROOT / "tests" / "golden" / "demo" / "sample.jsonl"
TOLERANCE = 1e-4  # absolute, and the same again relative


def run(program, *arguments, text=None):
    """What the program prints."""
    done = subprocess.run([program, *arguments], input=text, capture_output=True, text=True,
                          timeout=600)
    if done.returncode != 0:
        sys.exit(f"{program} {arguments[0]}: {done.stderr}")
    return done.stdout


def logits_of(program, texts):
    """The logits of each text, by label."""
    lines = run(program, "classify", "--model", MODEL, "--jsonl", "--json", "--activation", "none",
                text="".join(json.dumps(text) + "\n" for text in texts)).splitlines()
    return [{p["label"]: p["score"] for p in json.loads(line)["predictions"]} for line in lines]


def compare_logits(program, other):
    """Prints the largest difference; whether all are within the tolerance."""
    texts = [json.loads(line)["text"] for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    pairs = [(a[label], b[label])
             for a, b in zip(logits_of(program, texts), logits_of(other, texts), strict=True)
             for label in a]
    largest = max(abs(a - b) for a, b in pairs)
    share = max(abs(a - b) / (TOLERANCE + TOLERANCE * abs(a)) for a, b in pairs)
    print(f"{len(texts)} texts: logits differ by at most {largest:.1e}, {share:.0%} of what is "
          f"allowed; {sum(a == b for a, b in pairs) / len(pairs):.0%} are equal to the last bit")
    return share <= 1


def bench(program, length, seconds, options):
    """Tokens, seconds and CPU seconds of a bench with texts of one length, the start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    row = json.loads(run(program, "bench", "--model", MODEL, "--json", "--lengths", length,
                         "--clients", options.clients, "--seconds", seconds))["rows"][0]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return row["tokens"], row["seconds"], cpu_s


def speed_of(program, length, options):
    """Tokens a second, and microseconds of CPU time a token: what a longer bench adds to a short
    one, so that the start does not count."""
    tokens, _, cpu_s = bench(program, length, "10ms", options)
    more_tokens, seconds, more_cpu_s = bench(program, length, options.seconds, options)
    if more_tokens <= tokens:
        sys.exit(f"compare.py: {options.seconds} of texts of {length} tokens tell nothing")
    return more_tokens / seconds, (more_cpu_s - cpu_s) / (more_tokens - tokens) * 1e6


def compare_speed(program, other, options):
    """Prints medians and the median of the rounds' ratios, with the least and the most."""
    print("tokens                        first    second  second/first")
    for length in options.lengths.split(","):
        speeds = {program: [], other: []}
        for turn in range(options.rounds):
            for which in (program, other) if turn % 2 == 0 else (other, program):
                speeds[which].append(speed_of(which, length, options))
        for what, name in enumerate(("tokens a second", "CPU us a token")):
            first, second = ([speed[what] for speed in speeds[which]] for which in speeds)
            ratios = sorted(b / a for a, b in zip(first, second))
            print(f"{length:>6}  {name:<16} {statistics.median(first):9.1f} "
                  f"{statistics.median(second):9.1f}  {statistics.median(ratios):.3f} "
                  f"({ratios[0]:.3f} to {ratios[-1]:.3f})")


def main():
    """Runs both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("other")
    parser.add_argument("--rounds", type=int, default=4, help="of each; 0: logits only (4)")
    parser.add_argument("--seconds", default="1s", help="of each bench (1s)")
    parser.add_argument("--lengths", default="8,32,128,512")
    parser.add_argument("--clients", default="16", help="texts in flight (16)")
    options = parser.parse_args()
    for name, program in (("first", options.program), ("second", options.other)):
        print(f"{name}: {program}, {run(program, 'version').splitlines()[1]}")
    alike = compare_logits(options.program, options.other)
    if options.rounds > 0:
        compare_speed(options.program, options.other, options)
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
