"""Start, readiness, signals, drain and the end of the process."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import client
import harness

TEXT = "a text of a call that is in flight while the server ends " * 4


class SignalTest(unittest.TestCase):
    def test_a_hang_up_is_logged_and_changes_nothing(self):
        with harness.Server() as server:
            for count in (1, 2):
                server.signal(signal.SIGHUP)
                harness.wait_until(lambda n=count: server.errors().count("SIGHUP") == n, "a line")
            self.assertEqual(server.classify("hello").status, 200)

    def test_quit_and_interrupt_end_as_term_does(self):
        for number in (signal.SIGQUIT, signal.SIGINT):
            server = harness.Server()
            server.signal(number)
            self.assertEqual(server.wait_end(), 0)
            self.assertIn("stopping", server.errors())


class StartTest(unittest.TestCase):
    def test_the_ready_line_comes_once_and_the_first_answer_can_be_given(self):
        with harness.Server() as server:
            self.assertEqual(server.classify("hello").status, 200)
            self.assertEqual(len(harness.READY.findall(server.errors())), 1)

    def test_start_is_quick_and_memory_is_about_the_weights(self):
        """An idle machine needs 300 ms at most from start to ready with warm files; the bound here
        leaves room for a busy one. Memory is at most 1.6 times the fp32 weights."""
        seconds, ratios = [], []
        for _ in range(5):
            with harness.Server() as server:
                server.classify("hello world")
                weights = server.get("/info").json()["models"][0]["weights_bytes"]
                seconds.append(server.ready_after_s)
                ratios.append(server.rss_kib() * 1024 / weights)
        self.assertLess(min(seconds), 0.6 * harness.SLOWNESS * harness.SLOWNESS, seconds)
        if not harness.SHORT:  # sanitizers keep shadow memory
            self.assertLessEqual(min(ratios), 1.6, ratios)

    def test_live_comes_before_ready_and_calls_before_it_are_503_loading(self):
        """Polls from the first moment: readiness never turns back, and liveness is never later."""
        with harness.listening_port() as port:
            pass
        server = harness.Server(port=port, wait=False)
        seen = []
        try:
            deadline = time.monotonic() + 30 * harness.SLOWNESS
            while time.monotonic() < deadline and ("/readyz", 200) not in seen:
                for path in ("/livez", "/readyz"):
                    try:
                        with client.Connection(("127.0.0.1", port), 5) as connection:
                            answer = connection.get(path)
                            seen.append((path, answer.status))
                            self.assertEqual(set(answer.json()), {"status", "reason"})
                            early = connection.classify("too early?")
                            if early.status != 200:
                                self.assertEqual(early.status, 503)
                                self.assertEqual(early.json()["error"]["code"], "loading")
                                self.assertRegex(early.header("retry-after"), r"^[1-9]\d*$")
                    except (OSError, client.Closed):
                        continue
            self.assertEqual(seen[-1], ("/readyz", 200))
            self.assertTrue(all(status == 200 for path, status in seen if path == "/livez"))
            self.assertTrue(all(status in (200, 503) for _, status in seen), seen)
            self.assertEqual([status for path, status in seen if path == "/readyz"][:-1],
                             [503] * (len([1 for path, _ in seen if path == "/readyz"]) - 1))
        finally:
            server.wait_ready()
            server.stop()

    def test_a_port_in_use_is_one_clear_line_and_a_failure(self):
        with harness.listening_port() as port:
            status, out, errors = harness.run("serve", "--port", port)
        self.assertNotIn(status, (0, -6, -11))
        self.assertEqual(out, b"")
        lines = [line for line in errors.splitlines() if "bertd serve" in line]
        self.assertEqual(len(lines), 1, errors)
        self.assertIn(str(port), lines[0])
        self.assertRegex(lines[0], "(?i)in use")

    def test_an_ipv6_address_stands_in_brackets(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        with harness.Server("--host", "::1") as server:
            self.assertRegex(server.url, r"^http://\[::1\]:\d+$")
            self.assertEqual(server.classify("hello").status, 200)

    def test_a_unix_socket_serves_and_goes_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            server = harness.Server("--host", "unix:" + path, wait=False)
            try:
                harness.wait_until(lambda: "bertd: listening on unix:%s\n" % path
                                   in server.errors(), "the ready line")
                with socket.socket(socket.AF_UNIX) as plain:
                    plain.settimeout(20)
                    plain.connect(path)
                    plain.sendall(client.request_bytes("GET", "/readyz"))
                    self.assertRegex(plain.recv(4096), rb"^HTTP/1.1 200 ")
            finally:
                server.stop()
            self.assertFalse(os.path.exists(path))

    def test_health_tells_a_ready_server_by_its_status(self):
        with harness.Server() as server:
            self.assertEqual(harness.run("health", server.url)[0], 0)
        self.assertNotEqual(harness.run("health", server.url)[0], 0)


class EndTest(unittest.TestCase):
    def in_flight(self, server, count):
        """`count` calls that the server has admitted and not yet answered (or just has)."""
        request = client.request_bytes("POST", "/v1/classify",
                                       client.encode({"input": [TEXT] * 2}))
        connections = [server.connect() for _ in range(count)]
        for connection in connections:
            self.addCleanup(connection.close)
            connection.send(request)

        def all_in():
            values = server.metrics()
            done = sum(value for name, value in values.items()
                       if name.startswith('bertd_requests_total{route="/v1/classify"'))
            return done + values["bertd_in_flight"] >= count
        harness.wait_until(all_in, "%d calls in the server" % count)
        return connections

    def test_sigterm_under_load_loses_no_admitted_call(self):
        count = harness.scaled(200, 20)
        server = harness.Server("--max-queue-tokens", "10000000", "--timeout", "300s",
                                "--drain-timeout", "300s")
        expected = server.classify([TEXT] * 2).data()
        connections = self.in_flight(server, count)
        server.signal(signal.SIGTERM)
        answers = [connection.read(timeout_s=120 * harness.SLOWNESS)
                   for connection in connections]
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertTrue(all(answer.data() == expected for answer in answers))
        self.assertEqual(server.wait_end(), 0, server.errors())

    def test_sigterm_refuses_new_calls_and_readiness_first(self):
        server = harness.Server("--max-queue-tokens", "10000000", "--drain-delay", "1500ms")
        with server.connect() as kept:
            self.assertEqual(kept.get("/readyz").status, 200)
            server.signal(signal.SIGTERM)
            answer = harness.wait_until(
                lambda: (lambda a: a if a.status == 503 else None)(kept.get("/readyz")),
                "readiness to fail")
            self.assertEqual(set(answer.json()), {"status", "reason"})
            self.assertEqual(kept.get("/livez").status, 200)
            self.assertEqual(kept.classify("still served").status, 200)
        self.assertEqual(server.wait_end(), 0, server.errors())

    def test_calls_after_the_delay_are_503_draining_with_retry_after(self):
        server = harness.Server("--max-queue-tokens", "10000000", "--timeout", "300s",
                                "--drain-timeout", "300s")
        busy = self.in_flight(server, harness.scaled(60, 12))
        server.signal(signal.SIGTERM)
        harness.wait_until(lambda: server.get("/readyz").status == 503, "readiness to fail")
        refused = harness.wait_until(
            lambda: (lambda a: a if a.status != 200 else None)(server.classify("new")),
            "a refusal")
        error = refused.json()["error"]
        self.assertEqual((refused.status, error["code"]), (503, "draining"))
        self.assertRegex(refused.header("retry-after"), r"^[1-9]\d*$")
        answers = [connection.read(timeout_s=120 * harness.SLOWNESS) for connection in busy]
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(server.wait_end(), 0, server.errors())

    def test_waiting_calls_are_answered_503_when_the_drain_time_is_over(self):
        server = harness.Server("--max-queue-tokens", "100000000", "--timeout", "300s",
                                "--drain-timeout", "100ms")
        connections = self.in_flight(server, harness.scaled(100, 30))
        server.signal(signal.SIGTERM)
        answers = [connection.read(timeout_s=60 * harness.SLOWNESS) for connection in connections]
        self.assertLessEqual({answer.status for answer in answers}, {200, 503})
        late = [answer for answer in answers if answer.status == 503]
        self.assertTrue(late)
        self.assertEqual({answer.json()["error"]["code"] for answer in late}, {"draining"})
        self.assertEqual(server.wait_end(), 0, server.errors())

    def test_a_second_signal_ends_at_once(self):
        server = harness.Server("--max-queue-tokens", "100000000", "--timeout", "300s",
                                "--drain-timeout", "300s", "--drain-delay", "60s")
        with server.connect() as kept:
            server.signal(signal.SIGTERM)
            harness.wait_until(lambda: kept.get("/readyz").status == 503, "the first signal")
            server.signal(signal.SIGTERM)
            status = server.wait_end(5)
        self.assertNotIn(-status, (signal.SIGABRT, signal.SIGSEGV), server.errors())
        self.assertNotEqual(status, 0)

    def test_sigint_ends_like_sigterm(self):
        server = harness.Server()
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait_end(), 0, server.errors())

    def test_a_signal_while_the_model_opens_ends_the_start(self):
        for _ in range(5):
            server = harness.Server(wait=False)
            server.signal(signal.SIGTERM)
            self.assertIn(server.wait_end(10), (0, 1, -signal.SIGTERM, 128 + signal.SIGTERM))

    def test_idle_connections_do_not_hold_up_the_end(self):
        server = harness.Server()
        held = [server.connect() for _ in range(20)]
        for connection in held:
            self.addCleanup(connection.close)
        for connection in held[:10]:
            connection.get("/livez")
        for connection in held[10:15]:
            connection.send(b"POST /v1/classify HTTP/1.1\r\n")
        started = time.monotonic()
        server.stop()
        self.assertLess(time.monotonic() - started, 5 * harness.SLOWNESS)

    def test_a_closed_standard_error_kills_nobody(self):
        process = subprocess.Popen([harness.PROGRAM, "serve", "--port", "0", "--model",
                                    str(harness.DEMO), "--access-log"], cwd=harness.ROOT,
                                   env=harness.environment(), stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            for line in process.stderr:
                found = re.search(rb"listening on http://127.0.0.1:(\d+)", line)
                if found:
                    break
            process.stderr.close()
            for _ in range(3):
                with client.Connection(("127.0.0.1", int(found.group(1)))) as connection:
                    self.assertEqual(connection.classify("hello").status, 200)
        finally:
            process.terminate()
            self.assertEqual(process.wait(30 * harness.SLOWNESS), 0)

    def test_numbers_of_standard_streams_closed_before_the_start_are_lent_to_nothing(self):
        with harness.listening_port() as port:
            pass
        command = [harness.PROGRAM, "serve", "--port", str(port), "--model", str(harness.DEMO)]
        process = subprocess.Popen(["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command],
                                   cwd=harness.ROOT, env=harness.environment())

        def ready():
            try:
                with client.Connection(("127.0.0.1", port)) as connection:
                    return connection.get("/readyz").status == 200
            except (client.Closed, OSError):
                return False
        try:
            harness.wait_until(ready, "the server to be ready")
            self.assertEqual([os.readlink("/proc/%d/fd/%d" % (process.pid, number))
                              for number in range(3)], ["/dev/null"] * 3)
        finally:
            process.terminate()
            self.assertEqual(process.wait(30 * harness.SLOWNESS), 0)


if __name__ == "__main__":
    unittest.main()
