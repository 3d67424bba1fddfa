"""POST /v1/classify: every field of the body, and the answer's shape and numbers. Expected numbers
come from the reference logits of the demo model's labelled texts."""
import json
import math
import re
import struct
import time
import unittest

import harness

LABELS = 28
CLS, SEP = 2, 3


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def softmax(values):
    top = max(values)
    parts = [math.exp(v - top) for v in values]
    return [p / sum(parts) for p in parts]


def to_float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def digits_of(text):
    """How many significant digits a decimal has."""
    mantissa = text.lower().split("e")[0].lstrip("-").replace(".", "").lstrip("0").rstrip("0")
    return len(mantissa)


def fewest_digits(x):
    for precision in range(1, 10):
        text = "%.*g" % (precision, x)
        if to_float32(float(text)) == x:
            return digits_of(text)
    raise AssertionError("not a float32: %r" % x)


class ClassifyTest(harness.ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = harness.real_texts(40)

    def by_index(self, item):
        self.assertEqual(len(item["predictions"]), LABELS)
        return [p["score"] for p in sorted(item["predictions"], key=lambda p: p["index"])]

    def assert_scores(self, item, expected, absolute=1e-4, relative=1e-4):
        for got, want in zip(self.by_index(item), expected, strict=True):
            self.assertLessEqual(abs(got - want), absolute + relative * abs(want))

    # --- input ---

    def test_a_text_has_the_reference_scores(self):
        for row in self.rows:
            item = self.assert_ok(self.server.classify(row["text"]))["data"][0]
            self.assert_scores(item, [sigmoid(x) for x in row["logits"]])
            self.assertEqual(item["tokens"], len(row["ids"]))

    def test_an_array_of_texts_is_a_batch_in_order(self):
        texts = [row["text"] for row in self.rows]
        body = self.assert_ok(self.server.classify(texts))
        self.assertEqual([item["index"] for item in body["data"]], list(range(len(texts))))
        for item, row in zip(body["data"], self.rows, strict=True):
            self.assert_scores(item, [sigmoid(x) for x in row["logits"]])

    def test_two_texts_are_a_batch_and_never_a_pair(self):
        body = self.assert_ok(self.server.classify(["hello", "world"]))
        self.assertEqual([item["tokens"] for item in body["data"]], [3, 3])

    def test_a_batch_of_one_answers_as_the_text_alone(self):
        self.assertEqual(self.server.classify(["hello there"]).data(),
                         self.server.classify("hello there").data())

    def test_inputs_is_another_spelling_of_input(self):
        for value in ("hello there", ["hello", "there"], [CLS, 3073, SEP]):
            other = self.server.post("/v1/classify", {"inputs": value})
            self.assert_ok(other)
            self.assertEqual(other.data(), self.server.classify(value).data())

    def test_a_pair_counts_three_special_tokens_and_is_not_the_typed_separator(self):
        pair = self.server.classify({"text": "hello", "text_pair": "world"})
        typed = self.server.classify("hello[SEP]world")
        self.assertEqual(self.assert_ok(pair)["data"][0]["tokens"], 5)
        self.assertEqual(self.assert_ok(typed)["data"][0]["tokens"], 5)
        self.assertNotEqual(pair.data(), typed.data())

    def test_an_object_with_only_a_text_answers_as_the_text(self):
        self.assertEqual(self.server.classify({"text": "hello there"}).data(),
                         self.server.classify("hello there").data())

    def test_a_flat_array_of_integers_is_one_text_used_as_given(self):
        for row in self.rows[:8]:
            ids = self.server.classify(row["ids"])
            self.assertEqual(len(self.assert_ok(ids)["data"]), 1)
            self.assertEqual(ids.data(), self.server.classify(row["text"]).data())
        bare = self.assert_ok(self.server.classify([3073, 1023]))
        self.assertEqual(bare["data"][0]["tokens"], 2)

    def test_an_array_may_mix_texts_pairs_and_id_arrays(self):
        parts = ["hello", {"text": "hello", "text_pair": "world"}, [CLS, 3073, SEP], "", "x"]
        mixed = self.assert_ok(self.server.classify(parts))["data"]
        self.assertEqual(len(mixed), len(parts))
        for index, part in enumerate(parts):
            alone = self.assert_ok(self.server.classify(part))["data"][0]
            self.assertEqual(dict(alone, index=index), mixed[index])

    def test_an_empty_string_is_a_text_of_two_tokens(self):
        for text in ("", " \t\n\u00a0", "\u0301"):
            body = self.assert_ok(self.server.classify(text))
            self.assertEqual(body["data"][0]["tokens"], 2)
            self.assertEqual(body["usage"], {"prompt_tokens": 2, "total_tokens": 2})

    def test_the_model_may_be_named(self):
        body = self.assert_ok(self.server.classify("hello", model=harness.DEMO.name))
        self.assertEqual(body["model"], harness.DEMO.name)

    # --- what is returned ---

    def test_the_answer_has_exactly_the_documented_keys_in_order(self):
        before = int(time.time())
        body = self.assert_ok(self.server.classify(["hello", "world"]))
        self.assertEqual(list(body), ["id", "object", "created", "model", "activation", "data",
                                      "usage"])
        self.assertRegex(body["id"], r"^cls-.+")
        self.assertEqual((body["object"], body["activation"]), ("list", "sigmoid"))
        self.assertIn(body["created"], range(before - 1, int(time.time()) + 2))
        for item in body["data"]:
            self.assertEqual(list(item), ["object", "index", "label", "score", "predictions",
                                          "tokens", "truncated"])
            self.assertEqual((item["object"], item["truncated"]), ("classification", False))
            for prediction in item["predictions"]:
                self.assertEqual(list(prediction), ["label", "score", "index"])
            first = item["predictions"][0]
            self.assertEqual((item["label"], item["score"]), (first["label"], first["score"]))
        self.assertEqual(list(body["usage"].items()), [("prompt_tokens", 6), ("total_tokens", 6)])

    def test_predictions_stand_by_score_and_cover_every_label_once(self):
        names = json.loads((harness.DEMO / "config.json").read_text())["id2label"]
        for item in self.assert_ok(self.server.classify([r["text"] for r in self.rows]))["data"]:
            keys = [(-p["score"], p["index"]) for p in item["predictions"]]
            self.assertEqual(keys, sorted(keys))
            self.assertEqual({str(p["index"]): p["label"] for p in item["predictions"]}, names)

    def test_scores_are_the_shortest_decimals_of_a_float32(self):
        for activation in ("sigmoid", "softmax", "none"):
            answer = self.server.classify([r["text"] for r in self.rows], activation=activation)
            numbers = re.findall(rb'"score":([^,}]+)', answer.body)
            self.assertEqual(len(numbers), len(self.rows) * (LABELS + 1))
            for number in {n.decode() for n in numbers}:
                single = to_float32(float(number))
                self.assertEqual(digits_of(number), fewest_digits(single), number)

    def test_every_answer_has_its_own_id(self):
        ids = {self.server.classify("hello").json()["id"] for _ in range(20)}
        self.assertEqual(len(ids), 20)

    def test_a_request_id_is_echoed_or_made(self):
        answer = self.server.post("/v1/classify", {"input": "a"}, [("X-Request-Id", "abc-123.7")])
        self.assertEqual(answer.header("x-request-id"), "abc-123.7")
        made = [self.server.classify("a").header("x-request-id") for _ in range(2)]
        self.assertTrue(all(made))
        self.assertNotEqual(*made)

    def test_server_timing_names_the_phases_and_fits_in_the_clients_time(self):
        started = time.monotonic()
        answer = self.server.classify([row["text"] for row in self.rows])
        passed_ms = (time.monotonic() - started) * 1000
        timing = answer.timing_ms()
        self.assertEqual(list(timing), ["tokenize", "queue", "compute"])
        self.assertGreater(timing["compute"], 0)
        self.assertTrue(all(value >= 0 for value in timing.values()), timing)
        self.assertLessEqual(sum(timing.values()), passed_ms)

    # --- top_k, threshold, activation ---

    def test_top_k_keeps_the_best_and_above_the_labels_keeps_all(self):
        whole = self.server.classify("I am so happy").json()["data"][0]["predictions"]
        for top_k in (1, 3, 27, 28, 29, 1000000):
            item = self.assert_ok(self.server.classify("I am so happy", top_k=top_k))["data"][0]
            self.assertEqual(item["predictions"], whole[:top_k])

    def test_a_threshold_drops_labels_below_it_under_every_activation(self):
        for activation in ("auto", "sigmoid", "softmax", "none"):
            whole = self.server.classify("I love it", activation=activation).json()["data"][0]
            cut = whole["predictions"][2]["score"]
            item = self.assert_ok(self.server.classify("I love it", activation=activation,
                                                       threshold=cut))["data"][0]
            kept = [p for p in whole["predictions"] if p["score"] >= cut]
            self.assertEqual(item["predictions"], kept)

    def test_the_label_is_the_best_even_when_the_threshold_drops_it(self):
        whole = self.server.classify("I love it").json()["data"][0]
        item = self.assert_ok(self.server.classify("I love it", threshold=1.5))["data"][0]
        self.assertEqual(item["predictions"], [])
        self.assertEqual((item["label"], item["score"]), (whole["label"], whole["score"]))

    def test_threshold_and_top_k_together_keep_what_both_keep(self):
        whole = self.server.classify("I love it").json()["data"][0]["predictions"]
        cut = whole[4]["score"]
        for top_k, kept in ((2, 2), (20, 5)):
            item = self.server.classify("I love it", threshold=cut, top_k=top_k).json()["data"][0]
            self.assertEqual(item["predictions"], whole[:kept])

    def test_threshold_model_uses_each_labels_own(self):
        own = json.loads((harness.DEMO / "thresholds.json").read_text())
        texts = [row["text"] for row in self.rows]
        whole = self.server.classify(texts).json()["data"]
        cut = self.assert_ok(self.server.classify(texts, threshold="model"))["data"]
        for all_of, some in zip(whole, cut, strict=True):
            self.assertEqual(some["predictions"], [p for p in all_of["predictions"]
                                                   if p["score"] >= to_float32(own[p["label"]])])
        self.assertGreater(sum(len(item["predictions"]) for item in cut), 0)

    def test_each_activation_has_its_own_numbers(self):
        for row in self.rows[:10]:
            for activation, expected in (("none", row["logits"]),
                                         ("sigmoid", [sigmoid(x) for x in row["logits"]]),
                                         ("auto", [sigmoid(x) for x in row["logits"]]),
                                         ("softmax", softmax(row["logits"]))):
                body = self.assert_ok(self.server.classify(row["text"], activation=activation))
                self.assertEqual(body["activation"],
                                 "sigmoid" if activation == "auto" else activation)
                self.assert_scores(body["data"][0], expected)

    # --- truncation ---

    def words(self, count):
        """A text of exactly `count` tokens without the special ones."""
        return " ".join(["good", "bad", "day", "night"][i % 4] for i in range(count))

    def test_a_text_of_exactly_the_limit_is_whole_and_one_more_is_cut_and_says_so(self):
        for count, truncated in ((510, False), (511, True), (2000, True)):
            item = self.assert_ok(self.server.classify(self.words(count)))["data"][0]
            self.assertEqual((item["tokens"], item["truncated"]), (512, truncated))

    def test_truncation_cuts_the_stated_side(self):
        words = self.words(600).split()
        words[0], words[-1] = "love", "hate"
        text = " ".join(words)
        for fields, kept in (({}, words[:510]), ({"truncation_side": "right"}, words[:510]),
                             ({"truncation_side": "left"}, words[-510:])):
            cut = self.assert_ok(self.server.classify(text, **fields))["data"][0]
            alone = self.assert_ok(self.server.classify(" ".join(kept)))["data"][0]
            self.assertEqual(cut["predictions"], alone["predictions"])
            self.assertTrue(cut["truncated"])

    def test_truncate_false_refuses_a_long_text_and_takes_one_of_the_limit(self):
        self.assert_ok(self.server.classify(self.words(510), truncate=False))
        self.assert_error(self.server.classify(self.words(511), truncate=False), 422,
                          "input_too_long", "input", r"513.*512|512.*513")
        self.assert_error(self.server.classify(["a", self.words(600)], truncate=False), 422,
                          "input_too_long", "input[1]", "602")

    def test_a_long_pair_is_cut_longest_first(self):
        pair = {"text": self.words(20), "text_pair": self.words(900)}
        item = self.assert_ok(self.server.classify(pair))["data"][0]
        self.assertEqual((item["tokens"], item["truncated"]), (512, True))
        whole = {"text": self.words(20), "text_pair": self.words(512 - 3 - 20)}
        self.assertEqual(item["predictions"],
                         self.server.classify(whole).json()["data"][0]["predictions"])

    # --- windows ---

    def windows(self, text, stride):
        """The windows of a text as arrays of token ids."""
        room, ids, found = 510, self.content_ids(text), []
        for start in range(0, len(ids), room - stride):
            found.append([CLS, *ids[start:start + room], SEP])
            if start + room >= len(ids):
                break
        return found

    def content_ids(self, text):
        vocab = (harness.DEMO / "vocab.txt").read_text(encoding="utf-8").split("\n")
        return [vocab.index(word) for word in text.split()]

    def test_windows_aggregate_the_scores_of_overlapping_parts(self):
        text = self.words(1300)
        for stride in harness.scaled((0, 64, 200), (64,)):
            windows = self.windows(text, stride)
            parts = [self.by_index(self.server.classify(ids).json()["data"][0])
                     for ids in windows]
            for aggregate, combine in (("max", max), ("mean", lambda v: sum(v) / len(v))):
                window = {"stride": stride, "aggregate": aggregate}
                body = self.assert_ok(self.server.classify(text, window=window))
                item = body["data"][0]
                self.assert_scores(item, [combine(v) for v in zip(*parts, strict=True)],
                                   1e-6, 1e-6)
                self.assertEqual(item["tokens"], sum(map(len, windows)))
                self.assertEqual(body["usage"]["prompt_tokens"], item["tokens"])
                self.assertFalse(item["truncated"])

    def test_a_window_over_a_short_text_changes_nothing(self):
        for aggregate in ("max", "mean"):
            answer = self.server.classify(["hello world", ""],
                                          window={"stride": 64, "aggregate": aggregate})
            self.assert_ok(answer)
            self.assertEqual(answer.data(), self.server.classify(["hello world", ""]).data())

    def test_a_windowed_batch_answers_each_text_as_alone(self):
        texts = ["hello", self.words(700), "world", self.words(511)]
        window = {"stride": 32, "aggregate": "max"}
        batch = self.assert_ok(self.server.classify(texts, window=window))["data"]
        for index, text in enumerate(texts):
            alone = self.server.classify(text, window=window).json()["data"][0]
            self.assertEqual(dict(alone, index=index), batch[index])


class GoldenTest(harness.ServerTest):
    """The example that the project's README shows."""
    TEXT = "I love this, thank you so much!"

    def test_the_readme_example_has_love_first(self):
        item = self.assert_ok(self.server.classify(self.TEXT))["data"][0]
        self.assertEqual(item["label"], "love")
        self.assertEqual(round(item["score"], 3), 0.973)

    def test_curls_form_type_and_json_and_no_type_give_the_same_bytes(self):
        body = json.dumps({"input": self.TEXT}).encode()
        answers = [self.server.post("/v1/classify", body, headers)
                   for headers in ([], [("Content-Type", "application/json")],
                                   [("Content-Type", "application/json; charset=utf-8")],
                                   [("Content-Type", "application/x-www-form-urlencoded")])]
        for answer in answers:
            self.assert_ok(answer)
            self.assertEqual(answer.data(), answers[0].data())


class TruncateOptionTest(harness.ServerTest):
    """--truncate false is the default of a body that does not say."""
    options = ("--truncate", "false")

    def test_the_servers_default_holds_unless_the_body_says_otherwise(self):
        text = "good " * 600
        self.assert_error(self.server.classify(text), 422, "input_too_long", "input")
        item = self.assert_ok(self.server.classify(text, truncate=True))["data"][0]
        self.assertTrue(item["truncated"])


if __name__ == "__main__":
    unittest.main()
