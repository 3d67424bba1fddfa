"""The work: lengths, cells and batches, with a tokenizer that makes a token of each word."""
import re
import types
import unittest

import peer_work
import peer_worker

WORDS = " ".join(f"w{index}" for index in range(3000))


class WordTokenizer:
    """[CLS], a token for each word, [SEP]; a word's id is its length."""

    def encode(self, text, add_special_tokens=True):
        words = list(re.finditer(r"\S+", text))
        ids = [len(word.group()) for word in words]
        return types.SimpleNamespace(ids=[101, *ids, 102] if add_special_tokens else ids,
                                     offsets=[word.span() for word in words])

    def encode_batch(self, texts):
        return [self.encode(text) for text in texts]


class Lengths(unittest.TestCase):
    def test_log_normal_lengths_are_the_same_in_every_run_and_clipped(self):
        lengths = peer_work.log_normal_lengths(4000)
        self.assertEqual(lengths[:50], peer_work.log_normal_lengths(50))
        self.assertEqual((min(lengths), max(lengths)), (8, 512))
        self.assertAlmostEqual(sorted(lengths)[2000], 64, delta=4)

    def test_a_slice_has_exactly_the_tokens(self):
        slicer = peer_work.Slicer(WordTokenizer(), WORDS)
        for length in (8, 9, 128, 512):
            self.assertEqual(len(WordTokenizer().encode(slicer.cut(length)).ids), length)


class Cells(unittest.TestCase):
    def make(self, weight=1):
        texts = [f"text {index} of some words" for index in range(600)]
        return {cell.key: cell for cell in peer_work.make_cells(WordTokenizer(), texts, weight)}

    def test_the_kinds_of_work(self):
        cells = self.make()
        self.assertEqual(cells["fixed"].tokens, 32 * 128)
        self.assertEqual(cells["one-512"].tokens, 6 * 512)
        self.assertEqual([key for key, cell in cells.items() if cell.single],
                         ["one-8", "one-32", "one-128", "one-512"])
        for key in ("short", "spread"):
            self.assertEqual(cells[key].texts, cells[f"{key}-arrival"].texts)
            self.assertEqual(cells[key].texts_key, cells[f"{key}-arrival"].texts_key)
            self.assertIn("sorted", cells[key].orders)
            self.assertEqual(cells[f"{key}-arrival"].orders, ("arrival",))

    def test_heavier_models_get_fewer_texts(self):
        counts = {key: len(cell.texts) for key, cell in self.make(28).items()}
        self.assertEqual((counts["fixed"], counts["short"], counts["spread"], counts["one-512"]),
                         (32, 32, 32, 2))


class Batches(unittest.TestCase):
    TEXTS = ["a a a a", "a", "a a a", "a a", "a a a a a"]

    def lengths(self, make):
        return [[len(ids) for ids in batch] for batch in make(WordTokenizer(), self.TEXTS, 2)]

    def test_in_order_and_sorted(self):
        self.assertEqual(self.lengths(peer_worker.batches_in_order), [[6, 3], [5, 4], [7]])
        self.assertEqual(self.lengths(peer_worker.batches_sorted), [[3, 4], [5, 6], [7]])

    def test_a_pass_takes_all_texts_and_counts_their_tokens(self):
        seen = []
        runtime = types.SimpleNamespace(logits=seen.extend)
        worker = peer_worker.Worker(runtime, WordTokenizer(), {"t": self.TEXTS})
        command = {"texts": "t", "order": "sorted", "batch": 2, "seconds": 0, "share": [0, 1]}
        self.assertEqual(worker.one_pass(self.TEXTS, command), 25)
        self.assertEqual(len(seen), 5)

    def test_sessions_share_the_texts(self):
        runtime = types.SimpleNamespace(logits=lambda batch: None)
        worker = peer_worker.Worker(runtime, WordTokenizer(), {"t": self.TEXTS})
        peer_worker.WARM_S, kept = 0.0, peer_worker.WARM_S
        self.addCleanup(setattr, peer_worker, "WARM_S", kept)
        command = {"texts": "t", "order": "arrival", "batch": 8, "seconds": 0}
        tokens = [worker.run({**command, "share": [number, 2]})["tokens"] for number in (0, 1)]
        self.assertEqual(tokens, [6 + 5 + 7, 3 + 4])


if __name__ == "__main__":
    unittest.main()
