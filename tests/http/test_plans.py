"""Random plans of every kind (borders inside layers, virtual graphs, replicas, teams, CPU sets,
limits of what is in flight, microbatch sizes) give the bytes of the sequential engine: one stage,
one replica, one thread."""
import json
import os
import pathlib
import random
import tempfile
import unittest

import harness
import masked
import tiny

PLANS = harness.scaled(24, 6)
SEQUENTIAL = ("--stages", "1", "--replicas", "1", "--stage-threads", "1")


def layers_list(rng, layers):
    """Entries of --layers-per-stage: random borders at thirds of layers, at times with a -1."""
    borders = sorted(rng.sample(range(1, 3 * layers), rng.randrange(0, min(4, layers))))
    counts = [after - before for before, after in zip([0] + borders, borders + [3 * layers])]
    entries = ["%d%s" % (count // 3, ("", ".3", ".6")[count % 3]) for count in counts]
    if rng.random() < 0.5:
        entries[rng.randrange(len(entries))] = "-1"
    return entries


def random_plan(rng, layers):
    entries = layers_list(rng, layers)
    options = ["--layers-per-stage", ",".join(entries)]
    graphs = list(range(len(entries)))
    if len(entries) > 1 and rng.random() < 0.5:
        graphs = [0]
        while len(graphs) < len(entries):
            graphs.append(rng.randrange(0, max(graphs) + 2))
        options += ["--virtual-graphs", ",".join(map(str, graphs + [rng.choice((0, graphs[-1]))]))]
    if rng.random() < 0.3:
        cpus = sorted(os.sched_getaffinity(0))
        options += ["--pin", ";".join(str(rng.choice(cpus)) for _ in range(max(graphs) + 1))]
    options += ["--replicas", str(rng.randrange(1, 4))]
    options += ["--stage-threads", str(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.3:
        options.append("--no-pipelining")
    elif rng.random() < 0.5:
        options += ["--max-in-flight", str(rng.randrange(1, 6))]
    if rng.random() < 0.7:
        options += ["--microbatch-tokens", str(rng.choice((1, 16, 37, 64, 200, 900)))]
    options += ["--tokenizer-threads", str(rng.randrange(1, 4))]
    return options


def fill_mask_plan(rng, layers):
    """The same with the decoder's vocabulary in slices."""
    return random_plan(rng, layers) + ["--decoder-chunks", str(rng.choice((1, 2, 3, 7, 64)))]


def texts(words, longest, count):
    """Texts of 1 to `longest` words, a line each: short ones, some long, borders of row blocks."""
    rng = random.Random(11)
    lengths = [1, 2, 5, 6, 7, 13, 14, 15, 30, 31, 61, 62, 63, longest] + [
        rng.randrange(1, longest if rng.random() < 0.2 else 24) for _ in range(count)]
    return "\n".join(" ".join(rng.choice(words) for _ in range(min(length, longest)))
                     for length in lengths).encode() + b"\n"


class RandomPlansTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tiny = tiny.write(pathlib.Path(cls.folder.name) / "tiny")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def answers(self, command, model, lines, plan):
        status, output, errors = harness.run(command, "--json", "--model", model, *plan,
                                             stdin=lines)
        self.assertEqual((status, errors), (0, ""), plan)
        return output

    def check(self, command, model, layers, lines, seed, plans=PLANS, more=(), make=random_plan):
        rng = random.Random(seed)
        expected = self.answers(command, model, lines, SEQUENTIAL + more)
        self.assertEqual(expected.count(b"\n"), lines.count(b"\n"))
        for _ in range(plans):
            plan = make(rng, layers) + list(more)
            self.assertEqual(self.answers(command, model, lines, plan), expected, plan)

    def test_classify_with_the_demo_model(self):
        words = ["love", "hate", "why", "thanks", "sorry", "great", "day", "the", "a", "of", "!"]
        self.check("classify", harness.DEMO, 6, texts(words, 400, harness.scaled(40, 10)), 1)

    def test_classify_in_fewer_bits_where_the_cpu_has_them(self):
        words = ["love", "hate", "why", "thanks", "sorry", "great", "day", "the", "a", "of", "!"]
        for dtype in ("bf16", "int8"):
            status, _, errors = harness.run("classify", "--dtype", dtype, "a")
            if status == 0:
                self.check("classify", harness.DEMO, 6, texts(words, 400, 10), 3, min(PLANS, 5),
                           ("--dtype", dtype))
            else:
                self.assertRegex(errors, "this CPU does not multiply|multiplies f32 only")

    def test_classify_with_a_tiny_model(self):
        layers = tiny.config()["num_hidden_layers"]
        self.check("classify", self.tiny, layers, texts(tiny.WORDS[5:], 30, 80), 2)

    def test_fill_mask_with_the_demo_model_s_body(self):
        model = masked.write(harness.DEMO, pathlib.Path(self.folder.name) / "masked")
        words = ["what", "a", "day", "the", "thanks", "[MASK]", "!"]
        lines = b"".join(b"[MASK] " + line + b"\n"
                         for line in texts(words, 120, 12).splitlines())
        self.check("fill-mask", model, 6, lines, 4, make=fill_mask_plan)

    def test_fill_mask_with_a_tiny_model(self):
        model = harness.ROOT / "tests" / "golden" / "mask_models" / "tied-bfloat16"
        layers = json.loads((model / "config.json").read_text())["num_hidden_layers"]
        lines = b"".join(b"the [MASK] " + line + b"\n" for line in
                         texts(["of", "world", "[MASK]", "one", "and"], 12, 30).splitlines())
        self.check("fill-mask", model, layers, lines, 5, make=fill_mask_plan)


if __name__ == "__main__":
    unittest.main()
