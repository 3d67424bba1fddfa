"""Runs of `bertd bench`, each between two runs of a reference.

Machines change their speed while they are measured, so what counts is the ratio of a run to the
mean of the two beside it: the median over the rounds, with the range."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("BERTD", str(ROOT / "build" / "bertd"))


def options_add(parser):
    """What all comparisons can be told."""
    parser.add_argument("--model", default=str(ROOT / "models" / "goemotions-minilm"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=1, help="of each run")


def bertd(*arguments):
    """Standard output of a command as JSON."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return json.loads(done.stdout)


def measure(options, clients, arguments):
    """One row of `bertd bench`, with the busy time of each stage, averaged over replicas."""
    told = bertd("bench", "--json", "--model", arguments.model, "--lengths", arguments.lengths,
                "--clients", clients, "--seconds", f"{arguments.seconds}s", *options)
    row = told["rows"][0]
    row["microbatch_tokens"] = told["microbatch_tokens"]
    busy = {}
    for stage in row["stages"]:
        busy.setdefault(stage["name"], []).append(stage["busy"])
    row["busy"] = {name: statistics.mean(all_) for name, all_ in busy.items()}
    return row


def compare(reference, plans, clients, arguments):
    """For each plan, its ratios to the reference around it, one a round, and its rows; then the
    reference's rows."""
    ratios, rows, references = [[] for _ in plans], [[] for _ in plans], []
    for _ in range(arguments.rounds):
        references.append(measure(reference, clients, arguments))
        for i, options in enumerate(plans):
            rows[i].append(measure(options, clients, arguments))
            references.append(measure(reference, clients, arguments))
            around = statistics.mean(row["tokens_per_second"] for row in references[-2:])
            ratios[i].append(rows[i][-1]["tokens_per_second"] / around)
    return ratios, rows, references


def spread(ratios):
    """"1.957 (1.902-1.970)"."""
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
