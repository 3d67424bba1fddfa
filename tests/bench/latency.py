#!/usr/bin/env python3
"""Latency under load: of `bertd serve`, and of a peer on the same cores.

A closed loop finds a server's capacity in answers a second; then requests are due at the times of a
Poisson process with a share of that rate, whether or not earlier ones are answered, and latency
counts from when they were due. One short labelled text a request, on keep-alive connections of the
loopback interface; the generator (tests/bench/poisson.c) runs on the same cores and its CPU share
is stated. Servers take turns, and medians over the rounds are printed.

The peer is ONNX Runtime with dynamic batching (latency_peer.py); it takes part when its Python and
its model are there (`make peers` makes both). Ends with status 1 when bertd left a request without
an answer of 200."""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "http"))

import harness  # noqa: E402  (the path above comes first)

TEXTS = ROOT / "tests" / "golden" / "demo" / "sample.jsonl"
GENERATOR = ROOT / "build" / "release" / "tests" / "bench" / "poisson"
PEERS = ROOT / "build" / "peers"
PEER = pathlib.Path(__file__).with_name("latency_peer.py")
COLUMNS = ("p50_ms", "p99_ms", "p999_ms", "cpu")


def write_bodies(path):
    """The labelled texts, one a request."""
    texts = (json.loads(line)["text"] for line in TEXTS.read_text(encoding="utf-8").splitlines())
    path.write_text("".join(json.dumps({"input": text}) + "\n" for text in texts),
                    encoding="utf-8")


def generate(port, bodies, seconds, connections, rate=0.0, seed=1):
    """What the generator saw."""
    done = subprocess.run(
        [GENERATOR, "--port", str(port), "--bodies", bodies, "--seconds", str(seconds),
         "--connections", str(connections), "--rate", f"{rate:.3f}", "--seed", str(seed)],
        stdout=subprocess.PIPE, timeout=seconds + 60, check=False)
    if not done.stdout:
        sys.exit("latency: the generator found no server")
    return json.loads(done.stdout)


@contextlib.contextmanager
def bertd(options):
    """A running bertd's port."""
    with harness.Server(*options) as server:
        yield server.address[1]


@contextlib.contextmanager
def peer(python, onnx):
    """A running peer's port."""
    threads = str(len(os.sched_getaffinity(0)))
    with subprocess.Popen([python, PEER, harness.DEMO, onnx, threads],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            words = process.stdout.readline().split()
            if words[:2] != ["listening", "on"]:
                sys.exit("latency: the peer did not start")
            yield int(words[2])
        finally:
            process.kill()


def measure(server, bodies, args, seed):
    """Capacity, then one result for each share of it."""
    with server as port:
        generate(port, bodies, min(2, args.seconds), args.connections)
        capacity = generate(port, bodies, args.seconds, args.connections)
        return capacity, [generate(port, bodies, args.seconds, args.connections,
                                   capacity["rate"] * share / 100, seed) for share in args.shares]


def failed(result):
    """Requests without an answer of 200."""
    return result["due"] - result["ok"]


def print_server(name, rounds, shares, seconds):
    """Medians over the rounds; failures are summed."""
    rate = statistics.median(capacity["rate"] for capacity, _ in rounds)
    print(f"{name:12} closed loop: {rate:7.1f} answers/s, p50 "
          f"{statistics.median(capacity['p50_ms'] for capacity, _ in rounds):.1f} ms")
    for index, share in enumerate(shares):
        results = [results[index] for _, results in rounds]
        p50, p99, p999, cpu = (statistics.median(result[column] for result in results)
                               for column in COLUMNS)
        offered = statistics.median(result["due"] for result in results) / seconds
        print(f"{name:12} {share:3} % {offered:8.1f}/s   p50 {p50:8.2f}   p99 {p99:8.2f}   "
              f"p99.9 {p999:8.2f} ms   failed {sum(map(failed, results)):4} of "
              f"{sum(result['due'] for result in results)}   generator {100 * cpu:.1f} % of a core")


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2, help="of each server (2)")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement (10)")
    parser.add_argument("--connections", type=int, default=64, help="kept alive (64)")
    parser.add_argument("--shares", type=lambda text: [int(part) for part in text.split(",")],
                        default=[50, 70, 90], help="of the capacity in percent (50,70,90)")
    parser.add_argument("--peer-python", type=pathlib.Path, default=PEERS / "bin" / "python",
                        help="with onnxruntime and tokenizers")
    parser.add_argument("--peer-onnx", type=pathlib.Path,
                        default=PEERS / "files" / "demo" / "ort-f32.onnx")
    parser.add_argument("options", nargs="*", help="of bertd serve, after --")
    args = parser.parse_args()

    servers = {"bertd": lambda: bertd(args.options)}
    if args.peer_python.exists() and args.peer_onnx.exists():
        servers["onnxruntime"] = lambda: peer(args.peer_python, args.peer_onnx)
    else:
        print(f"no peer: {args.peer_python} or {args.peer_onnx} is not there")
    print(f"{len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}; short texts, one a "
          f"request, {args.connections} connections, {args.seconds:g} s x {args.rounds} rounds")
    rounds = {name: [] for name in servers}
    with tempfile.TemporaryDirectory() as folder:
        bodies = pathlib.Path(folder) / "bodies.jsonl"
        write_bodies(bodies)
        for seed in range(1, args.rounds + 1):
            for name, start in servers.items():
                rounds[name].append(measure(start(), bodies, args, seed))
    for name in servers:
        print_server(name, rounds[name], args.shares, args.seconds)
    return 1 if any(map(failed, (r for _, results in rounds["bertd"] for r in results))) else 0


if __name__ == "__main__":
    sys.exit(main())
