"""POST /v1/fill_mask and `bertd fill-mask`: the answers of the pipeline of transformers, what a
body may say, the other task's routes, and that the decoder shares the embedding's matrix."""
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import time
import unittest

import client
import harness
import masked

GOLDEN = harness.ROOT / "tests" / "golden" / "mask_models" / "tied"
TOLERANCE = 1e-4
KEPT_ENDS = 10


def golden_rows():
    return [json.loads(line) for line in (GOLDEN / "answers.jsonl").read_text().splitlines()]


class RouteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(model=GOLDEN)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, value, **fields):
        return self.server.post("/v1/fill_mask", {"input": value, **fields})

    def refused(self, response, status, code, param):
        self.assertEqual(response.status, status, response)
        error = response.json()["error"]
        self.assertEqual((error["code"], error["param"]), (code, param), response)
        return error["message"]

    def test_answers_are_those_of_the_pipeline(self):
        compared = 0
        for row in golden_rows():
            fields = {"top_k": row["top_k"]}
            if row["targets"] is not None:
                fields["targets"] = row["targets"]
            answer = self.ask(row["input"], **fields)
            if "error" in row:
                self.assertEqual(answer.status, 400, answer)
                continue
            item = answer.json()["data"][0]
            self.assertEqual(set(item), {"index", "masks", "tokens", "truncated"})
            self.assertEqual(len(item["masks"]), len(row["masks"]))
            for mine, wanted in zip(item["masks"], row["masks"]):
                if len(mine) > len(wanted):  # a long list is kept with its two ends only
                    self.assertEqual((len(mine), len(wanted)), (row["top_k"], 2 * KEPT_ENDS))
                    mine = mine[:KEPT_ENDS] + mine[-KEPT_ENDS:]
                self.assertEqual([(p["token"], p["token_str"], p["sequence"]) for p in mine],
                                 [(p["token"], p["token_str"], p["sequence"]) for p in wanted])
                for one, other in zip(mine, wanted):
                    self.assertLessEqual(abs(one["score"] - other["score"]),
                                         TOLERANCE * (1 + other["score"]))
                    compared += 1
        self.assertGreater(compared, 50)

    def test_the_envelope_is_that_of_the_other_routes(self):
        answer = self.ask(["the [MASK]", "a [MASK] of [MASK]"], top_k=2)
        body = answer.json()
        self.assertEqual(list(body), ["id", "object", "created", "model", "data", "usage"])
        self.assertEqual([item["index"] for item in body["data"]], [0, 1])
        self.assertEqual([[len(mask) for mask in item["masks"]] for item in body["data"]],
                         [[2], [2, 2]])
        tokens = sum(item["tokens"] for item in body["data"])
        self.assertEqual(body["usage"], {"prompt_tokens": tokens, "total_tokens": tokens})
        self.assertIn("compute", answer.timing_ms())

    def test_wrong_bodies_are_refused_by_field(self):
        text = "the [MASK]"
        for body, code, param in (
                ({"input": text, "top_k": 0}, "invalid_value", "top_k"),
                ({"input": text, "top_k": -3}, "invalid_value", "top_k"),
                ({"input": text, "top_k": 1.5}, "invalid_value", "top_k"),
                ({"input": text, "top_k": "3"}, "invalid_type", "top_k"),
                ({"input": text, "targets": 5}, "invalid_type", "targets"),
                ({"input": text, "targets": []}, "invalid_value", "targets"),
                ({"input": text, "targets": ["a", 5]}, "invalid_type", "targets[1]"),
                ({"input": text, "target": ["a"]}, "unknown_field", "target"),
                ({"input": text, "threshold": 0.5}, "unknown_field", "threshold"),
                ({"input": []}, "empty_input", "input"),
                ({}, "missing_field", "input")):
            self.refused(self.server.post("/v1/fill_mask", body), 400, code, param)
        self.assertEqual(self.server.exchange("GET", "/v1/fill_mask").status, 405)

    def test_a_text_without_a_mask_fails_its_call_and_is_named(self):
        message = self.refused(self.ask(["the [MASK]", "no mask here"]), 400, "invalid_value",
                               "input[1]")
        self.assertIn("[MASK]", message)

    def test_very_many_masks_and_predictions_have_a_limit(self):
        self.assertEqual(self.ask(["[MASK] " * 20] * 4, top_k=1900).status, 200)
        self.refused(self.ask(["[MASK] " * 20] * 60, top_k=1900), 413, "call_too_large", None)

    def test_the_filled_texts_of_an_answer_have_a_limit(self):
        for inputs in (6, 24):
            message = self.refused(self.ask(["[MASK] " * 20] * inputs, top_k=1900), 413,
                                   "call_too_large", None)
            self.assertRegex(message, r"%d tokens; allowed: 4194304" % (inputs * 20 * 1900 * 22))

    def read_raw(self, socket):
        """To the end of a chunked answer, fast."""
        end = b""
        while end != b"0\r\n\r\n":
            end = (end + socket.recv(1 << 18))[-5:]

    def test_a_long_answer_leaves_others_their_turn(self):
        body = client.request_bytes("POST", "/v1/fill_mask", client.encode(
            {"input": ["[MASK] " * 20] * 4, "top_k": 1900}))
        with self.server.connect() as other, self.server.connect() as asker:
            asker.send(body)
            reading = threading.Thread(target=self.read_raw, args=(asker.socket,), daemon=True)
            reading.start()
            times = []
            while reading.is_alive():
                started = time.monotonic()
                self.assertEqual(other.get("/livez").status, 200)
                times.append(time.monotonic() - started)
            reading.join()
        self.assertGreater(len(times), 20)
        self.assertLess(statistics.median(times), 0.015 * harness.SLOWNESS)

    def test_equal_targets_are_one_and_warnings_have_a_limit(self):
        answer = self.ask("a [MASK]", targets=["blorpx", "first", "blorpx", "first"] * 5000).json()
        self.assertEqual(len(answer["warnings"]), 1)
        self.assertEqual(len(answer["data"][0]["masks"][0]), 2)
        many = ["blorp%d" % i for i in range(150)]
        warnings = self.ask("a [MASK]", targets=many).json()["warnings"]
        self.assertEqual(len(warnings), 101)
        self.assertIn("'blorp0'", warnings[0])
        self.assertRegex(warnings[-1], r"^50 more targets")

    def test_the_other_task_s_route_says_where_to_go(self):
        message = self.refused(self.server.post("/v1/classify", {"input": "a"}), 400, "wrong_task",
                               None)
        self.assertIn("fill-mask", message)
        self.assertIn("/v1/fill_mask", message)
        with harness.Server() as classifier:
            message = self.refused(classifier.post("/v1/fill_mask", {"input": "a [MASK]"}), 400,
                                   "wrong_task", None)
            self.assertIn("/v1/classify", message)

    def test_the_task_is_told(self):
        self.assertEqual(self.server.get("/v1/models").json()["data"][0]["task"], "fill-mask")
        self.assertIn("decoder", self.server.get("/info").body.decode().lower())

    def test_the_command_answers_as_the_route_does(self):
        texts = ["the [MASK] of the world", "a [MASK] and a [MASK]"]
        status, output, errors = harness.run("fill-mask", "--model", GOLDEN, "--json", "--top-k",
                                             "3", *texts)
        self.assertEqual((status, errors), (0, ""))
        items = [json.loads(line) for line in output.decode().splitlines()]
        self.assertEqual(items, self.ask(texts, top_k=3).json()["data"])
        status, output, _ = harness.run("fill-mask", "--model", GOLDEN, "--targets", "first,last",
                                        "the [MASK] one")
        self.assertEqual(status, 0)
        shown = dict(re.findall(r"(?m)^ +(\d\S*)  (\w+)", output.decode()))
        self.assertEqual(set(shown.values()), {"first", "last"})
        self.assertTrue(all(float(score) > 0 for score in shown), output)

    def test_the_command_leaves_empty_targets_out_and_needs_one(self):
        for targets in (",", ",,"):
            status, output, errors = harness.run("fill-mask", "--model", GOLDEN, "--targets",
                                                 targets, "the [MASK]")
            self.assertEqual((status, output), (2, b""))
            self.assertRegex(errors, r"\Abertd fill-mask: --targets: got ',+', allowed: .*\n\Z")
        status, output, errors = harness.run("fill-mask", "--model", GOLDEN, "--json", "--targets",
                                             "first,,last,", "the [MASK] one")
        self.assertEqual(status, 0)
        self.assertEqual(errors,
                         "bertd fill-mask: the target '' has no token and is left out\n")
        self.assertEqual(len(json.loads(output)["masks"][0]), 2)

    def test_the_command_refuses_targets_that_are_no_utf_8(self):
        done = subprocess.run([harness.PROGRAM, "fill-mask", "--model", GOLDEN, "a [MASK]",
                               "--targets", b"a,\xff"], cwd=harness.ROOT, capture_output=True,
                              check=False, env=harness.environment())
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr.decode(), r"\Abertd fill-mask: --targets: .*UTF-8.*\n\Z")

    def test_the_log_and_the_information_have_no_labels(self):
        self.assertRegex(self.server.errors(), r"model tied: bert, fill-mask, dtype f32, up to 24")
        self.assertIsNone(self.server.get("/info").json()["models"][0]["activation"])


