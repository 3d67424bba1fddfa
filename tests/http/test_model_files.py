"""Checkpoints over HTTP: tiny ones whose right scores are known by construction, and damaged ones
that must be refused at load with the reason, quickly and without the claimed memory."""
import json
import math
import pathlib
import struct
import tempfile
import time
import unittest

import harness
import tiny


class ModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def answers(self, model, inputs, **fields):
        """The items of one answer by a server of this model."""
        with harness.Server(model=model) as server:
            response = server.classify(inputs, **fields)
            self.assertEqual(response.status, 200, response)
            return response.json()["data"]

    def scores(self, model, text="hello world", **fields):
        item, = self.answers(model, text, **fields)
        return [p["score"] for p in sorted(item["predictions"], key=lambda p: p["index"])]

    def refused(self, model, *patterns):
        started = time.monotonic()
        status, _, errors = harness.run("serve", "--port", "0", "--model", model, timeout_s=10)
        self.assertLess(time.monotonic() - started, 1.0 * harness.SLOWNESS)
        self.assertEqual(status, 1, errors)
        self.assertNotIn("listening", errors)
        lines = [line for line in errors.splitlines() if line.startswith("bertd serve: ")]
        self.assertEqual(len(lines), 1, errors)
        for pattern in patterns:
            self.assertRegex(lines[0], pattern)

    def constant(self, biases, **changes):
        """A model whose logits are `biases`, whatever the text."""
        labels = {str(i): "label %d" % i for i in range(len(biases))}
        values = tiny.config(**dict({"id2label": labels, "label2id": None}, **changes))
        tensors = tiny.weights(values)
        tensors["classifier.weight"] = tiny.floats([len(biases), 16], [0.0] * 16 * len(biases))
        tensors["classifier.bias"] = tiny.floats([len(biases)], biases)
        return tiny.write(self.folder / "constant", values, tensors)

    def close(self, got, want, tolerance=2e-7):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want, strict=True):
            self.assertLessEqual(abs(a - b), tolerance + 1e-6 * abs(b), (got, want))


class HeadTest(ModelTest):
    def test_problem_type_chooses_the_activation(self):
        logits = [-3.0, 2.0, 1.0]
        softmax, sigmoid = [0.0049017, 0.7274752, 0.2676232], [0.0474259, 0.8807971, 0.7310586]
        for problem, expected in (("single_label_classification", softmax),
                                  ("multi_label_classification", sigmoid),
                                  ("regression", logits), (None, softmax)):
            self.close(self.scores(self.constant(logits, problem_type=problem)), expected, 6e-8)

    def test_one_label_is_a_sigmoid_and_regression_is_raw(self):
        self.close(self.scores(self.constant([1.5], problem_type=None)), [1 / (1 + math.exp(-1.5))])
        self.close(self.scores(self.constant([1.5], problem_type="regression")), [1.5])

    def test_far_apart_logits_do_not_overflow(self):
        self.assertEqual(self.scores(self.constant([-200.0, 1.0])), [0.0, 1.0])
        self.assertEqual(self.scores(self.constant([1e30, -1e30])), [1.0, 0.0])
        self.assertEqual(self.scores(self.constant(
            [-200.0, 200.0], problem_type="multi_label_classification")), [0.0, 1.0])

    def test_equal_scores_stand_by_label_index(self):
        model = self.constant([0.5, 0.25, 0.5, 0.5, 0.25])
        item, = self.answers(model, "hello")
        self.assertEqual([p["index"] for p in item["predictions"]], [0, 2, 3, 1, 4])
        item, = self.answers(model, "hello", top_k=2)
        self.assertEqual([p["index"] for p in item["predictions"]], [0, 2])

    def test_labels_in_string_order_are_read_by_number(self):
        names = {str(i): "name %d" % i for i in (10, 2, 0, 1, 11, 3, 9, 4, 8, 5, 7, 6)}
        model = self.constant([float(i) for i in range(12)], id2label=names)
        item, = self.answers(model, "hello")
        self.assertEqual([(p["label"], p["index"]) for p in item["predictions"]],
                         [("name %d" % i, i) for i in range(11, -1, -1)])

    def test_labels_of_any_text_come_back_whole(self):
        names = {"0": 'quote " and \\ back', "1": "\u00fcml\u00e4ut \U0001f600",
                 "2": "tab\tand\nline"}
        item, = self.answers(self.constant([3.0, 2.0, 1.0], id2label=names), "hello")
        self.assertEqual([p["label"] for p in item["predictions"]], list(names.values()))

    def test_the_pooler_keeps_the_classifier_inside_the_reach_of_tanh(self):
        """With classifier rows of ones the logit can be at most the width, however large the
        state of the first token is."""
        values = tiny.config()
        tensors = tiny.weights(values)
        tensors["bert.pooler.dense.weight"] = tiny.floats([16, 16], [1000.0] * 256)
        tensors["bert.pooler.dense.bias"] = tiny.floats([16], [1e6] * 16)
        tensors["classifier.weight"] = tiny.floats([3, 16], [1.0] * 16 + [-1.0] * 16 + [0.5] * 16)
        tensors["classifier.bias"] = tiny.floats([3], [0.0] * 3)
        model = tiny.write(self.folder / "large", values, tensors)
        self.close(self.scores(model, activation="none"), [16.0, -16.0, 8.0])

    def test_the_types_of_a_pair_reach_the_model(self):
        values = tiny.config()
        pair, typed = {"text": "hello", "text_pair": "world"}, "hello[SEP]world"
        tensors = tiny.weights(values)
        a, b = self.answers(tiny.write(self.folder / "types", values, tensors), [pair, typed])
        self.assertEqual((a["tokens"], b["tokens"]), (5, 5))
        self.assertNotEqual(a["score"], b["score"])
        tensors["bert.embeddings.token_type_embeddings.weight"] = tiny.floats([2, 16], [0.1] * 32)
        a, b = self.answers(tiny.write(self.folder / "alike", values, tensors), [pair, typed])
        self.assertEqual(a["predictions"], b["predictions"])


