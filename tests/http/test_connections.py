"""Connections that are slow, silent, many, half closed or gone: time-outs, descriptors, cancelled
calls, and that the honest clients among them notice nothing."""
import json
import random
import socket
import statistics
import threading
import time
import unittest

import client
import harness

ASK = client.request_bytes("POST", "/v1/classify", b'{"input":"hello world"}')


class ConnectionsTest(harness.ServerTest):
    options = ("--header-timeout", "1s", "--body-timeout", "1500ms", "--idle-timeout", "30s",
               "--max-queue-tokens", "1000000")

    def setUp(self):
        self.server.get("/livez")
        self.descriptors = self.server.descriptors()

    def assert_descriptors_return(self, timeout_s=10.0):
        harness.wait_until(lambda: self.server.descriptors() <= self.descriptors,
                           "descriptors back to %d" % self.descriptors, timeout_s)

    def timed_close(self, connection):
        """Seconds until the server closes, with the status of its last words or None."""
        started, status = time.monotonic(), None
        words = connection.rest()
        if words:
            connection.buffer = words
            status = connection.read().status
        return time.monotonic() - started, status

    def test_headers_that_do_not_end_are_closed_at_the_header_time_out(self):
        for start in (b"G", b"POST /v1/classify HTTP/1.1\r\nHost: a\r\n", ASK[:60]):
            with self.server.connect() as connection:
                connection.send(start)
                seconds, status = self.timed_close(connection)
                self.assertIn(status, (408, None))
                self.assertGreater(seconds, 0.8)
                self.assertLess(seconds, 4 * harness.SLOWNESS)
        self.assert_descriptors_return()

    def test_a_body_that_does_not_end_is_answered_408_at_the_body_time_out(self):
        chunked = client.request_bytes("POST", "/v1/classify", b'5\r\n{"inp\r\n4\r\nut',
                                       [("Transfer-Encoding", "chunked")])
        for send in (ASK[:-5], chunked):
            with self.server.connect() as connection:
                connection.send(send)
                seconds, status = self.timed_close(connection)
                self.assertEqual(status, 408)
                self.assertGreater(seconds, 1.2)
                self.assertLess(seconds, 5 * harness.SLOWNESS)
        self.assert_descriptors_return()

    def test_a_dripping_client_does_not_renew_its_time(self):
        with self.server.connect() as connection:
            started = time.monotonic()
            gone = threading.Event()

            def drip():
                for byte in b"GET /livez HTTP/1.1\r\nX-Slow: " + b"x" * 10000:
                    try:
                        connection.send(bytes([byte]))
                    except OSError:
                        return
                    if gone.wait(0.05):
                        return
            thread = threading.Thread(target=drip, daemon=True)
            thread.start()
            connection.rest()
            seconds = time.monotonic() - started
            gone.set()
            thread.join(10)
            self.assertGreater(seconds, 0.8)
            self.assertLess(seconds, 5 * harness.SLOWNESS)

    def test_clients_that_leave_in_the_middle_free_their_descriptors(self):
        parts = (b"GET /li", ASK[:40], ASK[:-3], b"\0" * 100 + b"\r\n\r\n", ASK, b"")
        for part in parts:
            halves = []
            for i in range(harness.scaled(60, 20)):
                connection = self.server.connect()
                connection.send(part)
                if i % 2:
                    connection.close()
                elif part != ASK:
                    connection.socket.shutdown(1)
                    halves.append(connection)
                else:
                    connection.close()
            self.assert_descriptors_return(8.0)
            for connection in halves:
                connection.close()

    def test_clients_whose_part_and_end_come_together_free_their_descriptors_at_once(self):
        """Against time-outs of 10 and 30 seconds."""
        parts = (b"G", ASK[:40], ASK[:ASK.index(b"\r\n\r\n") + 4], ASK[:-3])
        with harness.Server() as server:
            before = server.descriptors()
            for part in parts:
                halves = []
                for i in range(harness.scaled(60, 20)):
                    connection = server.connect()
                    connection.send(part)
                    connection.socket.shutdown(socket.SHUT_WR)
                    if i % 2:
                        connection.close()
                    else:
                        halves.append(connection)
                harness.wait_until(lambda: server.descriptors() <= before,
                                   "the ends of clients with %r" % part[:50], 4.0)
                for connection in halves:
                    connection.close()

    def test_an_end_behind_a_whole_request_leaves_its_answer(self):
        for request in (client.request_bytes("GET", "/livez"),
                        client.request_bytes("GET", "/livez") * 5):
            with self.server.connect() as connection:
                connection.send(request)
                connection.socket.shutdown(socket.SHUT_WR)
                for _ in range(request.count(b"GET")):
                    self.assertEqual(connection.read().status, 200)

    def test_hundreds_of_slow_clients_leave_the_others_their_latency(self):
        def median_ms(count):
            times = []
            with self.server.connect() as connection:
                for _ in range(count):
                    started = time.monotonic()
                    self.assertEqual(connection.classify(self.PLAIN).data(), self.plain)
                    times.append((time.monotonic() - started) * 1000)
            return statistics.median(times)
        quiet = median_ms(50)
        slow = [self.server.connect() for _ in range(harness.scaled(400, 50))]
        for connection in slow:
            connection.send(b"P")
        try:
            busy = median_ms(50)
        finally:
            closed = [connection.rest() for connection in slow]
            for connection in slow:
                connection.close()
        self.assertEqual(len(closed), len(slow))
        self.assertLess(busy, 4 * quiet + 10 * harness.SLOWNESS)
        self.assert_descriptors_return()

    def test_clients_that_leave_at_any_moment_harm_nobody(self):
        """Many requests are dropped at random moments among honest clients."""
        rng = random.Random(7)
        texts = ["word number %d is %s" % (i, "long " * rng.randrange(60)) for i in range(24)]
        alone = [self.server.classify(text).data() for text in texts]
        ended = threading.Event()

        def leave(seed):
            own = random.Random(seed)
            for _ in range(harness.scaled(60, 10)):
                text = "leaving " * own.randrange(1, 400)
                whole = client.request_bytes("POST", "/v1/classify",
                                             client.encode({"input": [text] * own.randrange(1, 9)}))
                cut = own.choice((len(whole), len(whole), own.randrange(len(whole))))
                with self.server.connect() as connection:
                    connection.send(whole[:cut])
                    ended.wait(own.choice((0, 0.001, 0.01, 0.03)))
                    if own.random() < 0.3:  # reset instead of a polite end
                        connection.socket.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")

        def stay(index):
            with self.server.connect() as connection:
                while not ended.is_set():
                    for i in range(index, len(texts), 4):
                        self.assertEqual(connection.classify(texts[i]).data(), alone[i])
                return True
        leavers = [threading.Thread(target=leave, args=(seed,), daemon=True) for seed in range(6)]
        stayers = [lambda i=i: stay(i) for i in range(4)]

        def wait_leavers():
            for thread in leavers:
                thread.start()
            for thread in leavers:
                thread.join(120 * harness.SLOWNESS)
            ended.set()
            return not any(thread.is_alive() for thread in leavers)
        self.assertTrue(all(harness.in_threads([*stayers, wait_leavers], 200)))
        self.assert_descriptors_return()
        self.assertGreater(self.server.metrics()[
            'bertd_requests_total{route="/v1/classify",outcome="cancelled"}'], 0)


