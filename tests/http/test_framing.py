"""HTTP/1.1 framing and semantics over raw sockets: request smuggling, transfer codings, chunks,
expectations, pipelining, old versions, odd targets."""
import json
import time
import unittest

import client
import harness

ASK = json.dumps({"input": "hello world"}).encode()
NEXT = client.request_bytes("GET", "/livez")


def chunked(pieces, extension=b"", trailer=b""):
    """A chunked body of these pieces."""
    lines = [b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces]
    return b"".join(lines) + b"0\r\n" + trailer + b"\r\n"


def post(headers, body, version="HTTP/1.1", host="localhost"):
    """A POST to /v1/classify framed by `headers` alone."""
    lines = ["POST /v1/classify " + version]
    if host:
        lines.append("Host: " + host)
    return ("\r\n".join(lines + headers) + "\r\n\r\n").encode() + body


class FramingTest(harness.ServerTest):
    options = ("--header-timeout", "2s")

    def refused_and_closed(self, data, statuses):
        """One error answer, then the connection is closed; nothing behind it is answered."""
        with self.server.connect() as connection:
            connection.send(data)
            response = connection.read()
            self.assertIn(response.status, statuses, response)
            self.assertTrue(connection.closes(), "the connection goes on after %r" % response)

    # --- smuggling ---

    def test_content_length_beside_chunked_never_lets_a_second_request_through(self):
        self.refused_and_closed(
            post(["Content-Length: 5", "Transfer-Encoding: chunked"], chunked([ASK])) + NEXT,
            (400,))
        self.refused_and_closed(
            post(["Transfer-Encoding: chunked", "Content-Length: 5"], chunked([ASK])) + NEXT,
            (400,))

    def test_two_lengths_get_one_400_and_a_close(self):
        inner = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
        for first, second in ((len(inner), 0), (0, len(inner)), (len(inner), len(inner))):
            self.refused_and_closed(post(["Content-Length: %d" % first,
                                          "Content-Length: %d" % second], inner), (400,))

    def test_lengths_that_are_no_numbers_get_a_400(self):
        for value in ("-1", "+5", "5, 5", "0x10", "5 5", "99999999999999999999999999", "abc", ""):
            with self.server.connect() as connection:
                connection.send(post(["Content-Length: " + value], b"") + NEXT)
                response = connection.read()
                self.assertIn(response.status, (400, 413), value)
                self.assertEqual(response.header("connection").lower(), "close")
                self.assertNotIn(b"200 OK", connection.rest(), value)

    def test_unknown_transfer_codings_are_refused_and_upper_case_chunked_works(self):
        for coding in ("gzip, chunked", "identity", "chunked, chunked", "xchunked",
                       "chunked, gzip", "chunked ", "chunked\t"):
            self.refused_and_closed(post(["Transfer-Encoding: " + coding], chunked([ASK])) + NEXT,
                                    (400, 501))
        with self.server.connect() as connection:
            connection.send(post(["Transfer-Encoding: CHUNKED"], chunked([ASK])))
            self.assertEqual(connection.read().data(), self.plain)

    def test_a_bad_chunk_size_ends_the_connection(self):
        for body in (b"zz\r\nab\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n",
                     b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n", b"5\r\nhelloworld\r\n0\r\n\r\n"):
            with self.server.connect() as connection:
                connection.send(post(["Transfer-Encoding: chunked"], body) + NEXT)
                try:
                    self.assertIn(connection.read().status, (400, 413), body)
                except client.Closed:
                    continue
                self.assertTrue(connection.closes(), body)

    def test_a_missing_or_second_host_is_refused(self):
        self.refused_and_closed(post(["Content-Length: %d" % len(ASK)], ASK, host=None), (400,))
        self.refused_and_closed(post(["Host: b", "Content-Length: %d" % len(ASK)], ASK), (400,))

    def test_header_names_that_are_no_tokens_are_refused(self):
        for line in ("Content-Length : 5", "Bad Name: x", "Na(me: x"):
            with self.server.connect() as connection:
                connection.send(post([line, "Content-Length: %d" % len(ASK)], ASK) + NEXT)
                self.assertEqual(connection.read().status, 400, line)
                self.assertTrue(connection.closes(), line)

    def test_a_nul_never_hides_the_rest_of_a_part(self):
        line, host = b"GET /livez HTTP/1.1\r\n", b"Host: a\r\n"
        for data in (b"GET /livez\0foo HTTP/1.1\r\n" + host, b"GET /livez\0 HTTP/1.1\r\n" + host,
                     b"GET /livez?a\0b HTTP/1.1\r\n" + host, b"GE\0T /livez HTTP/1.1\r\n" + host,
                     line + b"Host: a\0b\r\n", line + b"Host: a\0b\r\nX: y\r\n",
                     line + b"Host\0: a\r\n", line + host + b"X: y\0\r\n",
                     line + host + b"\0X: y\r\n", line + host + b"Cookie: a=b\0; c=d\r\n"):
            with self.server.connect() as connection:
                connection.send(data + b"\r\n" + NEXT)
                self.assertEqual(connection.read().status, 400, data)
                self.assertNotIn(b" 200 ", connection.rest(), data)
        self.assert_error(self.server.get("/livez?\0"), 400, "invalid_framing", message="NUL")

    def test_headers_in_every_usual_form_are_taken(self):
        for lines in (b"Host:a\r\nX:\r\nY: \r\n", b"Host:  a \r\nCookie: a=b; c=d\r\nZ: 1\r\n",
                      b"Host: a\nX: y\n"):
            with self.server.connect() as connection:
                connection.send((b"\r\nGET /livez?%20=%2f HTTP/1.1\r\n" + lines + b"\r\n") * 3)
                self.assertEqual([connection.read().status for _ in range(3)], [200] * 3, lines)

    # --- chunks ---

    def test_chunked_bodies_answer_as_the_plain_form(self):
        single = [ASK[i:i + 1] for i in range(len(ASK))]
        for body in (chunked([ASK]), chunked(single), chunked([ASK], b";a=b"),
                     chunked([ASK], b';name="quoted value"'), chunked(single, b";x"),
                     chunked([ASK], trailer=b"X-Sum: 5\r\n")):
            with self.server.connect() as connection:
                for _ in range(2):
                    connection.send(post(["Transfer-Encoding: chunked"], body))
                    self.assertEqual(connection.read().data(), self.plain, body)

    def test_a_request_sent_byte_by_byte_is_answered(self):
        with self.server.connect() as connection:
            for byte in client.request_bytes("POST", "/v1/classify", ASK):
                connection.send(bytes([byte]))
            self.assertEqual(connection.read().data(), self.plain)

    # --- expectations ---

    def test_100_continue_comes_at_once_and_then_the_answer(self):
        body = ASK + b" " * (2000 - len(ASK))
        with self.server.connect() as connection:
            started = time.monotonic()
            connection.send(post(["Content-Length: 2000", "Expect: 100-continue"], b""))
            self.assertEqual(connection.read().status, 100)
            self.assertLess(time.monotonic() - started, 0.1 * harness.SLOWNESS)
            connection.send(body)
            self.assertEqual(connection.read().data(), self.plain)

    def test_an_expectation_is_refused_before_the_body_when_it_would_be_refused_anyway(self):
        with self.server.connect() as connection:
            connection.send(post(["Content-Length: 999999999", "Expect: 100-continue"], b""))
            self.assertEqual(connection.read().status, 413)

    # --- large bodies that nobody wants ---

    def test_a_large_post_to_an_unknown_path_reads_its_404(self):
        size = 10 << 20
        with self.server.connect() as connection:
            head = "POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size
            connection.send(head.encode())
            try:
                connection.send(b"x" * size)
            except ConnectionError:
                pass  # closed behind the answer, which must have come all the same
            response = connection.read()
            self.assertEqual(response.status, 404, response)
            if (response.header("connection") or "").lower() != "close":
                self.assertEqual(connection.get("/livez").status, 200)

    # --- pipelining, versions, targets ---

    def test_twenty_requests_in_one_send_are_answered_in_order(self):
        texts = ["word " * (1 + 17 * i % 83) for i in range(20)]
        alone = [self.server.classify(text).data() for text in texts]
        with self.server.connect() as connection:
            connection.send(b"".join(client.request_bytes(
                "POST", "/v1/classify", client.encode({"input": text})) for text in texts))
            self.assertEqual([connection.read().data() for _ in texts], alone)

    def test_many_requests_follow_each_other_on_one_connection(self):
        with self.server.connect() as connection:
            for _ in range(harness.scaled(200, 30)):
                self.assertEqual(connection.classify(self.PLAIN).data(), self.plain)
                self.assertEqual(connection.get("/livez").status, 200)

    def test_http_1_0_is_answered_without_chunks_and_closed(self):
        for body in (ASK, client.encode({"input": ["hello world"] * 200})):
            with self.server.connect() as connection:
                connection.send(post(["Content-Length: %d" % len(body)], body, "HTTP/1.0", None))
                response = connection.read()
                self.assertEqual(response.status, 200, response)
                self.assertFalse(response.chunked)
                self.assertTrue(response.json()["data"])
                self.assertTrue(connection.closes())

    def test_connection_close_is_obeyed(self):
        with self.server.connect() as connection:
            response = connection.post("/v1/classify", ASK, [("Connection", "close")])
            self.assertEqual(response.data(), self.plain)
            self.assertEqual(response.header("connection").lower(), "close")
            self.assertTrue(connection.closes())

    def test_a_query_and_an_absolute_target_reach_the_route(self):
        for target in ("/v1/classify?x=1", "/v1/classify?", "http://localhost/v1/classify",
                       "http://example.org:80/v1/classify?a=b"):
            self.assertEqual(self.server.post(target, ASK).data(), self.plain, target)

    def test_an_encoded_slash_is_no_slash(self):
        for path in ("/v1%2fclassify", "/v1%2Fclassify?a", "/v1/classify%2f", "%2fv1/classify"):
            self.assert_error(self.server.post(path, ASK), 404, "not_found", message="%2F")
        self.assertEqual(self.server.post("/v1/class%69fy?a=%2f", ASK).data(), self.plain)

    def test_head_answers_as_get_without_a_body(self):
        for path in ("/livez", "/readyz", "/v1/models"):
            with self.server.connect() as connection:
                length = connection.get(path).header("content-length")
                head = connection.exchange("HEAD", path)
                self.assertEqual((head.status, head.header("content-length")), (200, length))
                self.assertEqual(connection.get("/livez").status, 200)

    def test_noise_instead_of_a_request_ends_the_connection(self):
        for noise in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
                      b"GET\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                      b"get /livez\r\n\r\n"):
            with self.server.connect() as connection:
                connection.send(noise)
                self.assertNotIn(b" 200 ", connection.rest())


if __name__ == "__main__":
    unittest.main()
