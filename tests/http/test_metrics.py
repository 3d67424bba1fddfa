"""/metrics, /info, /v1/models and the health routes: complete from the first scrape, consistent,
and of a size that no client can change."""
import re
import unittest

import harness

DOCUMENTED = """bertd_requests_total bertd_inputs_total bertd_tokens_total bertd_truncated_total
bertd_request_duration_seconds bertd_phase_duration_seconds bertd_microbatch_tokens
bertd_microbatch_inputs bertd_queue_tokens bertd_in_flight bertd_stage_busy_seconds_total
bertd_stage_starved_seconds_total bertd_stage_blocked_seconds_total bertd_model_info bertd_ready
bertd_build_info process_resident_memory_bytes process_cpu_seconds_total process_open_fds
process_start_time_seconds""".split()



class MetricsTest(harness.ServerTest):
    options = ("--stages", "2", "--replicas", "2")

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(*cls.options)
        cls.first = cls.server.get("/metrics").body.decode()  # before anything else
        cls.first_series = cls.series(cls.first)
        cls.plain = cls.server.classify(cls.PLAIN).data()

    @staticmethod
    def series(text):
        return {line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")}

    def test_every_documented_metric_is_there_from_the_first_scrape(self):
        families = set(re.findall(r"^# TYPE (\S+) (?:counter|gauge|histogram)$", self.first, re.M))
        self.assertEqual(set(DOCUMENTED) - families, set())
        self.assertEqual(set(re.findall(r"^# HELP (\S+) \S", self.first, re.M)), families)

    def test_work_adds_no_series(self):
        self.server.classify(["a", "b"], truncate=False)
        self.server.post("/v1/classify", b"{")
        self.server.get("/v1/classify")
        self.server.get("/nowhere")
        self.server.classify("good " * 600)
        self.server.classify("good " * 600, truncate=False)
        after = self.server.get("/metrics").body.decode()
        self.assertEqual(self.series(after), self.first_series)

    def test_the_text_is_well_formed(self):
        answer = self.server.get("/metrics")
        self.assertRegex(answer.header("content-type"), r"^text/plain; version=0\.0\.4")
        self.assertTrue(answer.body.endswith(b"\n"))
        seen = set()
        for line in answer.body.decode().splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, r'^[a-z_]+(\{([a-z_]+="[^"\n]*",?)+\})? -?[0-9.e+-]+$')
                self.assertNotIn(line.rsplit(" ", 1)[0], seen)
                seen.add(line.rsplit(" ", 1)[0])

    def test_histograms_are_cumulative_and_end_in_their_count(self):
        self.server.classify(["a"] * 20)
        values = self.server.metrics()
        buckets = {}
        for name, value in values.items():
            found = re.match(r'^(.*)_bucket\{(.*?),?le="(.*)"\}$', name)
            if found:
                buckets.setdefault((found.group(1), found.group(2)), []).append(value)
        self.assertGreater(len(buckets), 4)
        for (name, labels), counts in buckets.items():
            self.assertEqual(counts, sorted(counts))
            total = "%s_count{%s}" % (name, labels) if labels else name + "_count"
            self.assertEqual(counts[-1], values[total])

    def outcomes(self):
        return {re.search(r'outcome="(\w+)"', name).group(1): value
                for name, value in self.server.metrics().items()
                if name.startswith('bertd_requests_total{route="/v1/classify"')}

    def test_requests_are_the_sum_over_outcomes(self):
        before = self.outcomes()
        asks = [({"input": "a"}, 200), ({"input": 5}, 400), ({}, 400),
                ({"input": "good " * 600, "truncate": False}, 422),
                ({"input": ["a"] * 3000}, 413), ({"input": "a", "model": "x"}, 404)]
        for body, status in asks:
            self.assertEqual(self.server.post("/v1/classify", body).status, status)
        self.assertEqual(self.server.get("/v1/classify").status, 405)
        coded = self.server.exchange("POST", "/v1/classify", b"", [("Transfer-Encoding", "gzip")])
        self.assertEqual(coded.status, 501)
        harness.wait_until(lambda: sum(self.outcomes().values()) - sum(before.values())
                           == len(asks) + 2, "every request counted once")
        after = self.outcomes()
        self.assertEqual(after["ok"] - before["ok"], 1)
        self.assertEqual(after["invalid"] - before["invalid"], 5)
        self.assertEqual(after["too_large"] - before["too_large"], 2)
        count = self.server.metrics()['bertd_request_duration_seconds_count'
                                      '{route="/v1/classify"}']
        self.assertEqual(count, sum(after.values()))

    def test_the_outcome_does_not_depend_on_the_dialects_status(self):
        def outcomes():
            return {re.search(r'outcome="(\w+)"', name).group(1): value
                    for name, value in self.server.metrics().items()
                    if name.startswith('bertd_requests_total{route="/tokenize"')}
        before = outcomes()
        asks = [({"inputs": "a"}, 200), ({"inputs": 5}, 422), ({}, 422),
                ({"inputs": ""}, 400), ({"inputs": "a", "prompt_name": "x"}, 413),
                ({"inputs": ["a"] * 3000}, 413)]
        for body, status in asks:
            self.assertEqual(self.server.post("/tokenize", body).status, status)
        harness.wait_until(lambda: sum(outcomes().values()) - sum(before.values()) == len(asks),
                           "every request counted once")
        after = outcomes()
        self.assertEqual([after[name] - before[name] for name in ("ok", "invalid", "too_large")],
                         [1, 4, 1])

    def test_inputs_and_tokens_and_truncations_count_what_was_answered(self):
        def counts():
            return [self.server.metric("bertd_%s_total" % name)
                    for name in ("inputs", "tokens", "truncated")]
        before = counts()
        body = self.server.classify(["hello world", "good " * 600, ""]).json()
        after = counts()
        self.assertEqual([b - a for a, b in zip(before, after, strict=True)],
                         [3, body["usage"]["prompt_tokens"], 1])

    def test_unknown_paths_and_methods_and_ids_make_no_series(self):
        with self.server.connect() as connection:
            size = len(connection.get("/metrics").body)
            for i in range(harness.scaled(3000, 200)):
                self.assertEqual(connection.get("/%d/x?%d" % (i, i)).status, 404)
            connection.exchange("BREW", "/v1/classify")
            connection.post("/v1/classify", {"input": "a"}, [("X-Request-Id", 'a"} evil 1')])
            after = connection.get("/metrics").body
        self.assertEqual(self.series(after.decode()), self.first_series)
        self.assertLess(len(after) - size, 2000)

    def test_stages_have_their_series_and_their_time_grows(self):
        self.server.classify(["good " * 300] * 8)
        values = self.server.metrics()
        busy = {k: v for k, v in values.items() if k.startswith("bertd_stage_busy_seconds_total")}
        self.assertEqual(len(busy), 6)  # two encoder stages and the head, in two replicas
        self.assertGreater(sum(busy.values()), 0)
        self.assertTrue(all('model="goemotions-minilm"' in name for name in busy))


