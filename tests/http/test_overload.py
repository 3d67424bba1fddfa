"""More work than the server takes: it says so at once, keeps what it took, and stays the size it
is; and a lonely request waits for nobody."""
import statistics
import threading
import time
import unittest

import client
import harness

QUEUE_TOKENS = 2000
TEXT = "this is one of very many texts " * 10
TIMEOUT_S = 20 * harness.SLOWNESS


class OverloadTest(harness.ServerTest):
    options = ("--max-queue-tokens", str(QUEUE_TOKENS), "--timeout", "%ds" % TIMEOUT_S)

    def burst(self, connections_count, rounds):
        """Each connection sends `rounds` requests one after the other, all at once at first.
        Returns [(status, seconds, response)]."""
        connections = [self.server.connect() for _ in range(connections_count)]
        request = client.request_bytes("POST", "/v1/classify", client.encode({"input": TEXT}))
        workers = min(connections_count, 16)
        gate = threading.Barrier(workers)

        def work(mine):
            answers = []
            gate.wait(60)
            for _ in range(rounds):
                started = time.monotonic()
                for connection in mine:
                    connection.send(request)
                for connection in mine:
                    answer = connection.read()
                    answers.append((answer.status, time.monotonic() - started, answer))
            return answers
        parts = [connections[i::workers] for i in range(workers)]
        results = harness.in_threads([lambda p=p: work(p) for p in parts], 200)
        for connection in connections:
            connection.close()
        return [answer for result in results for answer in result]

    def test_512_connections_get_200_or_429_in_time_and_memory_stays_flat(self):
        count = harness.scaled(512, 64)
        expected = self.server.classify(TEXT).data()
        before = self.server.metrics()
        descriptors = self.server.descriptors()
        sizes_kib, answers = [], []
        for _ in range(6):
            answers += self.burst(count, 1)
            # An open connection has memory of its own: all must be gone before it is measured.
            harness.wait_until(lambda: self.server.descriptors() <= descriptors, "closed sockets")
            sizes_kib.append(self.server.rss_kib())
        # What malloc keeps moves up and down by some MB; a leak would only go up.
        self.assertLess(min(sizes_kib[3:]) - min(sizes_kib[:3]), 8 * 1024 * harness.SLOWNESS,
                        sizes_kib)
        self.assertEqual({status for status, _, _ in answers}, {200, 429})
        for status, seconds, answer in answers:
            self.assertLess(seconds, TIMEOUT_S + 1)
            if status == 200:
                self.assertEqual(answer.data(), expected)
            else:
                self.assert_error(answer, 429, "queue_full")
                self.assertRegex(answer.header("retry-after"), r"^[1-9]\d*$")
        after = self.server.metrics()

        def grown(outcome):
            name = 'bertd_requests_total{route="/v1/classify",outcome="%s"}' % outcome
            return after[name] - before[name]
        self.assertEqual(grown("ok") + grown("queue_full"), len(answers))
        self.assertEqual(grown("queue_full"), sum(status == 429 for status, _, _ in answers))

    def test_after_a_burst_the_service_is_whole_again(self):
        self.burst(64, 1)
        for _ in range(20):
            self.assertEqual(self.server.classify(TEXT).status, 200)

    def test_a_refusal_is_quick(self):
        answers = self.burst(harness.scaled(256, 48), 1)
        refused = [seconds for status, seconds, _ in answers if status == 429]
        served = [seconds for status, seconds, _ in answers if status == 200]
        self.assertTrue(refused and served)
        self.assertLess(statistics.median(refused), max(served) + 1)
        self.assertLess(statistics.median(refused), 2 * harness.SLOWNESS)

    def test_a_call_larger_than_the_queue_is_taken_when_the_queue_is_empty(self):
        body = self.assert_ok(self.server.classify([TEXT] * 60))
        self.assertGreater(body["usage"]["prompt_tokens"], QUEUE_TOKENS)

    def test_a_call_is_refused_as_a_whole_or_answered_as_a_whole(self):
        def ask(index):
            return self.server.classify(["text %d" % index] + [TEXT] * 15)
        answers = harness.in_threads([lambda i=i: ask(i) for i in range(24)])
        self.assertLessEqual({answer.status for answer in answers}, {200, 429})
        for answer in answers:
            if answer.status == 200:
                self.assertEqual(len(answer.json()["data"]), 16)

    def test_a_short_deadline_among_many_ends_in_504_or_an_answer(self):
        body = client.encode({"input": [TEXT] * 20})
        request = client.request_bytes("POST", "/v1/classify", body,
                                       [("X-Request-Timeout-Ms", "20")])

        def ask():
            with self.server.connect() as connection:
                connection.send(request)
                return connection.read()
        answers = harness.in_threads([ask] * 24)
        self.assertLessEqual({answer.status for answer in answers}, {200, 429, 504})
        for answer in answers:
            if answer.status == 504:
                self.assert_error(answer, 504, "deadline_exceeded")


class LonelyTest(harness.ServerTest):
    options = ("--max-queue-tokens", "1000000")

    def test_a_lonely_request_waits_for_nobody(self):
        """Its queue time is nearly nothing, and its latency is tokenizing plus compute."""
        queue, rest = [], []
        with self.server.connect() as connection:
            for _ in range(harness.scaled(200, 30)):
                started = time.monotonic()
                answer = connection.classify("one short text")
                passed_ms = (time.monotonic() - started) * 1000
                timing = answer.timing_ms()
                queue.append(timing["queue"])
                rest.append(passed_ms - sum(timing.values()))
        self.assertLess(statistics.median(queue), 1.0 * harness.SLOWNESS)
        self.assertLess(statistics.median(rest), 3.0 * harness.SLOWNESS)

    def test_no_answer_on_a_kept_connection_waits_for_an_acknowledgement(self):
        """A delayed acknowledgement costs 40 ms and would show in many of the exchanges."""
        late = 0
        with self.server.connect() as connection:
            connection.socket.setsockopt(6, 1, 0)  # Nagle's algorithm, as plain clients have it
            for i in range(harness.scaled(200, 40)):
                text = "x " * (1 + i % 40)
                started = time.monotonic()
                answer = connection.classify([text] * (1 + i % 5))
                over_ms = (time.monotonic() - started) * 1000 - sum(answer.timing_ms().values())
                late += over_ms > 35 * harness.SLOWNESS
        self.assertLess(late, harness.scaled(10, 4))

    def test_one_large_call_does_not_keep_a_small_one_waiting(self):
        large = ["good " * 300] * harness.scaled(60, 20)
        done = []

        def ask_large():
            answer = self.server.classify(large)
            done.append(time.monotonic())
            return answer

        def ask_small():
            harness.wait_until(lambda: self.server.metric("bertd_in_flight") > 0, "the large call")
            for _ in range(3):
                self.assertEqual(self.server.classify("small").status, 200)
            return time.monotonic()
        answer, small_at = harness.in_threads([ask_large, ask_small])
        self.assertEqual(len(self.assert_ok(answer)["data"]), len(large))
        self.assertLess(small_at, done[0])


if __name__ == "__main__":
    unittest.main()
