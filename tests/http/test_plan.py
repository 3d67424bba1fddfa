"""`bertd plan` on the demo model: README shows its output; machines that are not here, CPU sets,
and the plan that a running server tells."""
import json
import os
import re
import shlex
import unittest

import harness

README = harness.ROOT / "README.md"
# What measurement decides: numbers, and which losses of a pipeline are worth a word.
NUMBER = re.compile(r"\d+(\.\d+)?")
LOSSES = re.compile(r"(would reach \S+ % of it).*")


def plan(*options):
    """Standard output of `bertd plan`."""
    status, output, errors = harness.run("plan", *options)
    if status != 0:
        raise AssertionError(errors)
    return output.decode()


def structure(text):
    """The lines without numbers and the width of columns."""
    lines = []
    for line in text.strip().splitlines():
        line = LOSSES.sub(r"\1", line)
        line = NUMBER.sub("#", line)
        lines.append(" ".join(line.split()))
    return lines


def readme_blocks():
    """(command line, output) of each block in README that shows `bertd plan`."""
    blocks = re.findall(r"```\n\$ build/bertd (plan[^\n]*)\n(.*?)```",
                        README.read_text("utf-8"), re.S)
    return [(shlex.split(command)[1:], output) for command, output in blocks]


class Readme(unittest.TestCase):
    def test_the_plans_it_shows_are_those_that_the_program_prints(self):
        blocks = readme_blocks()
        self.assertGreaterEqual(len(blocks), 2)
        for options, shown in blocks:
            with self.subTest(options=options):
                self.assertEqual(structure(plan(*options)), structure(shown))


class Budget(unittest.TestCase):
    def test_the_budget_that_runs_is_the_one_that_was_planned(self):
        for options in [], ["--stages", "2"], ["--microbatch-tokens", "96"]:
            with self.subTest(options=options):
                planned = json.loads(plan("--json", *options))["microbatch_tokens"]
                status, output, errors = harness.run("bench", "--json", "--lengths", "8",
                                                     "--clients", "1", "--seconds", "1s", *options)
                self.assertEqual(status, 0, errors)
                self.assertEqual(json.loads(output)["microbatch_tokens"], planned)
                if options and options[0] == "--microbatch-tokens":
                    self.assertEqual(planned, 96)


class DecoderChunks(unittest.TestCase):
    MODEL = str(harness.ROOT / "tests" / "golden" / "mask_models" / "tied")

    def test_the_plan_shows_in_how_many_chunks_the_decoder_reads_its_matrix(self):
        decoders = {}
        for chunks in "1", "2":
            options = ["--model", self.MODEL, "--decoder-chunks", chunks]
            word = "chunk" if chunks == "1" else "chunks"
            self.assertIn(f"reads it in {chunks} {word}", plan(*options))
            parts = json.loads(plan("--json", *options))["parts"]
            decoders[chunks] = [part["chunks"] for part in parts if "chunks" in part]
        self.assertEqual(decoders, {"1": [1], "2": [2]})


class Machines(unittest.TestCase):
    def json(self, *options):
        return json.loads(plan("--json", *options))

    def test_a_machine_that_is_not_here_is_planned_for_and_labelled(self):
        told = self.json("--cores", "64", "--l2", "2M", "--nodes", "2", "--smt", "2")
        self.assertEqual(told["machine"]["cores"], 64)
        self.assertEqual(told["machine"]["cpus"], 128)
        self.assertEqual(told["machine"]["l2_bytes"], 2 << 20)
        self.assertTrue(told["machine"]["imagined"])
        self.assertEqual(told["weights_copies"], 2)
        places = told["graphs"][0]["replicas"]
        self.assertEqual(told["replicas"] * told["stages"], 64)
        self.assertEqual({place["node"] for place in places}, {0, 1})
        self.assertIn("for a machine that is not here", plan("--cores", "64"))
        self.assertFalse(self.json()["machine"]["imagined"])

    def test_costs_are_measured_and_add_up(self):
        told = self.json("--cores", "4", "--stages", "3", "--replicas", "1")
        parts = sum(part["cost_ns"] for part in told["parts"])
        threads = sum(thread["cost_ns"] for thread in told["threads"])
        self.assertAlmostEqual(parts, threads, delta=parts * 1e-3)
        longest = max(thread["busy"] for thread in told["threads"])
        self.assertTrue(0.9 < longest <= 1.0, longest)
        rate = told["predicted"]["tokens_per_second"]
        self.assertTrue(0.3 < rate * parts / 1e9 / 3 <= 1.0, (rate, parts))

    def test_weights_in_a_large_cache_are_said_to_fit(self):
        text = plan("--cores", "8", "--stages", "6", "--l2", "16M")
        self.assertEqual(text.count("which fit a core's own L2 of 16 MiB"), 6)

    def test_cpu_sets_are_obeyed_or_refused(self):
        cpu = sorted(os.sched_getaffinity(0))[0]
        told = self.json("--stages", "1", "--replicas", "2", "--pin", f"{cpu};{cpu}")
        self.assertEqual([place["cpus"] for place in told["graphs"][0]["replicas"]],
                         [str(cpu), str(cpu)])
        for options, words in (
                (["--pin", "0-"], ["--pin", "0-3;4-7"]),
                (["--pin", "1023"], ["CPU 1023", "may not use"]),
                (["--virtual-graphs", "0,1", "--stages", "2"],
                 ["--virtual-graphs has 2 entries", "needs 3"]),
                (["--stage-threads", "65"], ["--stage-threads", "1 to 64"])):
            status, _, errors = harness.run("plan", *options)
            self.assertEqual(status, 2, errors)
            for word in words:
                self.assertIn(word, errors)


class Server(unittest.TestCase):
    def test_info_tells_the_plan_with_its_reason_and_prediction(self):
        with harness.Server("--stages", "2", "--replicas", "1") as server:
            told = json.loads(server.get("/info").body)["models"][0]["plan"]
        self.assertEqual([thread["name"] for thread in told["threads"]],
                         ["stage 0", "stage 1", "head"])
        self.assertGreater(told["predicted"]["tokens_per_second"], 0)
        self.assertIn("replicas of one stage would reach", told["reason"])


if __name__ == "__main__":
    unittest.main()
