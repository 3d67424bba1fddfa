"""The report's sections and rows, and what is left out on which CPU."""
import collections
import unittest

import peer_measure
import peer_models
import peer_report


class Sections(unittest.TestCase):
    def test_sections_are_put_in_place_of_the_old_ones(self):
        text = peer_report.replace_section("# Head\n", "a", ["one"])
        text = peer_report.replace_section(text, "b", ["two"])
        replaced = peer_report.replace_section(text, "a", ["three", "four"])
        self.assertEqual(replaced, text.replace("one", "three\nfour"))
        self.assertTrue(replaced.startswith("# Head\n\n<!-- section a -->\n"))

    def test_the_same_section_again_changes_nothing(self):
        text = peer_report.replace_section("", "a", ["one"])
        self.assertEqual(peer_report.replace_section(text, "a", ["one"]), text)


class Rows(unittest.TestCase):
    def test_ratio_is_the_median_of_the_rounds_with_quartiles(self):
        mine = peer_measure.Result("bertd", None, 0, [12.0, 10.0, 15.0])
        other = peer_measure.Result("torch", None, 0, [10.0, 10.0, 10.0])
        self.assertEqual(peer_report.ratio(mine, other), "**1.20** (1.10 to 1.35)")

    def test_a_rate_of_the_search_alone_is_marked(self):
        self.assertEqual(peer_report.describe(peer_measure.Result("torch", "1 x 2", 1234.5)),
                         "PyTorch 1,234* (1 x 2)")


class Machines(unittest.TestCase):
    def test_a_dtype_is_left_out_where_the_cpu_has_nothing_for_it(self):
        self.assertEqual(peer_report.missing_for("f32", set()), "")
        self.assertIn("avx512_bf16", peer_report.missing_for("bf16", {"avx2", "avx512_vnni"}))
        self.assertEqual(peer_report.missing_for("bf16", {"amx_bf16"}), "")
        self.assertEqual(peer_report.missing_for("int8", {"avx_vnni"}), "")


class FusedNodes(unittest.TestCase):
    def test_each_kind_is_counted_by_layers(self):
        nodes = collections.Counter(Attention=6, SkipLayerNormalization=12, BiasGelu=6)
        self.assertEqual(peer_models.missing_nodes(nodes, "f32", 6), "")
        nodes["BiasGelu"] = 5
        self.assertIn("5 nodes BiasGelu|Gelu", peer_models.missing_nodes(nodes, "f32", 6))
        nodes["Gelu"] = 1
        self.assertEqual(peer_models.missing_nodes(nodes, "f32", 6), "")
        self.assertIn("QAttention", peer_models.missing_nodes(collections.Counter(), "int8", 1))


if __name__ == "__main__":
    unittest.main()
