"""Every error code: HTTP status, content type, code and param of the error object; and after each
refusal nothing was computed and the server goes on."""
import json
import re
import tempfile
import unittest

import harness
import tiny

BODY_MAX = 65536
TOKENS_MAX = 1000
INPUTS_MAX = 50


class ErrorsTest(harness.ServerTest):
    options = ("--max-body", str(BODY_MAX), "--max-call-tokens", str(TOKENS_MAX),
               "--max-call-inputs", str(INPUTS_MAX))

    def refused(self, body, status, code, param=None, message=None):
        before = self.server.metric("bertd_inputs_total")
        self.assert_error(self.server.post("/v1/classify", body), status, code, param, message)
        self.assertEqual(self.server.metric("bertd_inputs_total"), before)

    # --- 400: JSON ---

    def test_invalid_json_is_told_by_line_and_column(self):
        for body, line in ((b"", None), (b"{", 1), (b'{"input": "a",\n  oops}', 2),
                           (b'{"input":"a"} x', 1), (b'{"input":"a",}', 1), (b"{'input':'a'}", 1),
                           (b'{"input":"a\nb"}', 1), (b'{"input":"\\x"}', 1),
                           (b'{"input":"a","threshold":NaN}', 1), (b'\n\n\n{"input":01}', 4)):
            message = None if line is None else r"(?i)line %d\b.*column \d+" % line
            self.refused(body, 400, "invalid_json", None, message)

    def test_a_body_that_is_no_object_is_invalid(self):
        for body in (b"[]", b'"text"', b"5", b"null", b"true"):
            response = self.server.post("/v1/classify", body)
            self.assertIn(response.json()["error"]["code"], ("invalid_type", "invalid_json"))
            self.assertEqual(response.status, 400)

    def test_a_key_given_twice_is_refused_at_every_depth(self):
        for body in (b'{"input":"hello","input":"world"}',
                     b'{"input":{"text":"a","text":"b"}}',
                     b'{"input":"a","window":{"stride":1,"stride":1}}',
                     b'{"input":"a","inpu\\u0074":"b"}'):
            self.refused(body, 400, "invalid_json")

    def test_input_and_inputs_together_are_refused(self):
        for body in ({"input": "a", "inputs": "b"}, {"inputs": "a", "input": "a"}):
            response = self.server.post("/v1/classify", body)
            self.assertEqual(response.status, 400, response)
            self.assertRegex(response.json()["error"]["message"], "input.*inputs")

    def test_nesting_over_the_limit_is_refused_quickly(self):
        for depth in (17, BODY_MAX - 100):
            self.refused(b"[" * depth, 400, "invalid_json")
            self.refused(b'{"input":' + b"[" * depth, 400, "invalid_json")

    # --- 400: fields ---

    def test_an_unknown_field_is_named_with_the_nearest_known_one(self):
        for field, nearest in (("topk", "top_k"), ("imput", "input"), ("treshold", "threshold"),
                               ("Activation", "activation"), ("windows", "window")):
            self.refused({"input": "a", field: 1}, 400, "unknown_field", field,
                         "%s.*%s" % (re.escape(field), nearest))
        self.refused({"input": {"text": "a", "textpair": "b"}}, 400, "unknown_field",
                     "input.textpair", "text_pair")
        self.refused({"input": "a", "window": {"strides": 3}}, 400, "unknown_field",
                     "window.strides", "stride")

    def test_a_body_without_input_misses_it(self):
        for body in ({}, {"top_k": 3}):
            self.refused(body, 400, "missing_field", "input")

    def test_input_of_a_wrong_type_is_named_down_to_the_element(self):
        for value, param in ((5, "input"), (None, "input"), (True, "input"), ({}, "input"),
                             ([1, "a"], "input[1]"), (["a", 5], "input[1]"),
                             (["a", None], "input[1]"), (["a", "b", {}], "input[2]"),
                             ([1, 2, 3.5], "input[2]"), ([1, True], "input[1]"),
                             ([["a"]], "input[0]"), (["x", [1, "a"]], "input[1][1]")):
            response = self.server.classify(value)
            self.assertEqual(response.status, 400, (value, response))
            error = response.json()["error"]
            self.assertIn(error["code"], ("invalid_type", "invalid_value", "missing_field"), value)
            self.assertTrue((error["param"] or "").startswith(param), (value, error))

    def test_other_fields_of_a_wrong_type_are_invalid_type(self):
        for field, value in (("model", 5), ("top_k", "3"), ("top_k", [1]),
                             ("threshold", [0.5]), ("threshold", True), ("activation", 5),
                             ("truncate", "yes"), ("truncate", 1), ("truncation_side", 1),
                             ("window", 64), ("window", True)):
            self.refused({"input": "a", field: value}, 400, "invalid_type", field)
        for field, value in (("stride", "64"), ("aggregate", 1)):
            self.refused({"input": "a", "window": {field: value}}, 400, "invalid_type",
                         "window." + field)

    def test_values_out_of_range_are_invalid_value(self):
        for field, value in (("top_k", 0), ("top_k", -1), ("top_k", 2.5), ("threshold", "best"),
                             ("activation", "relu"), ("activation", ""),
                             ("truncation_side", "middle")):
            self.refused({"input": "a", field: value}, 400, "invalid_value", field)
        for field, value in (("stride", -1), ("stride", 510), ("stride", 512),
                             ("stride", 10 ** 9), ("aggregate", "median")):
            self.refused({"input": "a", "window": {field: value}}, 400, "invalid_value",
                         "window." + field)

    def test_numbers_too_large_for_any_type_are_refused(self):
        for field, value in (("top_k", "123456789012345678901234567890"), ("threshold", "1e999"),
                             ("top_k", "1e400")):
            body = ('{"input":"hello","%s":%s}' % (field, value)).encode()
            response = self.server.post("/v1/classify", body)
            self.assertEqual(response.status, 400, response)
            self.assertIn(response.json()["error"]["code"],
                          ("invalid_value", "invalid_json", "invalid_type"))

    def test_a_token_id_outside_the_vocabulary_is_refused_by_place(self):
        for ids in ([2, 19734, 3], [2, -1, 3], [2, 2147483647, 3], [2, 4294967298, 3]):
            response = self.server.classify(ids)
            self.assertEqual(response.status, 400, response)
            self.assertEqual(response.json()["error"]["code"], "invalid_value")
            response = self.server.classify(["a", ids])
            self.assertEqual(response.status, 400, response)
            self.assertTrue(response.json()["error"]["param"].startswith("input[1]"), response)
        self.assert_ok(self.server.classify([2, 19733, 3]))

    def test_an_empty_array_is_empty_input(self):
        self.refused({"input": []}, 400, "empty_input", "input")
        self.refused({"inputs": []}, 400, "empty_input", "input")
        self.refused({"input": ["a", []]}, 400, "empty_input", "input[1]")

    def test_one_bad_input_refuses_the_whole_call(self):
        self.refused({"input": ["good", "good", 7]}, 400, "invalid_type", "input[2]")

    # --- 404, 405, 411, 414, 415, 417, 431 ---

    def test_unknown_paths_are_not_found(self):
        for path in ("/", "/v1", "/v1/classify/", "/V1/classify", "/v1/classifyx", "//v1/classify",
                     "/%2e%2e/etc/passwd"):
            self.assert_error(self.server.get(path), 404, "not_found")
            self.assert_error(self.server.post(path, {"input": "a"}), 404, "not_found")

    def test_an_unknown_model_is_not_found(self):
        self.refused({"input": "a", "model": "other"}, 404, "model_not_found", "model", "other")

    def test_a_wrong_method_is_told_with_the_allowed_ones(self):
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            response = self.server.exchange(method, "/v1/classify")
            self.assert_error(response, 405, "method_not_allowed")
            self.assertEqual(response.header("allow"), "POST")
        for path in ("/livez", "/readyz", "/health", "/metrics", "/v1/models", "/info"):
            response = self.server.post(path, {})
            self.assert_error(response, 405, "method_not_allowed")
            self.assertIn("GET", re.split(r",\s*", response.header("allow")))

    def test_other_media_types_are_refused(self):
        for value in ("text/plain", "application/xml", "multipart/form-data; boundary=x",
                      "application/jsonx"):
            response = self.server.post("/v1/classify", {"input": "a"}, [("Content-Type", value)])
            self.assert_error(response, 415, "unsupported_media_type", None, value.split(";")[0])

    def test_json_in_another_charset_is_refused(self):
        for charset in ("utf-16", "UTF-16", "iso-8859-1", '"latin1"', ""):
            for between in ("; ", ";", ";x=y; "):
                value = "application/json%scharset=%s" % (between, charset)
                response = self.server.post("/v1/classify", {"input": "a"},
                                            [("Content-Type", value)])
                self.assert_error(response, 415, "unsupported_media_type", None, "utf-8")
        for more in ("; charset=utf-8", ';charset="UTF-8"', "; x=charset", "; Charset=Utf-8 ;a=b"):
            self.assert_ok(self.server.post("/v1/classify", {"input": "a"},
                                            [("Content-Type", "application/json" + more)]))

    def test_a_whole_number_out_of_range_is_told_the_range(self):
        for value in ("9223372036854775808", "0", "1e300"):
            response = self.server.post("/v1/classify",
                                        b'{"input":"a","top_k":%s}' % value.encode())
            self.assert_error(response, 400, "invalid_value", "top_k",
                              "from 1 to 9223372036854775807")
        self.assert_ok(self.server.post("/v1/classify", b'{"input":"a","top_k":1e18}'))
        response = self.server.post("/v1/detokenize", {"ids": [1, 4294967301]})
        self.assert_error(response, 400, "invalid_value", "ids[1]", "from 0 to 4294967295")

    def test_content_codings_are_refused_by_name(self):
        for value in ("gzip", "br", "gzip, gzip"):
            response = self.server.post("/v1/classify", b"\x1f\x8b\x08", [
                ("Content-Encoding", value), ("Content-Type", "application/json")])
            self.assert_error(response, 415, "unsupported_media_type", None, value)

    def test_a_post_without_length_is_told_so(self):
        response = self.server.exchange("POST", "/v1/classify")
        self.assertEqual((response.status, response.header("content-type")),
                         (411, "application/json"), response)

    def test_a_target_that_is_too_long_is_told_so(self):
        response = self.server.exchange("POST", "/v1/classify?q=" + "x" * 20000, b'{"input":"a"}')
        self.assertEqual(response.status, 414, response)
        self.assertEqual(response.header("content-type"), "application/json")

    def test_an_unknown_expectation_fails(self):
        response = self.server.post("/v1/classify", {"input": "a"}, [("Expect", "tea")])
        self.assertEqual((response.status, response.header("content-type")),
                         (417, "application/json"), response)

    def test_headers_that_are_too_large_are_told_so_and_8_kb_are_not(self):
        response = self.server.post("/v1/classify", {"input": "a"}, [("X-Big", "x" * 40960)])
        self.assertEqual((response.status, response.header("content-type")),
                         (431, "application/json"), response)
        self.assert_ok(self.server.post("/v1/classify", {"input": "a"},
                                        [("Authorization", "Bearer " + "x" * 8192)]))

    def test_a_request_timeout_must_be_a_number_above_zero(self):
        for value in ("0", "-5", "soon", "1.5", ""):
            response = self.server.post("/v1/classify", {"input": "a"},
                                        [("X-Request-Timeout-Ms", value)])
            self.assert_error(response, 400, "invalid_value")

    # --- 413 ---

    def body_of(self, size):
        frame = json.dumps({"input": ""}).encode()
        return frame[:-2] + b" " * (size - len(frame)) + frame[-2:]

    def test_only_a_body_over_the_limit_is_too_large(self):
        for size in (BODY_MAX - 1, BODY_MAX):
            self.assert_ok(self.server.post("/v1/classify", self.body_of(size)))
        self.refused(self.body_of(BODY_MAX + 1), 413, "body_too_large", None, str(BODY_MAX))

    def test_a_chunked_body_over_the_limit_is_too_large(self):
        for size, status in ((BODY_MAX, 200), (BODY_MAX + 1, 413)):
            body = self.body_of(size)
            pieces = [body[i:i + 5000] for i in range(0, size, 5000)]
            chunked = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
            response = self.server.exchange("POST", "/v1/classify", chunked,
                                            [("Transfer-Encoding", "chunked")])
            self.assertEqual(response.status, status, response)
        self.assert_error(response, 413, "body_too_large")

    def test_too_many_inputs_are_counted(self):
        self.assert_ok(self.server.classify(["a"] * INPUTS_MAX))
        self.refused({"input": ["a"] * (INPUTS_MAX + 1)}, 413, "too_many_inputs", "input",
                     "%d.*%d" % (INPUTS_MAX + 1, INPUTS_MAX))

    def test_a_call_over_the_token_limit_is_refused_by_exact_count(self):
        fits = ["good " * 498, "good " * 498]
        body = self.assert_ok(self.server.classify(fits))
        self.assertEqual(body["usage"]["prompt_tokens"], TOKENS_MAX)
        self.refused({"input": ["good " * 498, "good " * 499]}, 413, "call_too_large", None,
                     str(TOKENS_MAX))

    # --- 504 ---

    def test_a_deadline_that_passes_is_504(self):
        late = 0
        with self.server.connect() as connection:
            for _ in range(20):
                answer = connection.post("/v1/classify", {"input": ["good " * 498] * 2},
                                         [("X-Request-Timeout-Ms", "1")])
                if answer.status != 200:
                    self.assert_error(answer, 504, "deadline_exceeded")
                    late += 1
        self.assertGreater(late, 0)