class InfoTest(harness.ServerTest):
    options = ("--max-call-inputs", "77", "--max-body", "3M", "--stages", "3",
               "--idle-timeout", "4s", "--stage-timeout", "25s", "--http-threads", "2",
               "--tokenizer-threads", "3")

    def test_models_has_the_list_shape_with_what_the_model_is(self):
        body = self.assert_ok(self.server.get("/v1/models"))
        self.assertEqual(body["object"], "list")
        model, = body["data"]
        self.assertEqual((model["id"], model["object"], model["task"], model["family"],
                          model["max_tokens"], model["dtype"]),
                         ("goemotions-minilm", "model", "text-classification", "bert", 512, "f32"))
        self.assertEqual((len(model["labels"]), model["labels"][18]), (28, "love"))
        self.assertIsInstance(model["created"], int)
        self.assertIsInstance(model["owned_by"], str)

    def test_info_tells_the_limits_versions_and_plan(self):
        text = self.server.get("/info").body.decode()
        body = self.assert_ok(self.server.get("/info"))
        self.assertEqual(body["limits"]["max_call_inputs"], 77)
        self.assertEqual(body["limits"]["max_body"], 3 << 20)
        self.assertEqual(body["timeouts_ms"], {
            "header": 10000, "body": 30000, "idle": 4000, "call": 30000, "stage": 25000,
            "drain_delay": 0, "drain": 30000})
        self.assertEqual(body["threads"], {"http": 2, "tokenizer": 3})
        self.assertRegex(body["library"], r"^(oneDNN|OpenBLAS) \d+\.\d+\.\d+$")
        self.assertRegex(body["version"], r"^\d+\.\d+")
        for word in ("revision", "plan", "Embedding", "max_call_tokens", "max_queue_tokens"):
            self.assertIn(word, text)

    def test_health_routes_say_ok(self):
        for path in ("/livez", "/readyz", "/health"):
            body = self.assert_ok(self.server.get(path))
            self.assertEqual(set(body), {"status", "reason"})
        self.assertEqual(self.server.metric("bertd_ready"), 1)


class NamedModelTest(unittest.TestCase):
    def test_a_name_before_the_directory_is_the_models_name_everywhere(self):
        with harness.Server(model="feelings=%s" % harness.DEMO) as server:
            self.assertEqual(server.classify("a", model="feelings").json()["model"], "feelings")
            self.assertEqual(server.classify("a", model="goemotions-minilm").status, 404)
            self.assertEqual(server.get("/v1/models").json()["data"][0]["id"], "feelings")
            self.assertIn('bertd_tokens_total{model="feelings"}', server.metrics())


if __name__ == "__main__":
    unittest.main()
