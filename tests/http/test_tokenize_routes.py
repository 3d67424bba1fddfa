"""POST /v1/tokenize and /v1/detokenize, and text-embeddings-inference's /tokenize and /decode.
Expected ids, offsets and texts come from the pinned `tokenizers` with the demo vocabulary."""
import time

import harness

TEXT = "Caf\u00e9 isn't unbelievable \U0001f600!"
IDS = [2, 6674, 2481, 11, 62, 16503, 1, 5, 3]
TOKENS = ["[CLS]", "cafe", "isn", "'", "t", "unbelievable", "[UNK]", "!", "[SEP]"]
OFFSETS = [[0, 0], [0, 4], [5, 8], [8, 9], [9, 10], [11, 23], [24, 25], [25, 26], [0, 0]]
SPECIAL = [1, 0, 0, 0, 0, 0, 0, 0, 1]
PAIR = {"text": "I love it", "text_pair": "No, thanks"}
PAIR_IDS = [2, 51, 1299, 1015, 3, 1059, 16, 3289, 3]


class NativeTest(harness.ServerTest):
    def tokenize(self, **body):
        return self.server.post("/v1/tokenize", body)

    def detokenize(self, **body):
        return self.server.post("/v1/detokenize", body)

    def test_a_text_has_ids_tokens_and_offsets_in_code_points(self):
        body = self.assert_ok(self.tokenize(input=TEXT))
        self.assertEqual(body["data"], [{
            "index": 0, "ids": IDS, "tokens": TOKENS, "offsets": OFFSETS, "type_ids": [0] * 9,
            "special_tokens_mask": SPECIAL, "truncated": False}])
        self.assertEqual(body["model"], self.server.get("/v1/models").json()["data"][0]["id"])

    def test_an_array_mixes_texts_and_pairs(self):
        body = self.assert_ok(self.tokenize(inputs=["", PAIR, {"text": "I love it"}]))
        self.assertEqual([item["ids"] for item in body["data"]],
                         [[2, 3], PAIR_IDS, [2, 51, 1299, 1015, 3]])
        self.assertEqual([item["index"] for item in body["data"]], [0, 1, 2])
        self.assertEqual(body["data"][1]["type_ids"], [0, 0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual(body["data"][1]["offsets"][5:8], [[0, 2], [2, 3], [4, 10]])

    def test_special_tokens_are_left_out_when_asked(self):
        item = self.assert_ok(self.tokenize(input=TEXT, add_special_tokens=False))["data"][0]
        self.assertEqual((item["ids"], item["offsets"]), (IDS[1:-1], OFFSETS[1:-1]))
        self.assertEqual(item["special_tokens_mask"], [0] * 7)

    def test_truncation_goes_to_the_limit_from_either_side_or_not_at_all(self):
        text = "hello " * 511 + "day"
        cut, left, whole = (
            self.assert_ok(self.tokenize(input=text, **fields))["data"][0]
            for fields in ({}, {"truncation_side": "left"}, {"truncate": False}))
        self.assertEqual([len(item["ids"]) for item in (cut, left, whole)], [512, 512, 514])
        self.assertEqual([item["truncated"] for item in (cut, left, whole)], [True, True, False])
        self.assertEqual(left["ids"][-2], whole["ids"][-2])
        self.assertNotEqual(cut["ids"][-2], whole["ids"][-2])

    def test_what_is_wrong_is_named(self):
        for fields, status, code, param in (
                ({}, 400, "missing_field", "input"),
                ({"input": []}, 400, "empty_input", "input"),
                ({"input": 3}, 400, "invalid_type", "input"),
                ({"input": ["a", [101]]}, 400, "invalid_type", "input[1]"),
                ({"input": ["a", {"text_pair": "b"}]}, 400, "invalid_type", "input[1]"),
                ({"input": ["a", {"text": "b", "textpair": "c"}]}, 400, "unknown_field",
                 "input[1].textpair"),
                ({"input": {"text": "b", "text_pair": 3}}, 400, "invalid_type",
                 "input.text_pair"),
                ({"input": "a", "inputs": "a"}, 400, "invalid_value", "inputs"),
                ({"input": "a", "special": 1}, 400, "unknown_field", "special"),
                ({"input": "a", "truncate": 1}, 400, "invalid_type", "truncate"),
                ({"input": "a", "model": "other"}, 404, "model_not_found", "model"),
                ({"input": ["a"] * 2049}, 413, "too_many_inputs", "input"),
                ({"input": "a " * 300000, "truncate": False}, 413, "call_too_large", None)):
            self.assert_error(self.tokenize(**fields), status, code, param)
        self.assert_error(self.server.exchange("POST", "/v1/tokenize", b"[1]"), 400,
                          "invalid_type")
        self.assert_error(self.server.exchange("POST", "/v1/tokenize", b"{"), 400, "invalid_json")
        self.assert_error(self.server.get("/v1/tokenize"), 405, "method_not_allowed")

    def test_ids_become_the_text_of_the_reference(self):
        self.assertEqual(self.assert_ok(self.detokenize(ids=IDS)),
                         {"text": "cafe isn ' t unbelievable!"})
        self.assertEqual(self.assert_ok(self.detokenize(ids=PAIR_IDS, skip_special_tokens=False)),
                         {"text": "[CLS] i love it [SEP] no, thanks [SEP]"})
        self.assertEqual(self.assert_ok(self.detokenize(ids=[])), {"text": ""})
        self.assertEqual(self.assert_ok(self.detokenize(ids=[51, 4000000, 2 ** 32 - 1, 1299])),
                         {"text": "i love"})
        body = self.assert_ok(self.detokenize(ids=[IDS, [], PAIR_IDS]))
        self.assertEqual(body["data"], [{"index": 0, "text": "cafe isn ' t unbelievable!"},
                                        {"index": 1, "text": ""},
                                        {"index": 2, "text": "i love it no, thanks"}])

    def test_wrong_ids_are_named(self):
        for fields, code, param in (
                ({}, "missing_field", "ids"), ({"ids": "a"}, "invalid_type", "ids"),
                ({"ids": [1, "a"]}, "invalid_type", "ids[1]"),
                ({"ids": [1, -1]}, "invalid_value", "ids[1]"),
                ({"ids": [1.5]}, "invalid_value", "ids[0]"),
                ({"ids": [[1], 2]}, "invalid_type", "ids[1]"),
                ({"ids": [[1], [2, None]]}, "invalid_type", "ids[1][1]"),
                ({"ids": [1], "skip": True}, "unknown_field", "skip")):
            self.assert_error(self.detokenize(**fields), 400, code, param)

    def test_a_long_body_does_not_hold_up_others(self):
        stop = []

        def feed():
            while not stop:
                self.assertEqual(self.tokenize(input="a b c " * 500000).status, 200)

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


class TeiTest(harness.ServerTest):
    def assert_tei_error(self, response, status, error_type):
        self.assertEqual(response.status, status, response)
        self.assertEqual(response.header("content-type"), "application/json", response)
        body = response.json()
        self.assertEqual(list(body), ["error", "error_type"], response)
        self.assertTrue(body["error"])
        self.assertEqual(body["error_type"], error_type, response)

    def test_tokenize_answers_lists_of_tokens_with_their_texts(self):
        expected = [{"id": 2, "text": "[CLS]", "special": True, "start": None, "stop": None},
                    {"id": 6674, "text": "Caf\u00e9", "special": False, "start": 0, "stop": 4},
                    {"id": 1, "text": "\U0001f600", "special": False, "start": 5, "stop": 6},
                    {"id": 3, "text": "[SEP]", "special": True, "start": None, "stop": None}]
        text = "Caf\u00e9 \U0001f600"
        self.assertEqual(self.assert_ok(self.server.post("/tokenize", {"inputs": text})),
                         [expected])
        body = {"inputs": [text, "I"], "add_special_tokens": False, "prompt_name": None,
                "whatever": 1}
        self.assertEqual(self.assert_ok(self.server.post("/tokenize", body)),
                         [expected[1:3],
                          [{"id": 51, "text": "I", "special": False, "start": 0, "stop": 1}]])

    def test_tokenize_cuts_nothing(self):
        tokens = self.assert_ok(self.server.post("/tokenize", {"inputs": "hello " * 600}))[0]
        self.assertEqual(len(tokens), 602)

    def test_decode_answers_a_list_of_texts(self):
        for ids, texts in ((IDS, ["cafe isn ' t unbelievable!"]),
                           ([PAIR_IDS, IDS], ["i love it no, thanks",
                                              "cafe isn ' t unbelievable!"])):
            self.assertEqual(self.assert_ok(self.server.post("/decode", {"ids": ids})), texts)
        body = {"ids": PAIR_IDS, "skip_special_tokens": False}
        self.assertEqual(self.assert_ok(self.server.post("/decode", body)),
                         ["[CLS] i love it [SEP] no, thanks [SEP]"])

    def test_errors_have_that_servers_shape(self):
        for path, body, status, error_type in (
                ("/tokenize", {}, 422, "Validation"),
                ("/tokenize", {"inputs": 3}, 422, "Validation"),
                ("/tokenize", {"inputs": ""}, 400, "Empty"),
                ("/tokenize", {"inputs": []}, 400, "Empty"),
                ("/tokenize", {"inputs": ["a", ""]}, 400, "Empty"),
                ("/tokenize", {"inputs": ["a"] * 2049}, 413, "Validation"),
                ("/tokenize", {"inputs": "a", "prompt_name": "query"}, 413, "Validation"),
                ("/decode", {}, 422, "Validation"), ("/decode", {"ids": []}, 400, "Empty"),
                ("/decode", {"ids": ["a"]}, 422, "Validation"),
                ("/decode", {"ids": [[1], []]}, 400, "Empty")):
            self.assert_tei_error(self.server.post(path, body), status, error_type)
        self.assert_tei_error(self.server.exchange("POST", "/tokenize", b"{"), 400, "Validation")
        self.assert_tei_error(self.server.get("/decode"), 405, "Validation")
