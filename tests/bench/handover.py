#!/usr/bin/env python3
"""How long microbatches take from one stage to the next, from a trace of `bertd bench`.

A hand-over lasts from the moment when a microbatch has left the stage before it and the next stage
is done with its last one, until that stage starts on it. Stages are `behind` when the microbatch
waited for them, `ahead` when they waited for it."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from paired import PROGRAM, ROOT


def trace_run(arguments):
    """The trace of one run as its events."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        done = subprocess.run(
            [PROGRAM, "bench", "--model", arguments.model, "--lengths", arguments.lengths,
             "--clients", arguments.clients, "--seconds", f"{arguments.seconds}s",
             "--stages", arguments.stages, "--replicas", "1", "--trace", str(path)],
            stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        return json.loads(path.read_text("utf-8"))["traceEvents"]


def tracks(events):
    """{track: its name}, {track: [(microbatch, start, end) in microseconds, in order]}."""
    names, slices = {}, collections.defaultdict(list)
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            slices[event["tid"]].append(
                (event["args"]["number"], event["ts"], event["ts"] + event["dur"]))
    return names, {track: sorted(one, key=lambda slice_: slice_[1])
                   for track, one in slices.items()}


def handovers(before, after):
    """Microseconds of each hand-over between two tracks: of stages behind, of stages ahead."""
    left = {number: end for number, _, end in before}
    behind, ahead = [], []
    for (_, _, free), (number, start, _) in zip(after, after[1:]):
        if number in left:
            (behind if free > left[number] else ahead).append(start - max(free, left[number]))
    return {"behind": behind, "ahead": ahead}


def percentile(values, part):
    return sorted(values)[round(part * (len(values) - 1))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=str(ROOT / "models" / "goemotions-minilm"))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--stages", default="2")
    parser.add_argument("--lengths", default="32")
    parser.add_argument("--clients", default="64")
    arguments = parser.parse_args()
    names, slices = tracks(trace_run(arguments))
    order = sorted(slices)
    print(f"{'hand-over':24s} {'next stage':10s} {'count':>6s} {'p50 us':>8s} {'p99 us':>8s}")
    for first, second in zip(order, order[1:]):
        for kind, values in handovers(slices[first], slices[second]).items():
            if values:
                print(f"{names[first] + ' to ' + names[second]:24s} {kind:10s} {len(values):6d} "
                      f"{percentile(values, 0.5):8.1f} {percentile(values, 0.99):8.1f}")


if __name__ == "__main__":
    main()
