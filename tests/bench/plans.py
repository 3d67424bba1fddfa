#!/usr/bin/env python3
"""Measures the automatic plan against all sensible plans by hand, on this machine, in one run.

What counts are ratios, of runs in pairs (paired.py). The reference of the table is the automatic
plan; below it stand what pipelining gains over `--no-pipelining` against the bound that the stages'
times allow, how busy the stages were against what `bertd plan` predicted, and what a team of two
gains for a single connection.

Ends with status 1 when one of these is not as README promises: on a machine that does something
else at the time, that says nothing."""
import argparse
import statistics
import sys

from paired import bertd, compare, measure, options_add, spread

ONE_THREAD = ["--stages", "1", "--replicas", "1", "--no-joining"]
TEAM_OF_TWO = ["--stages", "1", "--replicas", "1", "--stage-threads", "2"]
PIPELINE = ["--stages", "2", "--replicas", "1"]


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


def busy_text(rows, options, arguments):
    """What each stage's time was, with the prediction; the worst gap to it; the busiest."""
    told = bertd("plan", "--json", "--model", arguments.model, *options)["threads"]
    measured = {stage["name"]: statistics.median(row["busy"][stage["name"]] for row in rows)
                for stage in told}
    text = ", ".join(f"{stage['name']} {100 * measured[stage['name']]:.0f} "
                     f"({100 * stage['busy']:.0f})" for stage in told)
    gap = max(abs(measured[stage["name"]] - stage["busy"]) for stage in told)
    return text, gap, max(measured.values())


def table_print(names, plans, ratios, rows, arguments):
    print(f"{'plan':52s} {'of the automatic plan':>22s} {'tokens/s':>9s}")
    for i in sorted(range(len(plans)), key=lambda i: -statistics.median(ratios[i])):
        rate = statistics.median(row["tokens_per_second"] for row in rows[i])
        print(f"{names[i]:52s} {spread(ratios[i]):>22s} {rate:9.0f}")
        print(f"    busy % (predicted): {busy_text(rows[i], plans[i], arguments)[0]}")
    print()


def claim(text, holds):
    """Prints a claim with whether it holds, and returns that."""
    print(f"{'yes' if holds else 'NO ':3s} {text}")
    return holds


def automatic_check(arguments, cores, layers):
    plans = plans_by_hand(cores, layers)
    ratios, rows, _ = compare([], plans, arguments.clients, arguments)
    table_print([" ".join(options) for options in plans], plans, ratios, rows, arguments)
    best = max(statistics.median(one) for one in ratios)
    return claim(f"the automatic plan reaches {1 / best:.3f} of the best plan by hand (0.97)",
                 best <= 1 / 0.97)


def pipelining_check(arguments):
    split = PIPELINE + ["--no-pipelining"]
    ratios, rows, _ = compare(PIPELINE, [split], arguments.clients, arguments)
    gains = [1 / ratio for ratio in ratios[0]]
    # One after the other, busy times are the stages' costs; the head is on the first one's cores.
    bounds = []
    for row in rows[0]:
        costs = row["busy"]
        bounds.append(sum(costs.values()) / max(costs["stage 0"] + costs["head"],
                                                costs["stage 1"]))
    bound = statistics.median(bounds)
    return claim(f"two stages, pipelined, are {spread(gains)} times --no-pipelining; their times "
                 f"allow {bound:.3f} (0.92 of it)", statistics.median(gains) >= 0.92 * bound)


def occupancy_check(arguments):
    rows = [measure(PIPELINE, arguments.clients, arguments) for _ in range(arguments.rounds)]
    text, gap, busiest = busy_text(rows, PIPELINE, arguments)
    return claim(f"two stages, busy % (predicted): {text}; the bottleneck 97, others within 10",
                 gap <= 0.1 and busiest >= 0.97)


def team_check(arguments):
    ratios, _, _ = compare(ONE_THREAD, [TEAM_OF_TWO], "1", arguments)
    return claim(f"a team of two is {spread(ratios[0])} times as fast as one thread for one "
                 "connection (1.5)", statistics.median(ratios[0]) >= 1.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options_add(parser)
    parser.add_argument("--lengths", default="128")
    parser.add_argument("--clients", default="16")
    arguments = parser.parse_args()
    told = bertd("plan", "--json", "--model", arguments.model)
    layers = sum(part["name"].endswith(" attention") for part in told["parts"])
    print(f"{told['cores']} cores, texts of {arguments.lengths} tokens, {arguments.clients} "
          f"clients, medians of {arguments.rounds} rounds of {arguments.seconds} s\n"
          f"automatic plan: {told['reason']}\n")
    holds = [automatic_check(arguments, told["cores"], layers)]
    if told["cores"] > 1:
        holds += [pipelining_check(arguments), occupancy_check(arguments), team_check(arguments)]
    sys.exit(0 if all(holds) else 1)


if __name__ == "__main__":
    main()