class NotFiniteTest(unittest.TestCase):
    """A checkpoint with one NaN weight."""

    def test_a_result_that_is_not_finite_is_a_500_with_the_request_id_of_the_log(self):
        values = tiny.config()
        tensors = tiny.weights(values)
        numbers = [0.25] * 48
        numbers[20] = float("nan")
        tensors["classifier.weight"] = tiny.floats([3, 16], numbers)
        with tempfile.TemporaryDirectory() as folder:
            model = tiny.write(folder + "/nan", values, tensors)
            # A server may refuse such a model when it warms up, or serve it with errors.
            server = harness.Server(model=model)
            with server:
                for _ in range(3):
                    answer = server.post("/v1/classify", {"input": "hello"},
                                         [("X-Request-Id", "find-me-7")])
                    error = answer.json()["error"]
                    self.assertEqual((answer.status, error["code"]), (500, "not_finite"))
                    self.assertIn("find-me-7", error["message"])
                    self.assertNotIn(b"NaN", answer.body)
                harness.wait_until(lambda: "find-me-7" in server.errors(), "the log line")


class OptionsTest(unittest.TestCase):
    """What `serve` refuses before it starts: status 2 and one line that names the option."""

    def refused(self, arguments, pattern, env=None):
        status, out, errors = harness.run("serve", *arguments, env=env)
        self.assertEqual((status, out), (2, b""), errors)
        self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        self.assertRegex(errors, pattern)

    def test_unknown_options_are_refused_with_the_nearest(self):
        self.refused(("--prot", "1"), "--prot.*--port")
        for later in ("--api-key", "--tls-cert", "--admin-port"):
            self.refused((later, "x"), later)

    def test_bad_values_are_refused_by_name(self):
        self.refused(("--port", "70000"), "--port.*70000")
        self.refused(("--max-body", "lots"), "--max-body.*lots")
        self.refused(("--timeout", "5 weeks"), "--timeout.*5 weeks")
        self.refused(("--truncate", "maybe"), "--truncate.*maybe")
        self.refused(("--dtype", "fp16"), "--dtype.*fp16")
        self.refused(("--layers-per-stage",), "--layers-per-stage")

    def test_variables_are_options_and_are_checked_alike(self):
        self.refused((), "BERTD_MAX_BODY|--max-body", {"BERTD_MAX_BODY": "lots"})
        with harness.Server("--max-call-inputs", "3", env={"BERTD_MAX_CALL_INPUTS": "2",
                                                           "BERTD_MAX_BODY": "2K"}) as server:
            self.assertEqual(server.classify(["a", "b", "c"]).status, 200)
            self.assertEqual(server.post("/v1/classify", b" " * 2049).status, 413)


if __name__ == "__main__":
    unittest.main()
