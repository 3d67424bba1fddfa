"""A runtime with its processes, and bertd, as things that can be measured: both have `candidates()`
(settings that make sense for a cell), `measure()` (tokens a second) and logits."""
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys

WORKER = pathlib.Path(__file__).with_name("peer_worker.py")
CLIENTS = 64  # inputs that bertd has in flight where all texts are there from the start
VERBOSE = os.environ.get("BENCH_VERBOSE", "") not in ("", "0")


class Unusable(Exception):
    """A runtime that does not run here, with the reason."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """How a runtime is used: sessions x threads, the order of the texts, texts in a batch."""
    sessions: int
    threads: int
    order: str
    batch: int

    def __str__(self):
        return f"{self.sessions} x {self.threads}, {self.order}, batch {self.batch}"


@dataclasses.dataclass(frozen=True)
class Places:
    """The files that everybody reads and writes, and the CPUs to use."""
    program: pathlib.Path
    models: pathlib.Path
    checkpoint: pathlib.Path
    work: pathlib.Path
    cpus: tuple


def shapes(cpus):
    """(sessions, threads) that keep all CPUs busy."""
    return sorted({(1, len(cpus)), (len(cpus), 1)})


class Peer:
    """One runtime at one dtype. Its processes start when first needed and sleep between runs."""

    def __init__(self, name, dtype, places):
        self.name, self.dtype, self.places = name, dtype, places
        self.processes = {}

    def start(self, threads, cpu):
        """The process of a session with so many threads, on one CPU or on all ("-")."""
        key = (threads, cpu)
        if key not in self.processes:
            self.processes[key] = self.spawn(threads, cpu)
            self.answer(self.processes[key])
        return self.processes[key]

    def spawn(self, threads, cpu, **more):
        """A process that is getting ready."""
        places = self.places
        arguments = [self.name, self.dtype, threads, cpu, places.models, places.checkpoint,
                     places.work]
        return subprocess.Popen([sys.executable, str(WORKER), *map(str, arguments)], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=None if VERBOSE else subprocess.DEVNULL, **more)

    def answer(self, process):
        """The next answer of a process."""
        line = process.stdout.readline()
        if not line:
            raise Unusable(f"a session of {self.name} {self.dtype} has ended; BENCH_VERBOSE=1 "
                           "shows why")
        return json.loads(line)

    def cpus(self, sessions):
        """Where so many sessions run: one on all CPUs, several on one each."""
        return ["-"] if sessions == 1 else list(self.places.cpus[:sessions])

    def candidates(self, cell):
        """All settings for a cell. One text at a time is for one session."""
        ways = [(1, len(self.places.cpus)), (1, 1)] if cell.single else shapes(self.places.cpus)
        return [Setting(sessions, threads, order, batch) for sessions, threads in ways
                for order in cell.orders for batch in cell.batches
                if order == "arrival" or batch > 1]  # alone, the order is nothing to a text

    def measure(self, cell, setting, seconds):
        """Tokens a second: the sum over sessions, each of which has its share of the texts."""
        processes = [self.start(setting.threads, cpu) for cpu in self.cpus(setting.sessions)]
        for number, process in enumerate(processes):
            command = {"do": "run", "texts": cell.texts_key, "order": setting.order,
                       "batch": setting.batch, "seconds": seconds,
                       "share": [number, len(processes)]}
            print(json.dumps(command), file=process.stdin, flush=True)
        runs = [self.answer(process) for process in processes]
        return sum(run["tokens"] / run["seconds"] for run in runs)

    def logits(self, key):
        """Logits of all texts of a cell."""
        process = self.start(len(self.places.cpus), "-")
        print(json.dumps({"do": "logits", "texts": key}), file=process.stdin, flush=True)
        return self.answer(process)

    def serve(self, shape, listener, command):
        """Starts sessions of a shape that answer HTTP on a listening socket; close() ends them."""
        sessions, threads = shape
        descriptor = listener.fileno()
        command = {"do": "serve", "descriptor": descriptor, **command}
        for cpu in self.cpus(sessions):
            process = self.spawn(threads, cpu, pass_fds=(descriptor,))
            self.processes["serving", cpu] = process
            self.answer(process)
            print(json.dumps(command), file=process.stdin, flush=True)
            self.answer(process)

    def close(self):
        """Ends the processes."""
        for process in self.processes.values():
            process.stdin.close()
            process.wait()
            process.stdout.close()
        self.processes = {}


class Bertd:
    """The program, by `bertd bench`: a process for each run, whose start is not measured."""

    def __init__(self, dtype, places, options=(), name="bertd"):
        self.dtype, self.places, self.options, self.name = dtype, places, options, name
        self.rates = {}

    def call(self, *arguments, stdin=None):
        """Standard output of a command."""
        options = ["--model", self.places.checkpoint, "--dtype", self.dtype]
        done = subprocess.run([self.places.program, *map(str, [*arguments, *options])], text=True,
                              input=stdin, capture_output=True, check=False)
        if done.returncode != 0:
            raise Unusable(done.stderr.strip())
        return done.stdout

    def texts_file(self, cell):
        """The texts of a cell as JSON lines."""
        path = self.places.work.with_name(f"{cell.texts_key}.jsonl")
        path.write_text("".join(json.dumps(text) + "\n" for text in cell.texts), "utf-8")
        return path

    def candidates(self, cell):
        """The default plan, all texts in their order; batching is the program's own."""
        return [Setting(1, len(self.places.cpus), "arrival", 1 if cell.single else CLIENTS)]

    def measure(self, cell, setting, seconds):
        """Tokens a second over whole passes of about so many seconds."""
        expected = self.rates.get(cell.key, 0)
        passes = max(1, math.ceil(expected * seconds / cell.tokens))
        row = json.loads(self.call("bench", "--json", "--jsonl", self.texts_file(cell), "--clients",
                                   setting.batch, "--passes", passes, *self.options))["rows"][0]
        self.rates[cell.key] = row["tokens_per_second"]
        return row["tokens_per_second"]

    def logits(self, texts):
        """Logits of texts: scores without an activation, in the order of the labels."""
        lines = self.call("classify", "--json", "--jsonl", "--activation", "none",
                          stdin="".join(json.dumps(text) + "\n" for text in texts))
        rows = [json.loads(line)["predictions"] for line in lines.splitlines()]
        return [[p["score"] for p in sorted(row, key=lambda p: p["index"])] for row in rows]


def all_cpus():
    """The CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))
