#!/usr/bin/env python3
"""Measures the server against its own engine and against other runtimes behind a minimal Python
server, on the same texts and in the same run.

Rounds go there and back through `bertd bench` (no HTTP), `bertd serve` and the best of the others,
found in a search; the ratio to the engine is what HTTP and JSON leave over. The client of all is
poisson.c in a closed loop, on the same cores; its share is told. Then one keep-alive connection:
the client's time less what Server-Timing says was spent on the work.

Ends with status 1 when an answer failed."""
import argparse
import contextlib
import dataclasses
import json
import pathlib
import shlex
import socket
import subprocess
import sys
import tempfile
import time

import peer_measure
import peer_report
import peer_session
import peer_setup

sys.path.insert(0, str(peer_setup.ROOT / "tests" / "http"))

import client  # noqa: E402  (the path above comes first)
import harness  # noqa: E402

GENERATOR = peer_setup.ROOT / "build" / "release" / "tests" / "bench" / "poisson"
BATCH = 32  # texts of a call
SEARCH_S = 0.5
CALLS = 16  # different calls of so many texts
# All connections' calls wait at once; the default would refuse some.
SERVER = ("--max-queue-tokens", "1000000")
# Of eight inputs, six are texts as they are, one is four in a row and one is twelve in a row.
JOINED = (1, 1, 1, 4, 1, 1, 1, 12)
TABLE_HEAD = ("who", "tokens a second", "to bertd's engine", "bertd serve to it", "p50 ms",
              "p99 ms", "client, of a core")


def mixed_texts(texts):
    """The labelled texts as inputs of mixed length."""
    mixed, at = [], 0
    while at < len(texts):
        count = JOINED[len(mixed) % len(JOINED)]
        mixed.append(" ".join(texts[at:at + count]))
        at += count
    return mixed


def group(texts, size):
    """Calls of `size` texts each; what is left over is not asked."""
    return [texts[start:start + size] for start in range(0, len(texts) - size + 1, size)]