class IdleTest(harness.ServerTest):
    options = ("--idle-timeout", "500ms")

    def test_idle_connections_are_closed_at_the_idle_time_out(self):
        for ask in (None, "/livez"):
            with self.server.connect() as connection:
                if ask:
                    connection.get(ask)
                started = time.monotonic()
                self.assertEqual(connection.rest(), b"")
                seconds = time.monotonic() - started
                self.assertGreater(seconds, 0.3)
                self.assertLess(seconds, 3 * harness.SLOWNESS)

    def test_waiting_for_an_answer_is_not_idling(self):
        text = ["good " * 510] * harness.scaled(24, 4)
        with self.server.connect() as connection:
            for _ in range(2):
                self.assertEqual(len(self.assert_ok(connection.classify(text))["data"]), len(text))


class ManyConnectionsTest(unittest.TestCase):
    def test_connections_over_the_maximum_wait_or_close_and_the_rest_work(self):
        with harness.Server("--max-connections", "20", "--idle-timeout", "60s") as server:
            held = [server.connect() for _ in range(20)]
            for connection in held:
                self.assertEqual(connection.get("/livez").status, 200)
            extra = server.connect(3)
            try:
                self.assertGreaterEqual(extra.get("/livez").status, 200)
            except (client.Closed, OSError):
                pass
            for connection in held:
                self.assertEqual(connection.get("/livez").status, 200)
                connection.close()
            extra.close()

            def answers():
                try:
                    return server.get("/livez").status == 200
                except (client.Closed, OSError):
                    return False
            harness.wait_until(answers, "a free connection")

    def test_a_place_is_free_again_when_all_connections_close_at_once(self):
        with harness.Server("--max-connections", "1") as server:
            for _ in range(5):
                with server.connect(10 * harness.SLOWNESS) as connection:
                    self.assertEqual(connection.get("/livez").status, 200)

    def test_memory_of_bodies_is_bounded_over_all_connections(self):
        with harness.Server("--max-body", "1M", "--max-body-memory", "4M",
                            "--body-timeout", "30s") as server:
            before = server.rss_kib()
            head = b"POST /v1/classify HTTP/1.1\r\nHost: a\r\nContent-Length: 1000001\r\n\r\n"
            held = [server.connect() for _ in range(24)]
            for connection in held:
                connection.send(head + b" " * 1000000)
            # A sanitizer keeps its own notes on every byte; the thread sanitizer most of all.
            grown_kib = server.rss_kib() - before
            self.assertLess(grown_kib, harness.scaled(16, 64) * 1024)
            for connection in held:
                connection.send(b"x")
            answers = [connection.read() for connection in held]
            for connection in held:
                connection.close()
            refused = [answer for answer in answers if answer.status == 429]
            self.assertGreaterEqual(len(refused), 20)
            self.assertTrue(all(int(answer.header("retry-after")) >= 1 for answer in refused))
            self.assertEqual({a.status for a in answers} - {429, 400}, set())
            body = json.dumps({"input": "a"}).encode() + b" " * 1000000

            def accepted():
                return server.post("/v1/classify", body).status == 200
            harness.wait_until(accepted, "the memory to be free again")


if __name__ == "__main__":
    unittest.main()
