#!/usr/bin/env python3
"""Measures the server against its own engine, on the same texts and in the same run.

Rounds alternate between `bertd bench` (no HTTP) and wrk against `bertd serve`, so that both see
the same machine; the ratio of their tokens per second is what HTTP and JSON leave over. Then one
keep-alive connection: the client's time less what Server-Timing says was spent on the work.

Ends with status 1 when an answer failed. What else the numbers should be is for the reader, since
a busy machine changes them."""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "http"))

import client  # noqa: E402  (the path above comes first)
import harness  # noqa: E402

TEXTS = ROOT / "tests" / "golden" / "demo" / "sample.jsonl"
SCRIPT = pathlib.Path(__file__).with_name("classify.lua")
# Of eight inputs, six are texts as they are, one is four in a row and one is twelve in a row.
JOINED = (1, 1, 1, 4, 1, 1, 1, 12)


def mixed_texts():
    """The labelled texts as inputs of mixed length."""
    texts = [json.loads(line)["text"] for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    mixed, at = [], 0
    while at < len(texts):
        count = JOINED[len(mixed) % len(JOINED)]
        mixed.append(" ".join(texts[at:at + count]))
        at += count
    return mixed


def write_lines(path, values):
    """One JSON value a line."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def measure_engine(texts, connections, seconds, options):
    """Tokens per second of the engine alone, with as many inputs in flight as connections."""
    status, output, errors = harness.run(
        "bench", "--model", harness.DEMO, "--jsonl", texts, "--clients", connections, "--seconds",
        f"{seconds}s", "--json", *options, timeout_s=seconds + 60)
    if status != 0:
        sys.exit(f"bertd bench: {errors}")
    return json.loads(output)["rows"][0]["tokens_per_second"]


def measure_server(server, bodies, connections, seconds):
    """Tokens per second of the server under wrk, and wrk's own summary."""
    before = server.metric("bertd_tokens_total")
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT),
         server.url, "--", str(bodies)], capture_output=True, text=True, check=True)
    tokens = server.metric("bertd_tokens_total") - before
    summary = json.loads(done.stdout.strip().splitlines()[-1])
    return tokens / summary["seconds"], summary


def measure_overhead(server, bodies, count):
    """What one keep-alive connection waits beyond the work itself, in milliseconds for each ask."""
    waits = []
    with server.connect() as connection:
        for turn in range(count):
            start = time.perf_counter()
            answer = connection.exchange("POST", "/v1/classify", bodies[turn % len(bodies)])
            elapsed_ms = (time.perf_counter() - start) * 1e3
            if answer.status != 200:
                sys.exit(f"bench: {answer}")
            waits.append(elapsed_ms - sum(answer.timing_ms().values()))
    return sorted(waits)


def describe_machine():
    """Where and with what the numbers were measured: processor, load, program and libraries."""
    models = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
              if line.startswith("model name")] or [platform.machine()]
    status, output, errors = harness.run("version")
    if status != 0:
        sys.exit(f"bertd version: {errors}")
    print(f"{models[0]}, {len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}, "
          f"Linux {platform.release()}")
    print(output.decode().strip())


def main():
    """Prints the three measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4, help="of engine and server each (4)")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement (5)")
    parser.add_argument("--connections", type=int, default=16, help="of wrk (16)")
    parser.add_argument("options", nargs="*", help="plan options for both, after --")
    args = parser.parse_args()

    describe_machine()
    texts = mixed_texts()
    engine, served, failed = [], [], 0
    with tempfile.TemporaryDirectory() as folder, harness.Server(*args.options) as server:
        lines, bodies = pathlib.Path(folder) / "texts.jsonl", pathlib.Path(folder) / "bodies.jsonl"
        write_lines(lines, texts)
        write_lines(bodies, [{"input": text} for text in texts])
        print(f"{len(texts)} texts, {args.connections} connections, {args.seconds} s a measurement")
        measure_server(server, bodies, args.connections, 1)
        for number in range(1, args.rounds + 1):
            engine.append(measure_engine(lines, args.connections, args.seconds, args.options))
            rate, summary = measure_server(server, bodies, args.connections, args.seconds)
            served.append(rate)
            failed += summary["refused"] + summary["broken"]
            print(f"round {number}: engine {engine[-1]:7.0f} tokens/s   server {rate:7.0f} tokens/s"
                  f"   ratio {rate / engine[-1]:.3f}   p50 {summary['p50_ms']:.1f} ms"
                  f"   p99 {summary['p99_ms']:.1f} ms", flush=True)
        waits = measure_overhead(server, [client.encode({"input": text}) for text in texts], 400)
    engine_rate, server_rate = statistics.median(engine), statistics.median(served)
    ratio = statistics.median(mine / bare for mine, bare in zip(served, engine))
    print(f"median:  engine {engine_rate:7.0f} tokens/s   server {server_rate:7.0f} tokens/s"
          f"   ratio {ratio:.3f}")
    print(f"one keep-alive connection, client's time less Server-Timing: p50 "
          f"{waits[len(waits) // 2]:.2f} ms, p99 {waits[len(waits) * 99 // 100]:.2f} ms")
    print(f"failed answers: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
