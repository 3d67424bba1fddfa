#!/usr/bin/env python3
"""Measures the automatic plan against all sensible plans by hand, on this machine, in one run.

Rounds go through all plans in turn with `bertd bench`, so that all see the same machine; what
counts is each plan's median over the rounds. The table shows tokens a second, their ratio to the
best plan, what `bertd plan` predicted, and the busy time of each stage against its prediction.

Ends with status 1 when the automatic plan is more than TOLERANCE behind the best: on a machine that
does something else at the time, that says nothing."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("BERTD", str(ROOT / "build" / "bertd"))
TOLERANCE = 0.03


def bertd(*arguments):
    """Standard output of a command as JSON."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return json.loads(done.stdout)


def thirds_text(thirds):
    """Thirds of layers as --layers-per-stage writes them."""
    return str(thirds // 3) + ["", ".3", ".6"][thirds % 3]


def plans_by_hand(cores, layers):
    """Options of the plans that a person might try on so many cores."""
    counts = {1, cores}
    counts.update(n for n in range(2, min(cores, layers) + 1) if cores % n == 0)
    plans = [["--stages", "1", "--replicas", "1"]]
    if cores > 1:
        plans.append(["--stages", "1", "--replicas", "1", "--stage-threads", str(min(cores, 8))])
    for stages in sorted(n for n in counts if n <= layers):
        replicas = str(max(1, min(64, cores // stages)))
        split = ["--stages", str(stages), "--replicas", replicas]
        if stages > 1 or cores > 1:
            plans.append(split)
        if stages > 1:
            plans.append(split + ["--no-pipelining"])
            plans.append(split + ["--max-in-flight", str(2 * stages + 2)])
    if 1 < cores and layers > 1:  # borders of two stages around the middle
        middle = layers * 3 // 2
        for first in range(max(1, middle - 2), min(layers * 3 - 1, middle + 2) + 1):
            plans.append(["--layers-per-stage", thirds_text(first) + ",-1", "--replicas",
                          str(max(1, cores // 2))])
    if cores < layers:
        plans.append(["--stages", str(cores + 1), "--replicas", "1"])
    plans.append(["--stages", "1", "--replicas", str(min(64, cores + 1))])
    return plans


def measure(options, arguments):
    """(tokens a second, [busy of each stage, averaged over replicas])."""
    row = bertd("bench", "--json", "--model", arguments.model, "--lengths", arguments.lengths,
                "--clients", arguments.clients, "--seconds", f"{arguments.seconds}s",
                *options)["rows"][0]
    busy = {}
    for stage in row["stages"]:
        busy.setdefault(stage["name"], []).append(stage["busy"])
    return row["tokens_per_second"], {name: statistics.mean(all_) for name, all_ in busy.items()}


def print_plan(name, options, runs, best, arguments):
    """One plan's line, and one more for its stages."""
    rate = statistics.median(rate for rate, _ in runs)
    told = bertd("plan", "--json", "--model", arguments.model, *options)
    predicted = told["predicted"]["tokens_per_second"]
    print(f"{name:58s} {rate:9.0f} {rate / best:7.3f} {predicted:10.0f} {rate / predicted:9.3f}")
    stages = []
    for thread in told["threads"]:
        busy = statistics.median(busy[thread["name"]] for _, busy in runs)
        stages.append(f"{thread['name']} {100 * busy:.0f} ({100 * thread['busy']:.0f})")
    print("    busy % (predicted): " + ", ".join(stages))
    return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=str(ROOT / "models" / "goemotions-minilm"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--lengths", default="128")
    parser.add_argument("--clients", default="16")
    arguments = parser.parse_args()
    told = bertd("plan", "--json", "--model", arguments.model)
    layers = sum(part["name"].endswith(" attention") for part in told["parts"])
    plans = [("automatic", [])]
    plans += [(" ".join(options), options) for options in plans_by_hand(told["cores"], layers)]
    runs = [[] for _ in plans]
    for _ in range(arguments.rounds):
        for i, (_, options) in enumerate(plans):
            runs[i].append(measure(options, arguments))
    rates = [statistics.median(rate for rate, _ in one) for one in runs]
    best = max(rates)
    print(f"{told['cores']} cores, texts of {arguments.lengths} tokens, "
          f"{arguments.clients} clients, medians of {arguments.rounds} rounds of "
          f"{arguments.seconds} s\n")
    print(f"{'plan':58s} {'tokens/s':>9s} {'of best':>7s} {'predicted':>10s} {'measured':>9s}")
    for i in sorted(range(len(plans)), key=lambda i: -rates[i]):
        print_plan(*plans[i], runs[i], best, arguments)
    print(f"\nautomatic plan: {rates[0] / best:.3f} of the best; {told['reason']}")
    sys.exit(0 if rates[0] >= best * (1 - TOLERANCE) else 1)


if __name__ == "__main__":
    main()
