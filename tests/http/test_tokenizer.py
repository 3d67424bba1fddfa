"""The tokenizer as the server uses it: truncation sides, files that ask for padding or truncation,
typed special tokens, and time that grows with the text and not faster."""
import pathlib
import tempfile
import time
import unittest

import harness
import tiny


class TokenizerTest(harness.ServerTest):
    def test_truncation_from_the_left_is_the_last_words_alone(self):
        words = (harness.DEMO / "vocab.txt").read_text(encoding="utf-8").split("\n")
        words = [word for word in words if word.isascii() and word.isalpha()][200:800]
        self.assertEqual(len(set(words)), 600)
        for side, kept in (("left", words[-510:]), ("right", words[:510])):
            cut = self.assert_ok(self.server.classify(" ".join(words), truncation_side=side))
            alone = self.assert_ok(self.server.classify(" ".join(kept)))
            self.assertEqual(cut["data"][0]["predictions"], alone["data"][0]["predictions"])
            self.assertEqual((cut["data"][0]["truncated"], cut["usage"]["prompt_tokens"]),
                             (True, 512))

    def test_512_tokens_pass_and_513_are_refused_with_both_numbers(self):
        self.assertEqual(self.assert_ok(self.server.classify("day " * 510, truncate=False))
                         ["usage"]["prompt_tokens"], 512)
        self.assert_error(self.server.classify("day " * 511, truncate=False), 422,
                          "input_too_long", "input", r"\b513\b.*\b512\b|\b512\b.*\b513\b")
        body = self.assert_ok(self.server.classify("day " * 511, truncate=True))
        self.assertTrue(body["data"][0]["truncated"])

    def test_typed_special_tokens_are_tokens(self):
        for text, tokens in (("hello[SEP]world", 5), ("[MASK]hello", 4), ("a [PAD] b", 5),
                             ("[CLS][CLS]", 4)):
            self.assertEqual(self.server.classify(text).json()["data"][0]["tokens"], tokens)
        lower = self.server.classify("hello [sep] world").json()["data"][0]["tokens"]
        self.assertGreater(lower, 5)

    def test_one_endless_word_takes_time_that_grows_with_its_length(self):
        def best(size):
            times = []
            for _ in range(3):
                started = time.monotonic()
                answer = self.assert_ok(self.server.classify("a" * size))
                times.append(time.monotonic() - started)
                self.assertEqual(answer["data"][0]["tokens"], 3)
            return min(times)
        small, large = best(250000), best(1000000)
        self.assertLess(large, 6 * small + 0.02)
        self.assertLess(large, 2 * harness.SLOWNESS)

    def test_other_requests_keep_their_latency_beside_endless_texts(self):
        stop = []

        def feed():
            while not stop:
                self.assertEqual(self.server.classify(["a" * 1000000] * 4).status, 200)

        def ask():
            times = []
            with self.server.connect() as connection:
                for _ in range(40):
                    started = time.monotonic()
                    self.assertEqual(connection.classify(self.PLAIN).data(), self.plain)
                    times.append(time.monotonic() - started)
            stop.append(True)
            return sorted(times)
        _, times = harness.in_threads([feed, ask])
        self.assertLess(times[len(times) // 2], 0.25 * harness.SLOWNESS)

    def test_a_long_text_of_every_kind_of_character_is_answered(self):
        text = "".join(chr(c) for c in range(1, 0x11000, 3) if not 0xD800 <= c < 0xE000)
        self.assertTrue(self.assert_ok(self.server.classify(text))["data"][0]["truncated"])


class FilesTest(unittest.TestCase):
    """What tokenizer.json bakes in does not count in serving."""

    def test_padding_and_truncation_of_the_file_do_not_count(self):
        content = tiny.tokenizer()
        content["truncation"] = {"direction": "Right", "max_length": 8, "stride": 0,
                                 "strategy": "LongestFirst"}
        content["padding"] = {"strategy": {"Fixed": 32}, "direction": "Right", "pad_id": 0,
                              "pad_type_id": 0, "pad_to_multiple_of": None, "pad_token": "[PAD]"}
        with tempfile.TemporaryDirectory() as folder:
            plain = tiny.write(pathlib.Path(folder) / "plain")
            baked = tiny.write(pathlib.Path(folder) / "baked", tokenizer_json=content)
            answers = []
            for model in (plain, baked):
                with harness.Server(model=model) as server:
                    answers.append(server.classify(["hello", "hello " * 30, "good " * 500]))
            for answer in answers:
                self.assertEqual([i["tokens"] for i in answer.json()["data"]], [3, 32, 64])
            self.assertEqual(answers[0].data(), answers[1].data())

    def test_an_absurd_limit_in_the_tokenizers_settings_is_no_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in ("1000000000000000019884624838656", "512", "64"):
                settings = '{"model_max_length": %s, "tokenizer_class": "BertTokenizer"}' % number
                model = tiny.write(pathlib.Path(folder) / "model",
                                   extra={"tokenizer_config.json": settings.encode()})
                with harness.Server(model=model) as server:
                    self.assertEqual(server.get("/v1/models").json()["data"][0]["max_tokens"], 64)
                    item = server.classify("good " * 100).json()["data"][0]
                    self.assertEqual((item["tokens"], item["truncated"]), (64, True))


if __name__ == "__main__":
    unittest.main()