class FormsTest(ModelTest):
    """The same weights in other clothes give the same bytes."""

    def setUp(self):
        super().setUp()
        self.values = tiny.config()
        self.tensors = tiny.weights(self.values)
        self.plain = self.scores(tiny.write(self.folder / "plain", self.values, self.tensors))

    def same(self, tensors=None, **more):
        """`tensors` False writes no model.safetensors."""
        model = tiny.write(self.folder / "other", self.values,
                           self.tensors if tensors is None else tensors, **more)
        self.assertEqual(self.scores(model), self.plain)

    def test_without_the_prefix(self):
        self.same({name.removeprefix("bert."): t for name, t in self.tensors.items()})

    def test_with_position_ids_and_unknown_tensors(self):
        ids = struct.pack("<64q", *range(64))
        self.same(dict({"bert.embeddings.position_ids": ("I64", [1, 64], ids),
                        "cls.predictions.bias": tiny.floats([3], [1.0] * 3)}, **self.tensors))

    def test_with_gamma_and_beta(self):
        def old(name):
            return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta")
        self.same({old(name): t for name, t in self.tensors.items()})

    def test_in_two_shards_and_one_missing_is_named(self):
        names = list(self.tensors)
        parts = {"model-00001-of-00002.safetensors": names[:9],
                 "model-00002-of-00002.safetensors": names[9:]}
        index = {"metadata": {"total_size": 1},
                 "weight_map": {name: file for file, part in parts.items() for name in part}}
        extra = {file: tiny.safetensors({n: self.tensors[n] for n in part})
                 for file, part in parts.items()}
        extra["model.safetensors.index.json"] = json.dumps(index).encode()
        self.same(False, extra=extra)
        (self.folder / "other" / "model-00002-of-00002.safetensors").unlink()
        self.refused(self.folder / "other", r"model-00002-of-00002\.safetensors")

    def test_with_only_a_vocabulary_file(self):
        vocabulary = "\n".join(tiny.WORDS).encode() + b"\n"
        self.same(tokenizer_json=False, extra={
            "vocab.txt": vocabulary,
            "tokenizer_config.json": json.dumps({"tokenizer_class": "BertTokenizer",
                                                 "do_lower_case": True}).encode()})

    def test_float16_and_bfloat16_widen_exactly_also_at_odd_offsets(self):
        f16 = [0x0001, 0x7BFF, 0x3555]
        widened = struct.unpack("<3e", struct.pack("<3H", *f16))
        bf16 = [0x3EAB, 0x0001, 0xC2F7]
        widened_b = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in bf16]
        for dtype, bits, numbers in (("F16", f16, widened), ("BF16", bf16, widened_b)):
            tensors = {"classifier.bias": (dtype, [3], struct.pack("<3H", *bits))}
            tensors.update({k: v for k, v in self.tensors.items() if k != "classifier.bias"})
            tensors["classifier.weight"] = tiny.floats([3, 16], [0.0] * 48)
            for padding in (1, 8):
                model = tiny.write(self.folder / dtype, self.values,
                                   file_bytes=tiny.safetensors(tensors, padding))
                self.close(self.scores(model, activation="none"), numbers, 1e-45)


