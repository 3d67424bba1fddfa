"""Runs build/bertd for the tests: starts it on a free port, watches its standard error, counts its
memory and descriptors, stops it and checks how it ended.

Environment: BERTD names the program (default build/bertd); BERTD_TEST_SHORT=1 asks for shorter
lists of plans, texts and connections, and allows more time, for sanitizer builds."""
import atexit
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import client

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("BERTD", ROOT / "build" / "bertd")).resolve())
DEMO = ROOT / "models" / "goemotions-minilm"
SHORT = os.environ.get("BERTD_TEST_SHORT", "") not in ("", "0")
SLOWNESS = 8 if SHORT else 1  # sanitizer builds take about this many times as long
SANITIZER = re.compile(r"(ERROR|WARNING): \w*Sanitizer|runtime error:")
READY = re.compile(r"^bertd: listening on (http://(\S+):(\d+))$", re.M)
PARENT_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG

_libc = ctypes.CDLL(None)
_running = set()


def scaled(full, short):
    """A count for the full run, and one for sanitizer builds."""
    return short if SHORT else full


def wait_until(condition, what, timeout_s=20.0):
    """Polls until the condition holds; its value is returned."""
    deadline = time.monotonic() + timeout_s * SLOWNESS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("waited %.0f s in vain: %s" % (timeout_s * SLOWNESS, what))
        time.sleep(0.005)


def environment(more=None):
    """This process's environment without the program's own variables, so that a developer's
    settings change no test."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("BERTD")}
    env.update(more or {})
    return env


def run(*arguments, stdin=b"", env=None, timeout_s=60.0):
    """Runs a command of the program to its end; (status, standard output, standard error)."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, env=environment(env),
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout_s * SLOWNESS)
    errors = done.stderr.decode("utf-8", "replace")
    if SANITIZER.search(errors):
        raise AssertionError("sanitizer report:\n" + errors)
    return done.returncode, done.stdout, errors


def _die_with_parent():
    _libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _kill_leftovers():
    for process in list(_running):
        process.kill()
        process.wait()


atexit.register(_kill_leftovers)


