"""The load generator of the benches against the real server: what it counts is what was served."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness
import tiny

GENERATOR = pathlib.Path(os.environ.get(
    "LOAD_GENERATOR", harness.ROOT / "build" / "release" / "tests" / "bench" / "poisson")).resolve()
TEXTS = ["hello world", "", "日本語 😀", "a b c d e f"]


class Load(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = tiny.write(pathlib.Path(folder.name) / "tiny")
        self.bodies = pathlib.Path(folder.name) / "bodies"
        self.write([{"input": text} for text in TEXTS])

    def write(self, bodies):
        self.bodies.write_text("".join(json.dumps(body) + "\n" for body in bodies))

    def generate(self, *options):
        """(status, what it printed, its complaints)"""
        done = subprocess.run([GENERATOR, *map(str, options)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60 * harness.SLOWNESS, check=False)
        report = json.loads(done.stdout) if done.stdout else None
        return done.returncode, report, done.stderr.decode()

    @staticmethod
    def served(server):
        """Requests that the route has answered so far."""
        start = 'bertd_requests_total{route="/v1/classify"'
        return sum(v for k, v in server.metrics().items() if k.startswith(start))

    def load(self, server, *options):
        """The report, after a check that the server counted as many requests."""
        before = self.served(server)
        status, report, errors = self.generate("--port", server.address[1], "--bodies", self.bodies,
                                               *options)
        self.assertEqual(errors, "")
        self.assertEqual(status, 0 if report["ok"] == report["due"] else 1)
        self.assertEqual(report["due"], report["ok"] + report["refused"] + report["broken"]
                         + report["unanswered"])
        answered = report["ok"] + report["refused"]
        # An exchange is counted when its answer has been sent.
        harness.wait_until(lambda: self.served(server) - before == answered, "the counts")
        return report

    def test_every_request_is_counted(self):
        with harness.Server(model=self.model) as server:
            loop = self.load(server, "--connections", 3, "--seconds", 0.5)
            self.assertEqual(loop["ok"], loop["due"])
            self.assertGreater(loop["due"], 20)
            self.assertLess(0, loop["p50_ms"])
            self.assertLessEqual(loop["p50_ms"], loop["p99_ms"])
            self.assertLessEqual(loop["p99_ms"], loop["p999_ms"])
            self.assertGreater(loop["cpu"], 0)

            poisson = self.load(server, "--rate", 100, "--seconds", 1, "--seed", 5)
            self.assertEqual(poisson["ok"], poisson["due"])
            self.assertIn(poisson["due"], range(60, 141))  # 100, with a standard deviation of 10
            again = self.load(server, "--rate", 100, "--seconds", 1, "--seed", 5)
            self.assertEqual(again["due"], poisson["due"])

    def test_refused_requests_are_no_answers(self):
        self.write([{"input": "good"}, {"inptu": "bad"}])
        with harness.Server(model=self.model) as server:
            report = self.load(server, "--connections", 1, "--seconds", 0.2)
        self.assertGreater(report["refused"], 0)
        self.assertIn(report["ok"] - report["refused"], (0, 1))

    def test_wrong_use_is_told(self):
        status, report, errors = self.generate("--port", 0, "--bodies", self.bodies)
        self.assertEqual((status, report), (2, None))
        self.assertIn("--port", errors)
        status, _, errors = self.generate("--port", 1, "--bodies", self.bodies.with_name("none"))
        self.assertEqual(status, 2)
        self.assertIn("No such file", errors)
        status, _, errors = self.generate("--port", 1, "--bodies", self.bodies, "--seconds", 1)
        self.assertEqual(status, 1)
        self.assertIn("refused", errors)


if __name__ == "__main__":
    unittest.main()
