#!/usr/bin/env python3
"""Runs the project's tests and ends with one line of totals:
run.py --out build/MODE [--only GROUP] [--match FOLDER…]

Groups: unit (cmocka programs, golden models among them), fuzz (corpus replay), tidy, parity (what
the pinned tokenizer library gave), bench (its pure parts) and http (unittest files). Every program
is bounded in time. Exit status 1 when anything failed, a program broke off, or nothing ran."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = {"unit": 600, "fuzz": 300, "tidy": 120, "parity": 300, "bench": 120,
             "http": 900}
SANITIZER = re.compile(r"(ERROR|WARNING): \w*Sanitizer|runtime error:")


class Outcome:
    def __init__(self, name, passed, failed, skipped, seconds, output):
        self.name, self.passed, self.failed, self.skipped = name, passed, failed, skipped
        self.seconds, self.output = seconds, output


def count_cmocka(output):
    def number(pattern):
        return sum(int(n) for n in re.findall(pattern, output))
    return (number(r"\[  PASSED  \] (\d+) test"), number(r"\[  FAILED  \] (?:\w+: )?(\d+) test"),
            number(r"\[  SKIPPED \] (?:\w+: )?(\d+) test"))


def count_replay(output):
    passed = sum(int(n) for n in re.findall(r"^replayed (\d+) inputs$", output, re.M))
    return passed, 0, 0


def count_unittest(output):
    ran = sum(int(n) for n in re.findall(r"^Ran (\d+) tests? in", output, re.M))

    def number(word):
        return sum(int(n) for n in re.findall(r"\b%s=(\d+)" % word, output))
    failed, skipped = number("failures") + number("errors"), number("skipped")
    return max(0, ran - failed - skipped), failed, skipped


def run(group, name, command, count, env):
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, timeout=TIMEOUT_S[group],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        status, output = done.returncode, done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as e:
        status, output = -1, (e.output or b"").decode("utf-8", "replace") + "\nran out of time"
    passed, failed, skipped = count(output)
    if (status != 0 or SANITIZER.search(output)) and failed == 0 or passed + failed + skipped == 0:
        failed += 1
        output += "\nended with status %d" % status
    seconds = time.monotonic() - start
    return Outcome("%s %s" % (group, name), passed, failed, skipped, seconds, output)


def plan(out, only, folders):
    """The programs to run: (group, name, command, how to count); of unit those in the folders."""
    def wanted(group):
        return only is None or only == group
    rows = []
    built = ROOT / out / "tests"
    if wanted("unit"):
        sources = [*ROOT.glob("tests/unit/**/test_*.c"), *ROOT.glob("tests/golden/test_*.c")]
        for source in sorted(sources):
            if folders and source.parent.name not in folders:
                continue
            name = source.relative_to(ROOT / "tests").with_suffix("")
            rows.append(("unit", str(name), [str(built / name)], count_cmocka))
    if wanted("fuzz"):
        for source in sorted(ROOT.glob("tests/fuzz/fuzz_*.c")):
            corpus = ROOT / "tests/fuzz/corpus" / source.stem.removeprefix("fuzz_")
            command = [str(built / "fuzz" / source.stem), str(corpus)]
            rows.append(("fuzz", source.stem, command, count_replay))
    for group in ("tidy", "parity", "bench", "http"):
        if wanted(group):
            for source in sorted(ROOT.glob("tests/%s/test_*.py" % group)):
                folder = str(source.parent)
                command = [sys.executable, "-m", "unittest", "discover", "-v", "-s", folder,
                           "-t", folder, "-p", source.name]
                rows.append((group, source.stem, command, count_unittest))
    return rows


def show(outcome):
    line = "%-44s %4d passed" % (outcome.name, outcome.passed)
    if outcome.failed:
        line += ", %d FAILED" % outcome.failed
    if outcome.skipped:
        line += ", %d skipped" % outcome.skipped
    print("%s  (%.1f s)" % (line, outcome.seconds), flush=True)
    if outcome.failed:
        print(outcome.output[-8000:], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="build/release", help="where the programs were built")
    parser.add_argument("--only", choices=sorted(TIMEOUT_S), help="one group of tests")
    parser.add_argument("--match", nargs="+", metavar="FOLDER", help="unit tests in these only")
    options = parser.parse_args()
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    env.setdefault("BERTD", str(ROOT / options.out / "bertd"))
    env.setdefault("LOAD_GENERATOR", str(ROOT / options.out / "tests/bench/poisson"))
    env.setdefault("PARITY_DRIVER", str(ROOT / options.out / "tests/parity/driver"))
    env.setdefault("TSAN_OPTIONS", "atexit_sleep_ms=0")  # else each program sleeps a second
    rows = plan(options.out, options.only, options.match)
    outcomes = []
    # The http tests measure time and load the machine: one at a time, after the others.
    for workers, part in ((os.cpu_count() or 1, [r for r in rows if r[0] != "http"]),
                          (1, [r for r in rows if r[0] == "http"])):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(run, *row, env) for row in part]:
                outcomes.append(future.result())
                show(outcomes[-1])
    passed, failed, skipped = (sum(getattr(outcome, kind) for outcome in outcomes)
                               for kind in ("passed", "failed", "skipped"))
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