class Server:
    """One `bertd serve`. Must be made on the main thread: the program dies with the thread that
    started it."""

    def __init__(self, *options, model=DEMO, env=None, port=0, wait=True, program=PROGRAM):
        command = [program, "serve", "--port", str(port)]
        if model is not None:
            command += ["--model", str(model)]
        command += [str(option) for option in options]
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=_die_with_parent)
        _running.add(self.process)
        self.pid = self.process.pid
        self._lines = []
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()
        self.url = self.address = None
        if wait:
            self.wait_ready()

    def _collect(self):
        for line in self.process.stderr:
            self._lines.append(line.decode("utf-8", "replace"))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.kill()

    def errors(self):
        """Standard error so far."""
        return "".join(self._lines)

    def wait_ready(self, timeout_s=30.0):
        def ready():
            if self.process.poll() is not None:
                self._reader.join(5)
                raise AssertionError("ended with %d before it was ready:\n%s"
                                     % (self.process.returncode, self.errors()))
            return READY.search(self.errors())
        found = wait_until(ready, "the ready line", timeout_s)
        self.ready_after_s = time.monotonic() - self.started_at
        self.url = found.group(1)
        self.address = (found.group(2).strip("[]"), int(found.group(3)))

    def connect(self, timeout_s=None):
        return client.Connection(self.address, timeout_s or client.TIMEOUT_S * SLOWNESS)

    def exchange(self, method, path, body=None, headers=(), **more):
        """One exchange on a connection of its own."""
        with self.connect() as connection:
            return connection.exchange(method, path, body, headers, **more)

    def get(self, path):
        return self.exchange("GET", path)

    def post(self, path, value, headers=()):
        return self.exchange("POST", path, client.encode(value), headers)

    def classify(self, value, **fields):
        with self.connect() as connection:
            return connection.classify(value, **fields)

    def metrics(self):
        """/metrics as {"name{labels}": value}."""
        series = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                series[name] = float(value)
        return series

    def metric(self, name):
        """The sum of a metric over its label sets."""
        values = [v for k, v in self.metrics().items() if k.split("{")[0] == name]
        if not values:
            raise AssertionError("no metric %s" % name)
        return sum(values)

    def rss_kib(self):
        status = pathlib.Path("/proc/%d/status" % self.pid).read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.M).group(1))

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def signal(self, number):
        self.process.send_signal(number)

    def wait_end(self, timeout_s=40.0):
        """The exit status; standard error is complete afterwards."""
        try:
            status = self.process.wait(timeout_s * SLOWNESS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("did not end:\n" + self.errors()) from None
        self._reader.join(10)
        self.process.stderr.close()
        _running.discard(self.process)
        if SANITIZER.search(self.errors()):
            raise AssertionError("sanitizer report:\n" + self.errors())
        return status

    def stop(self):
        """SIGTERM; an exit status other than 0 or a sanitizer report is a failure."""
        self.signal(signal.SIGTERM)
        status = self.wait_end()
        if status != 0:
            raise AssertionError("ended with status %d:\n%s" % (status, self.errors()))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        self.process.stderr.close()
        _running.discard(self.process)


class ServerTest(unittest.TestCase):
    """Tests that share one server. After each of them the process must be the same, a plain text
    must get its first answer bit for bit, and nothing may be left in flight."""
    options = ()
    model = DEMO
    PLAIN = "hello world"

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options, model=cls.model)
        cls.plain = cls.server.classify(cls.PLAIN).data()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), self.server.errors())
        answer = self.server.classify(self.PLAIN)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.data(), self.plain)
        wait_until(lambda: self.server.metric("bertd_in_flight") == 0
                   and self.server.metric("bertd_queue_tokens") == 0, "nothing in flight")

    def assert_error(self, response, status, code, param=None, message=None):
        """The error object of the native routes, whole; `message` is a pattern."""
        self.assertEqual(response.status, status, response)
        self.assertEqual(response.header("content-type"), "application/json", response)
        body = response.json()
        self.assertEqual(list(body), ["error"], response)
        self.assertEqual(set(body["error"]), {"message", "type", "code", "param"}, response)
        self.assertEqual(body["error"]["code"], code, response)
        self.assertEqual(body["error"]["param"], param, response)
        self.assertTrue(body["error"]["message"], response)
        if message:
            self.assertRegex(body["error"]["message"], message)

    def assert_ok(self, response):
        self.assertEqual(response.status, 200, response)
        self.assertEqual(response.header("content-type"), "application/json", response)
        return response.json()


def in_threads(functions, timeout_s=120.0):
    """Runs all at once; their results in order. The first exception is raised again."""
    results, failures = [None] * len(functions), []

    def call(index):
        try:
            results[index] = functions[index]()
        except BaseException as e:  # reported below, on the main thread
            failures.append(e)
    threads = [threading.Thread(target=call, args=(i,), daemon=True)
               for i in range(len(functions))]
    deadline = time.monotonic() + timeout_s * SLOWNESS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if failures:
        raise failures[0]
    if any(thread.is_alive() for thread in threads):
        raise AssertionError("threads still run after %.0f s" % timeout_s)
    return results


@contextlib.contextmanager
def listening_port():
    """A port that another socket listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        yield taken.getsockname()[1]


def real_texts(count=None):
    """Labelled texts of the demo model's data set: [{"text", "labels", "logits", ...}]."""
    rows = []
    with open(ROOT / "tests" / "golden" / "demo" / "sample.jsonl", encoding="utf-8") as lines:
        for line in lines:
            rows.append(json.loads(line))
            if len(rows) == count:
                break
    return rows


if __name__ == "__main__":
    sys.exit("this file has no tests; run one of test_*.py beside it")
