"""`bertd bench`: rows of throughput and latency, the stages' occupancy, the budget that adds up
to the whole forward pass, and the trace of a run that ends early or not at all."""
import json
import pathlib
import re
import signal
import subprocess
import time
import unittest

import harness
import masked
from test_commands import CommandTest


class Bench(CommandTest):
    def test_rows_have_throughput_latency_and_stages(self):
        report = json.loads(self.good("bench", "--json", "--seconds", "100ms", "--lengths",
                                      "8,64,mixed", "--clients", "1,4", "--model", self.tiny,
                                      "--stages", "2"))
        self.assertEqual((report["model"], report["dtype"]), ("tiny", "f32"))
        self.assertEqual([(r["length"], r["clients"]) for r in report["rows"]],
                         [(n, c) for n in ("8", "64", "mixed") for c in (1, 4)])
        for row in report["rows"]:
            self.assertGreater(row["texts"], 0)
            self.assertLessEqual(row["p50_ms"], row["p99_ms"])
            if row["length"] != "mixed":
                self.assertEqual(row["tokens"], row["texts"] * int(row["length"]))
            self.assertAlmostEqual(row["tokens_per_second"] * row["seconds"] / row["tokens"], 1, 3)
            self.assertEqual([s["name"] for s in row["stages"]], ["stage 0", "stage 1", "head"])
            for stage in row["stages"]:
                self.assertAlmostEqual(stage["busy"] + stage["starved"] + stage["blocked"], 1, 3)

    def test_lists_out_of_range_are_told_the_range(self):
        for option, value, most in (("--lengths", "0", 65536), ("--lengths", "99999", 65536),
                                    ("--clients", "0", 4096), ("--clients", "4097", 4096)):
            status, _, errors = harness.run("bench", "--model", self.tiny, option, value)
            self.assertEqual(status, 2)
            self.assertRegex(errors, "^bertd bench: %s: got '%s', .* from 1 to %d"
                             % (option, value, most))

    def test_a_trace_that_cannot_be_written_at_the_end_is_a_failure(self):
        status, _, errors = harness.run("bench", "--model", self.tiny, "--seconds", "50ms",
                                        "--lengths", "8", "--clients", "1", "--trace", "/dev/full")
        self.assertEqual(status, 1, errors)
        self.assertIn("--trace /dev/full: No space left", errors)

    def test_an_interrupted_run_has_its_trace_and_a_killed_one_leaves_the_old(self):
        folder = pathlib.Path(self.folder.name) / "traces"
        folder.mkdir()
        path = folder / "trace.json"
        path.write_text("the old one")
        command = [harness.PROGRAM, "bench", "--model", str(self.tiny), "--seconds", "60s",
                   "--lengths", "8", "--clients", "1", "--trace", str(path)]
        for number, status in ((signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=harness.environment()) as process:
                process.stdout.readline()
                time.sleep(0.3 * harness.SLOWNESS)
                process.send_signal(number)
                _, errors = process.communicate(timeout=20 * harness.SLOWNESS)
            self.assertEqual(process.returncode, status, errors)
            self.assertEqual([entry.name for entry in folder.iterdir()], ["trace.json"])
            if number == signal.SIGKILL:
                self.assertEqual(path.read_text(), "the old one")
            else:
                events = json.loads(path.read_text())["traceEvents"]
                self.assertTrue(any(event["ph"] == "X" for event in events))
                path.write_text("the old one")

    def test_texts_of_a_file_are_used(self):
        path = self.path("rows", '{"text":"hello world","label":"x"}\n"a"\n')
        output = self.good("bench", "--seconds", "50ms", "--clients", "2", "--jsonl", path,
                           "--model", self.tiny).decode()
        self.assertRegex(output, r"(?m)^ +file +2 +[\d.]+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+$")
        self.assertRegex(output, r"stage 0 +[\d.]+ % +[\d.]+ % +[\d.]+ %")
        self.assertIn("no texts", self.refused("bench", "--json", "--jsonl", self.path("none"),
                                               status=1))

    def budget(self, *arguments):
        """The budget of the one load that was asked for."""
        report = json.loads(self.good("bench", "--budget", "--json", "--clients", "1,4",
                                      *arguments))
        self.assertEqual(["budget" in row for row in report["rows"]], [False, True])
        return report["rows"][1]["budget"]

    def whole_budget(self, length):
        """A budget whose parts make up the whole pass, and its parts by name."""
        # Parts and pass are measured in different runs, and the machine may be busy with others.
        for _ in range(4):
            budget = self.budget("--seconds", "500ms", "--lengths", length, "--model", harness.DEMO)
            parts = {part["name"]: part for part in budget["parts"]}
            self.assertAlmostEqual(sum(part["share"] for part in parts.values()), 1, 4)
            self.assertAlmostEqual(sum(part["us_per_token"] for part in parts.values())
                                   / budget["pass_us_per_token"], 1, 4)
            if abs(parts["unaccounted"]["share"]) < 0.05:
                return budget, parts
        self.fail((length, parts["unaccounted"]))

    def test_a_budget_is_the_whole_pass(self):
        budget, _ = self.whole_budget(8)
        self.assertEqual((budget["texts"], budget["tokens"], budget["microbatches"]),
                         (256, 2048, 16))
        budget, parts = self.whole_budget(128)
        self.assertEqual((budget["texts"], budget["tokens"], budget["microbatches"]),
                         (16, 2048, 16))
        self.assertGreater(parts["feed-forward 1 product"]["share"],
                           parts["attention output product"]["share"])
        self.assertAlmostEqual(budget["least_us_per_token"],
                               sum(part.get("least_us_per_token", 0) for part in parts.values()), 3)
        self.assertLess(budget["least_us_per_token"], 1.1 * budget["pass_us_per_token"])
        self.assertEqual(parts["layer norm"]["bound"], "cache")
        self.assertNotIn("bound", parts["unaccounted"])
        self.assertEqual(budget["tokenize_us_per_token"], 0)  # the inputs are ids
        around = budget["around_us_per_token"]
        self.assertEqual(set(around), {"handover", "idle", "tokenizer", "json_read", "json_write",
                                       "http"})
        self.assertGreater(around["json_read"], 0)
        self.assertGreater(around["http"], 0)
        self.assertGreater(budget["http_tokens_per_second"], 0)

    def test_a_budget_of_texts_in_a_table(self):
        path = self.path("texts", '{"text":"hello world","text_pair":"b"}\n"a"\n')
        output = self.good("bench", "--budget", "--seconds", "50ms", "--clients", "2", "--stages",
                           "2", "--jsonl", path, "--model", self.tiny).decode()
        for part in ("embedding", "QKV product", "attention softmax", "GELU", "layer norm",
                     "unaccounted", "forward pass", "hand-over", "idle", "tokenizer",
                     "JSON, reading", "JSON, writing", "HTTP"):
            self.assertRegex(output, rf"(?m)^{part} +-?[\d.]+ +-?[\d.]+ %")

    def test_a_budget_of_a_masked_language_model(self):
        model = masked.write(harness.DEMO, pathlib.Path(self.folder.name) / "masked")
        budget = self.budget("--seconds", "50ms", "--lengths", "16", "--model", model)
        parts = {part["name"] for part in budget["parts"]}
        self.assertLessEqual({"transform product", "decoder"}, parts)

    def test_passes_give_every_run_the_same_work(self):
        path = self.path("three", '"a"\n"hello world"\n"hello hello hello"\n')
        for clients in ("1", "2", "64"):
            row = json.loads(self.good("bench", "--passes", "7", "--clients", clients, "--jsonl",
                                       path, "--json", "--model", self.tiny))["rows"][0]
            self.assertEqual(row["texts"], 7 * 3)
            # Answers may overtake each other at the edges, by fewer than are in flight.
            self.assertAlmostEqual(row["tokens"], 7 * (3 + 4 + 5), delta=2 * (int(clients) - 1))

    def test_all_rows_of_the_last_layer_can_be_asked_for(self):
        rows = [json.loads(self.good("bench", "--passes", "1", "--clients", "1", "--lengths", "8",
                                     "--json", "--model", self.tiny, *more))["rows"][0]
                for more in ([], ["--all-rows"])]
        self.assertEqual(rows[0]["tokens"], rows[1]["tokens"])

    def test_a_length_over_the_limit_is_left_out_aloud(self):
        status, output, errors = harness.run("bench", "--seconds", "20ms", "--clients", "1",
                                             "--lengths", "8,65", "--model", self.tiny)
        self.assertEqual(status, 0)
        self.assertIn("65 is left out", errors)
        self.assertEqual(len(re.findall(rb"(?m)^ +\d+ +1 ", output)), 1)


if __name__ == "__main__":
    unittest.main()