class DamageTest(ModelTest):
    def setUp(self):
        super().setUp()
        self.values = tiny.config()
        self.tensors = tiny.weights(self.values)

    def write(self, name, **more):
        return tiny.write(self.folder / name, **dict({"values": self.values,
                                                      "tensors": self.tensors}, **more))

    def test_sizes_that_differ_from_the_configuration(self):
        self.refused(self.write("wide", values=tiny.config(hidden_size=32)),
                     "weight|bias", "32", "16")

    def test_broken_lengths_of_the_file(self):
        whole = tiny.safetensors(self.tensors)
        for name, data in (("seven", whole[:7]), ("empty", b""),
                           ("past", struct.pack("<Q", len(whole) - 7) + whole[8:]),
                           ("huge", b"\xff" * 8 + whole[8:]), ("cut", whole[:-1]),
                           ("half", whole[:len(whole) // 2])):
            self.refused(self.write(name, file_bytes=data), r"model\.safetensors")

    def header(self, change):
        whole = tiny.safetensors(self.tensors)
        size, = struct.unpack("<Q", whole[:8])
        header = json.loads(whole[8:8 + size])
        change(header)
        return tiny.safetensors_of(json.dumps(header), whole[8 + size:])

    def test_tensors_that_overlap_or_leave_the_file_or_miss_their_size(self):
        def overlap(header):
            header["classifier.bias"]["data_offsets"] = \
                header["bert.pooler.dense.bias"]["data_offsets"][:1] + \
                [header["bert.pooler.dense.bias"]["data_offsets"][0] + 12]

        def past(header):
            header["classifier.bias"]["data_offsets"] = [10 ** 12, 10 ** 12 + 12]

        def size(header):
            header["classifier.bias"]["shape"] = [4]

        def negative(header):
            header["classifier.bias"]["data_offsets"] = [-12, 0]

        def overflow(header):
            header["classifier.bias"]["shape"] = [2 ** 62, 4]

        def dtype(header):
            header["classifier.bias"]["dtype"] = "F99"
        for change in (overlap, past, size, negative, overflow, dtype):
            self.refused(self.write(change.__name__, file_bytes=self.header(change)),
                         r"model\.safetensors|classifier\.bias")

    def test_one_name_twice_with_equal_and_with_different_offsets(self):
        whole = tiny.safetensors(self.tensors)
        size, = struct.unpack("<Q", whole[:8])
        text = whole[8:8 + size].decode().strip()
        entry = json.loads(text)["classifier.bias"]
        other = dict(entry, data_offsets=json.loads(text)["classifier.weight"]["data_offsets"])
        for name, again in (("equal", entry), ("different", other)):
            doubled = text[:-1] + ', "classifier.bias": %s}' % json.dumps(again)
            content = tiny.safetensors_of(doubled, whole[8 + size:])
            self.refused(self.write(name, file_bytes=content), "classifier.bias|twice|duplicate")

    def test_a_missing_tensor_is_named(self):
        del self.tensors["bert.encoder.layer.1.output.dense.weight"]
        self.refused(self.write("missing"), r"layer\.1\.output\.dense\.weight")

    def test_no_tokenizer_no_configuration_no_weights_no_directory(self):
        self.refused(self.write("words", tokenizer_json=False), "tokenizer.json", "vocab.txt",
                     "words")
        (self.write("config") / "config.json").unlink()
        self.refused(self.folder / "config", r"config\.json")
        self.refused(self.write("weights", tensors=False), r"model\.safetensors")
        self.refused(self.folder / "nowhere", "nowhere")

    def test_an_id_beyond_the_word_table_is_refused_with_both_sizes(self):
        rows = len(tiny.WORDS)
        model = self.write("ids", tokenizer_json=tiny.tokenizer(added=[(rows, "[ENT]")]))
        self.refused(model, str(rows), r"tokenizer|vocab|id")

    def test_a_tokenizer_part_of_an_unknown_type_is_refused_by_name(self):
        content = tiny.tokenizer()
        content["normalizer"] = {"type": "Sparkle"}
        self.refused(self.write("part", tokenizer_json=content), "Sparkle")

    def test_a_configuration_of_another_kind_is_refused_by_name(self):
        for change, pattern in (({"model_type": "gpt2"}, "gpt2"),
                                ({"hidden_act": "sparkle"}, "sparkle"),
                                ({"num_attention_heads": 3}, "num_attention_heads|heads"),
                                ({"num_hidden_layers": 100000}, "num_hidden_layers|layers"),
                                ({"hidden_size": -16}, "hidden_size"),
                                ({"position_embedding_type": "relative_key"}, "relative_key")):
            self.refused(self.write("kind", values=tiny.config(**change)), pattern)

    def test_a_configuration_that_is_no_json_is_refused(self):
        model = self.write("text")
        for content in (b"", b"{", b"[]", b"\xff\xfe", b"[" * 100000):
            (model / "config.json").write_bytes(content)
            self.refused(model, r"config\.json")


if __name__ == "__main__":
    unittest.main()