def write_lines(path, values):
    """One JSON value a line."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


class Load:
    """One kind of traffic: calls of texts, on connections that send the next call when the last one
    is answered. Its files are for `bertd bench` and for the generator."""

    def __init__(self, title, calls, connections, tokenizer, folder):
        self.title, self.calls, self.connections = title, calls, connections
        texts = [text for call in calls for text in call]
        self.tokens = sum(len(encoding.ids) for encoding in tokenizer.encode_batch(texts))
        self.texts_path, self.bodies_path = folder / "texts.jsonl", folder / "bodies.jsonl"
        folder.mkdir()
        write_lines(self.texts_path, texts)
        write_lines(self.bodies_path, [{"input": call} for call in calls])

    @property
    def clients(self):
        """Inputs in flight when all connections wait for their call."""
        return self.connections * len(self.calls[0])


class Engine:
    """bertd bench."""
    name = "bertd bench (engine)"

    def __init__(self, model):
        self.model = model

    def measure(self, load, seconds):
        """Tokens a second."""
        status, output, errors = harness.run(
            "bench", "--model", self.model, "--jsonl", load.texts_path, "--clients", load.clients,
            "--seconds", f"{1000 * seconds:.0f}ms", "--json", timeout_s=600)
        if status != 0:
            sys.exit(f"bertd bench: {errors}")
        return json.loads(output)["rows"][0]["tokens_per_second"]


class Site:
    """Something that answers at a port."""

    def __init__(self, name, port):
        self.name, self.port = name, port
        self.summaries, self.failed = [], 0

    def measure(self, load, seconds):
        """Tokens a second of the calls that were begun in the time, until the last answer."""
        done = subprocess.run(
            [GENERATOR, "--port", str(self.port), "--bodies", load.bodies_path, "--connections",
             str(load.connections), "--seconds", str(seconds)], stdout=subprocess.PIPE, check=False)
        if not done.stdout:
            sys.exit(f"{self.name} cannot be asked")
        summary = json.loads(done.stdout)
        self.failed += summary["due"] - summary["ok"]
        self.summaries.append(summary)
        return summary["rate"] * load.tokens / len(load.calls)

    def columns(self):
        """What the client saw, over all runs: medians, and its share of a core."""
        def median(key):
            return peer_measure.spread([summary[key] for summary in self.summaries])[1]
        return [f"{median('p50_ms'):.1f}", f"{median('p99_ms'):.1f}",
                f"{100 * median('cpu'):.1f} %"]


@dataclasses.dataclass(frozen=True)
class Way:
    """A runtime and how the Python server uses it."""
    name: str
    sessions: int
    threads: int
    batch: int

    def __str__(self):
        return (f"Python server, {peer_report.title(self.name)} ({self.sessions} x {self.threads}, "
                f"batch {self.batch})")


@contextlib.contextmanager
def peer_site(way, setup, connections):
    """A runtime behind the Python server."""
    peer = peer_session.Peer(way.name, "f32", setup.places)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        try:
            peer.serve((way.sessions, way.threads), listener, {
                "connections": -(-connections // way.sessions), "batch": way.batch,
                "labels": setup.labels})
            yield Site(str(way), listener.getsockname()[1])
        finally:
            peer.close()


def find_best(load, setup, names):
    """The fastest way to serve a load; None without names."""
    found = {}
    for name in names:
        for shape in peer_session.shapes(setup.places.cpus):
            for batch in (8, BATCH):
                way = Way(name, *shape, batch)
                with peer_site(way, setup, load.connections) as site:
                    site.measure(load, SEARCH_S)
                    found[way] = site.measure(load, SEARCH_S)
                print(f"search: {way} {found[way]:,.0f}", flush=True)
    return max(found, key=found.get) if found else None


def make_loads(setup, connections, folder):
    """The traffic: calls of short texts, and mixed ones one by one, which a runtime that does not
    batch calls is not asked."""
    return (Load(f"short texts, {BATCH} a call", group(setup.texts, BATCH)[:CALLS], connections,
                 setup.tokenizer, folder / "calls"),
            Load("texts of mixed length, one a call", group(mixed_texts(setup.texts), 1),
                 connections, setup.tokenizer, folder / "single"))


def measure(load, setup, server, way, arguments):
    """(rows of the table of one load, failed answers)."""
    with contextlib.ExitStack() as stack:
        sites = [Site("bertd serve", server.address[1])]
        if way:
            sites.append(stack.enter_context(peer_site(way, setup, load.connections)))
        who = [Engine(setup.places.checkpoint), *sites]
        for site in sites:
            site.measure(load, SEARCH_S)
            site.summaries.clear()
        pairs = [(each, peer_measure.Result(each.name, None, 0)) for each in who]
        peer_measure.run_rounds(pairs, arguments.rounds,
                                lambda each, _: each.measure(load, arguments.seconds))
    engine, served = pairs[0][1], pairs[1][1]
    rows = [[engine.name, f"{engine.rate:,.0f}", "", "", "", "", ""]]
    for site, result in pairs[1:]:
        rows.append([site.name, f"{result.rate:,.0f}", peer_report.ratio(result, engine),
                     "" if result is served else peer_report.ratio(served, result),
                     *site.columns()])
    return rows, sum(site.failed for site in sites)


def measure_overhead(server, calls, count):
    """What one keep-alive connection waits beyond the work itself, in milliseconds for each ask."""
    bodies, waits = [client.encode({"input": call[0]}) for call in calls], []
    with server.connect() as connection:
        for turn in range(count):
            start = time.perf_counter()
            answer = connection.exchange("POST", "/v1/classify", bodies[turn % len(bodies)])
            elapsed_ms = (time.perf_counter() - start) * 1e3
            if answer.status != 200:
                sys.exit(f"bench: {answer}")
            waits.append(elapsed_ms - sum(answer.timing_ms().values()))
    return sorted(waits)


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="there and back (7)")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement (2)")
    parser.add_argument("--connections", type=int, default=16, help="at a time (16)")
    parser.add_argument("--peers", default="onnxruntime,openvino,ctranslate2,torch",
                        help="runtimes behind the Python server")
    parser.add_argument("--results", type=pathlib.Path, default=peer_report.RESULTS,
                        help="file to write into")
    return parser.parse_args()


def main():
    """Measures and reports."""
    arguments = parse_arguments()
    started = time.monotonic()
    machine = peer_report.machine_lines(harness.PROGRAM)
    setup = peer_setup.prepare("demo", pathlib.Path(harness.PROGRAM), ["f32"], "served")
    setup.places.work.write_text("{}", encoding="utf-8")
    names = [name for name in arguments.peers.split(",") if name]
    failed, tables = 0, []
    with tempfile.TemporaryDirectory() as folder, harness.Server(*SERVER) as server:
        loads = make_loads(setup, arguments.connections, pathlib.Path(folder))
        for load, way in zip(loads, (find_best(loads[0], setup, names), None)):
            rows, broken = measure(load, setup, server, way, arguments)
            failed += broken
            tables += [f"### {arguments.connections} connections, {load.title}", "",
                       *peer_report.table(TABLE_HEAD, rows), ""]
        waits = measure_overhead(server, loads[1].calls, 400)
    lines = ["## Through HTTP: demo model, f32", "", *machine,
             f"- `build/peers/bin/python {shlex.join(['tests/bench/served.py', *sys.argv[1:]])}`: "
             f"{arguments.rounds} rounds of {arguments.seconds:g} s, "
             f"{(time.monotonic() - started) / 60:.0f} minutes",
             f"- one keep-alive connection, the client's time less Server-Timing: p50 "
             f"{waits[len(waits) // 2]:.2f} ms, p99 {waits[len(waits) * 99 // 100]:.2f} ms",
             f"- `bertd serve {' '.join(SERVER)}`; failed answers: {failed}", "", *tables]
    peer_report.write_section(arguments.results, "served", lines)
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
