"""Errors of logits, flips of labels and F1, on numbers that can be counted by hand."""
import math
import unittest

import peer_accuracy


class Compare(unittest.TestCase):
    def test_largest_error_and_flips(self):
        reference = [[1.0, 2.0], [4.0, 3.0], [0.0, 5.0], [1.0, 0.0]]
        accuracy = peer_accuracy.compare([[1.0, 2.5], [2.0, 3.0], [0.0, 5.0], [1.0, 0.0]],
                                         reference)
        self.assertEqual((accuracy.largest, accuracy.flips), (2.0, 0.25))

    def test_p99_leaves_out_the_largest_hundredth(self):
        reference = [[0.0, -9.0] for _ in range(100)]
        logits = [[index / 100, -9.0] for index in range(100)]
        accuracy = peer_accuracy.compare(logits, reference)
        self.assertEqual((accuracy.p99, accuracy.largest), (0.98, 0.99))

    def test_what_is_no_number_or_missing_is_no_match(self):
        for logits in ([[math.nan, 1.0]], [[math.inf, 1.0]], []):
            self.assertEqual(peer_accuracy.compare(logits, [[0.0, 1.0]]).largest, math.inf)


class F1(unittest.TestCase):
    def test_macro_f1_is_the_mean_over_labels(self):
        # Label a: given to both, right once: 2 * 1 / (2 + 1). Label b: given once, rightly.
        logits = [[5.0, -5.0], [5.0, 5.0]]
        self.assertAlmostEqual(
            peer_accuracy.macro_f1(logits, [["a"], ["b"]], ["a", "b"], [0.5, 0.5]),
            (2 / 3 + 1) / 2)

    def test_a_label_that_nobody_has_counts_as_nought(self):
        self.assertEqual(peer_accuracy.macro_f1([[-5.0]], [[]], ["a"], [0.5]), 0.0)

    def test_thresholds_are_of_the_probability(self):
        self.assertEqual(peer_accuracy.macro_f1([[0.0]], [["a"]], ["a"], [0.5]), 1.0)
        self.assertEqual(peer_accuracy.macro_f1([[0.0]], [["a"]], ["a"], [0.51]), 0.0)

    def test_who_loses_too_much_does_not_count(self):
        def counts(f1):
            return peer_accuracy.counts(peer_accuracy.Accuracy(0.0, 0.0, 0.0, f1), 0.5)
        self.assertEqual([counts(0.6), counts(0.498), counts(0.496), counts(None)],
                         [True, True, False, True])


if __name__ == "__main__":
    unittest.main()
