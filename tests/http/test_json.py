"""JSON bodies at the byte level: surrogates, NUL, invalid UTF-8, escapes, depth, white space."""
import time
import unittest

import harness


class JsonTest(harness.ServerTest):
    def text(self, raw):
        """The answer for a text given as the raw bytes between the quotes."""
        return self.server.post("/v1/classify", b'{"input":"' + raw + b'"}')

    def test_half_a_surrogate_pair_is_refused_and_never_comes_back(self):
        for raw in (rb"ok\ud83dbad", rb"\ud83d", rb"\ude00", rb"\ude00\ud83d", rb"\ud83d\u0041",
                    rb"\ud83d\ud83d\ude00"):
            for field in (b"input", b"inputs"):
                answer = self.server.post("/v1/classify", b'{"%s":"%s"}' % (field, raw))
                self.assertEqual(answer.status, 400, raw)
                self.assertIn(answer.json()["error"]["code"], ("invalid_json", "invalid_utf8"))
                answer.json()["error"]["message"].encode()  # a surrogate would not encode

    def test_a_surrogate_pair_is_the_code_point(self):
        escaped, raw = self.text(rb"so \ud83d\ude00 happy"), self.text("so 😀 happy".encode())
        self.assert_ok(escaped)
        self.assertEqual(escaped.data(), raw.data())

    def test_a_nul_is_data_and_never_an_end(self):
        for raw, same, tokens in ((rb"hello\u0000 world", "hello world", 4),
                                  (rb"hel\u0000lo", "hello", 3), (rb"\u0000hello", "hello", 3),
                                  (rb"hello\u0000", "hello", 3), (rb"\u0000", "", 2)):
            answer = self.text(raw)
            self.assertEqual(self.assert_ok(answer)["data"][0]["tokens"], tokens, raw)
            self.assertEqual(answer.data(), self.server.classify(same).data(), raw)

    def test_a_nul_in_keys_and_words_never_matches_the_cut_form(self):
        for body in (rb'{"input\u0000":"a"}', rb'{"input":"a","top_k\u0000x":1}',
                     rb'{"input":"a","activation":"softmax\u0000x"}',
                     rb'{"input":"a","threshold":"model\u0000"}'):
            answer = self.server.post("/v1/classify", body)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(answer.json()["error"]["code"],
                          ("unknown_field", "invalid_value", "invalid_json"))
        self.assertEqual(self.server.post(
            "/v1/classify", rb'{"input":"a","model":"goemotions-minilm\u0000"}').status, 404)

    def test_bytes_that_are_no_utf8_are_refused(self):
        for raw in (b"\xff", b"a\x80b", b"\xc3", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80",
                    b"\xf4\x90\x80\x80", b"\xf0\x80\x80\xaf", b"\xfe\xff"):
            self.assert_error(self.text(raw), 400, "invalid_utf8")

    def test_a_key_that_is_no_utf8_is_refused(self):
        self.assert_error(self.server.post("/v1/classify", b'{"inp\xffut":"a"}'), 400,
                          "invalid_utf8")

    def test_utf8_of_every_length_passes(self):
        for text in ("caf\u00e9", "\u20ac", "\U0001f600", "\u07ff\u0800\uffff\U0010ffff"):
            self.assertEqual(self.text(text.encode()).data(), self.server.classify(text).data())

    def test_escapes_mean_what_json_says(self):
        self.assertEqual(self.text(rb"\u0068\u0065llo \"w\\o\/rld\"\n\t\r\b\f").data(),
                         self.text(rb"hello \"w\\o/rld\"\u000a\u0009\u000d\u0008\u000c").data())

    def test_a_hundred_thousand_brackets_are_refused_in_milliseconds(self):
        for body in (b"[" * 100000, b'{"input":' + b"[" * 100000, b'{"a":' * 100000):
            started = time.monotonic()
            answer = self.server.post("/v1/classify", body)
            self.assertLess(time.monotonic() - started, 0.25 * harness.SLOWNESS)
            self.assert_error(answer, 400, "invalid_json")

    def test_white_space_around_everything_is_allowed(self):
        body = b' \r\n\t{ "input" : [ "hello world" ] , "top_k" : 28 } \n'
        self.assertEqual(self.server.post("/v1/classify", body).data(), self.plain)

    def test_a_byte_order_mark_is_refused(self):
        answer = self.server.post("/v1/classify", b'\xef\xbb\xbf{"input":"a"}')
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, "invalid_json"))

    def test_what_a_client_sent_comes_back_escaped(self):
        answer = self.server.post("/v1/classify",
                                  b'{"input":"a","q\\"<\\n\\u0001\xc3\xa9":1}')
        self.assert_error(answer, 400, "unknown_field", answer.json()["error"]["param"])
        self.assertIn("\u00e9", answer.json()["error"]["message"])

    def test_long_field_names_make_no_long_answers(self):
        answer = self.server.post("/v1/classify", {"input": "a", "\u00e9" * 50000: 1})
        self.assertEqual(answer.json()["error"]["code"], "unknown_field")
        self.assertLess(len(answer.body), 4096)

    def test_a_hundred_thousand_unknown_fields_are_refused_quickly(self):
        started = time.monotonic()
        answer = self.server.post("/v1/classify",
                                  dict({"x%d" % i: i for i in range(100000)}, input="a"))
        self.assertEqual(answer.status, 400)
        self.assertLess(time.monotonic() - started, 3 * harness.SLOWNESS)


if __name__ == "__main__":
    unittest.main()
