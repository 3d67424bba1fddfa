"""A stage that hangs, in the program that can be made to fail (bertd-faults): what clients, probes
and the log are told, and that everything is as before when it moves again. And the trace file."""
import json
import os
import pathlib
import tempfile
import time
import unittest

import harness

FAULTS = str(pathlib.Path(harness.PROGRAM).parent / "bertd-faults")
TIMEOUT_MS = 400 * harness.SLOWNESS


class WatchdogTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serve(self, *options):
        self.assertTrue(os.access(FAULTS, os.X_OK), FAULTS)
        return harness.Server("--stage-timeout", "%dms" % TIMEOUT_MS, *options, program=FAULTS,
                              env={"BERTD_FAULT_STAGES": str(self.folder)})

    def hang(self, stage, replica=0):
        path = self.folder / ("%s.%d" % (stage, replica))
        path.touch()
        return path

    def assert_stuck(self, answer, stage):
        self.assertEqual(answer.status, 503, answer)
        self.assertEqual(answer.json()["error"]["code"], "stage_stuck")
        self.assertIn(stage, answer.json()["error"]["message"])
        self.assertRegex(answer.header("retry-after"), r"^[1-9]\d*$")

    def test_a_stuck_stage_is_named_its_calls_end_and_service_comes_back(self):
        for stage in ("stage 0", "stage 1", "head"):
            with self.serve("--stages", "2", "--replicas", "1") as server:
                plain = server.classify("hello").data()
                file = self.hang(stage)
                start = time.monotonic()
                self.assert_stuck(server.classify("hello"), stage)
                self.assertGreaterEqual(time.monotonic() - start, TIMEOUT_MS / 1000)
                ready = server.get("/readyz")
                self.assertEqual((ready.status, ready.json()["status"]), (503, "stage_stuck"))
                self.assertIn(stage, ready.json()["reason"])
                self.assertEqual(server.get("/livez").status, 200)
                start = time.monotonic()
                refused = server.classify("at once, not after a time-out")
                self.assertEqual(refused.json()["error"]["code"], "stage_stuck")
                self.assertLess(time.monotonic() - start, TIMEOUT_MS / 1000)
                self.assertIn("%s of replica 0 makes no progress" % stage, server.errors())
                file.unlink()
                harness.wait_until(lambda: server.get("/readyz").status == 200, "ready again")
                self.assertEqual(server.classify("hello").data(), plain)
                self.assertEqual(server.metric("bertd_in_flight"), 0)

    def test_the_other_replica_goes_on(self):
        with self.serve("--stages", "1", "--replicas", "2") as server:
            plain = server.classify("hello").data()
            file = self.hang("stage 0", 1)
            stuck = 0
            deadline = time.monotonic() + 20 * harness.SLOWNESS
            while stuck == 0 and time.monotonic() < deadline:
                answers = harness.in_threads([lambda: server.classify("hello")] * 4)
                stuck += sum(answer.status == 503 for answer in answers)
            self.assertGreater(stuck, 0)
            answers = [server.classify("hello") for _ in range(30)]
            good = [answer for answer in answers if answer.status == 200]
            # One that the stuck replica had taken before it was found out may still fail.
            self.assertGreaterEqual(len(good), 29)
            self.assertEqual({answer.data() for answer in good}, {plain})
            self.assertEqual(server.get("/readyz").status, 503)
            file.unlink()
            harness.wait_until(lambda: server.get("/readyz").status == 200, "ready again")

    def test_sigterm_ends_a_server_with_a_stuck_stage(self):
        with self.serve("--stages", "2", "--replicas", "1") as server:
            self.hang("stage 1")
            self.assert_stuck(server.classify("hello"), "stage 1")
            start = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - start, 10 * harness.SLOWNESS)
            self.assertIn("ending without it", server.errors())
            server.stop = lambda: None


class TraceTest(unittest.TestCase):
    def test_a_served_run_is_traced_with_every_microbatch_on_every_stage(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with harness.Server("--stages", "2", "--replicas", "1", "--trace", path) as server:
                texts = ["text number %d" % i for i in range(40)]
                harness.in_threads([lambda t=t: server.classify(t) for t in texts])
            events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.assertEqual([names[tid] for tid in sorted(names)], ["stage 0", "stage 1", "head"])
        slices = {}
        for event in events:
            if event["ph"] == "X":
                slices.setdefault(event["args"]["number"], []).append(event)
        self.assertGreater(len(slices), 2)
        for of_one in slices.values():
            of_one.sort(key=lambda e: e["ts"])
            self.assertEqual([e["tid"] for e in of_one], sorted(names))
            for before, after in zip(of_one, of_one[1:]):
                self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"])
        served = sum(of_one[0]["args"]["inputs"] for of_one in slices.values())
        self.assertGreaterEqual(served, len(texts))
        arrows = [e for e in events if e["ph"] in "stf"]
        self.assertEqual(len(arrows), sum(map(len, slices.values())))
        counters = {e["name"] for e in events if e["ph"] == "C"}
        self.assertEqual(counters, {"waiting for stage 0", "waiting for stage 1",
                                    "waiting for head"})

    def test_a_trace_that_cannot_be_written_is_refused_at_the_start(self):
        status, _, errors = harness.run("serve", "--port", "0", "--trace", "/nowhere/trace")
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"--trace /nowhere/trace: No such file")


if __name__ == "__main__":
    unittest.main()
