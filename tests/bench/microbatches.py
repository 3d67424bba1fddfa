#!/usr/bin/env python3
"""Measures the automatic microbatch budget against others, on this machine, in one run: throughput
and p99 latency, as ratios to those of the automatic budget in runs beside them (paired.py).

Ends with status 1 when some budget has over 3 % more throughput, or as much with a p99 that is 10 %
shorter: on a machine that does something else at the time, that says nothing."""
import argparse
import statistics
import sys

from paired import compare, options_add, spread

BUDGETS = ["64", "96", "128", "192", "256", "384", "512"]


def sweep(lengths, arguments):
    """Prints a table; whether no budget is better than the automatic one."""
    arguments.lengths = lengths
    plans = [["--microbatch-tokens", budget] for budget in BUDGETS]
    rates, rows, references = compare([], plans, arguments.clients, arguments)
    used = references[0]["microbatch_tokens"]
    p99 = statistics.median(row["p99_ms"] for row in references)
    print(f"texts of {lengths} tokens; automatic: {used} tokens, p99 {p99:.1f} ms\n"
          f"{'budget':>7s} {'tokens a second, of that':>26s} {'p99, of that':>13s}")
    holds = True
    for budget, ratios, own in zip(BUDGETS, rates, rows):
        late = statistics.median(row["p99_ms"] for row in own) / p99
        rate = statistics.median(ratios)
        holds &= rate <= 1.03 and not (rate >= 1 and late < 0.9)
        print(f"{budget:>7s} {spread(ratios):>26s} {late:13.2f}")
    print()
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options_add(parser)
    parser.add_argument("--lengths", default="16 128", help="apart by blanks: a table for each")
    parser.add_argument("--clients", default="64")
    arguments = parser.parse_args()
    holds = [sweep(lengths, arguments) for lengths in arguments.lengths.split()]
    print("no budget is better" if all(holds) else "NO: some budget is better")
    sys.exit(0 if all(holds) else 1)


if __name__ == "__main__":
    main()