class SharingTest(unittest.TestCase):
    def anonymous_bytes(self, model, route, text):
        """Private memory after some work: what is not a page of a file. The least of some starts,
        since a thread's heap may or may not have grown."""
        found = []
        for _ in range(3):
            with harness.Server("--stages", "1", "--replicas", "1", model=model) as server:
                for _ in range(20):
                    self.assertEqual(server.post(route, {"input": [text] * 4}).status, 200)
                status = pathlib.Path("/proc/%d/status" % server.pid).read_text()
                found.append(1024 * int(re.search(r"RssAnon:\s+(\d+)", status).group(1)))
        return min(found)

    @unittest.skipIf(harness.SHORT, "sanitizers keep memory of their own")
    def test_the_decoder_reads_the_matrix_of_the_embedding(self):
        values = json.loads((harness.DEMO / "config.json").read_text())
        hidden, vocabulary = values["hidden_size"], values["vocab_size"]
        matrix = masked.read(harness.DEMO / "model.safetensors")[
            "bert.embeddings.word_embeddings.weight"][2]
        with tempfile.TemporaryDirectory() as folder:
            model = masked.write(harness.DEMO, pathlib.Path(folder) / "masked")
            text = "what a [MASK] day this is, and the next one may be [MASK] too"
            fill = self.anonymous_bytes(model, "/v1/fill_mask", text)
        classify = self.anonymous_bytes(harness.DEMO, "/v1/classify", text)
        more = fill - masked.head_bytes(hidden, vocabulary) - classify
        self.assertLess(more, 0.05 * len(matrix), (fill, classify))


if __name__ == "__main__":
    unittest.main()
