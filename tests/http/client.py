"""HTTP/1.1 over a plain socket, so that tests decide every byte that goes out and see every byte
that comes back. Each wait is bounded; a response is checked for framing while it is read."""
import json
import socket
import time

TIMEOUT_S = 30.0


class Closed(Exception):
    """The other side closed or reset the connection before a whole response came."""


class Response:
    def __init__(self, version, status, headers, body, chunked):
        self.version, self.status, self.headers = version, status, headers
        self.body, self.chunked = body, chunked

    def header(self, name):
        """The value of a header that may be there once; None when it is not there."""
        values = [value for key, value in self.headers if key == name.lower()]
        if len(values) > 1:
            raise AssertionError("header %s came %d times" % (name, len(values)))
        return values[0] if values else None

    def json(self):
        def refuse(word):
            raise AssertionError("the JSON body has %s" % word)
        return json.loads(self.body.decode("utf-8"), parse_constant=refuse)

    def data(self):
        """The bytes of the answer's `data`: what must be equal whenever the inputs are."""
        if self.status != 200:
            raise AssertionError("no answer but %r" % self)
        start = self.body.index(b'"data":')
        return self.body[start:self.body.rindex(b',"usage":')]

    def timing_ms(self):
        """Server-Timing as {"tokenize": ms, ...}."""
        parts = [part.strip().split(";dur=") for part in self.header("server-timing").split(",")]
        return {name: float(value) for name, value in parts}

    def __repr__(self):
        return "<%d %r>" % (self.status, self.body[:300])


def request_bytes(method, path, body=None, headers=(), version="HTTP/1.1", host="localhost"):
    """One request. Content-Length is added for a body unless `headers` frames it."""
    lines = ["%s %s %s" % (method, path, version)]
    names = {name.lower() for name, _ in headers}
    if host is not None and "host" not in names:
        lines.append("Host: " + host)
    lines += ["%s: %s" % header for header in headers]
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        lines.append("Content-Length: %d" % len(body))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


def encode(value):
    """A JSON body: bytes as they are, all else as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


class Connection:
    def __init__(self, address, timeout_s=TIMEOUT_S):
        self.timeout_s = timeout_s
        self.buffer = b""
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _receive(self, deadline):
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionError as e:
            raise Closed(str(e)) from e
        if not data:
            raise Closed("closed after %r" % self.buffer[:200])
        self.buffer += data

    def _take_until(self, mark, deadline):
        while mark not in self.buffer:
            self._receive(deadline)
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def _take(self, count, deadline):
        while len(self.buffer) < count:
            self._receive(deadline)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def _take_to_end(self, deadline):
        try:
            while True:
                self._receive(deadline)
        except Closed:
            taken, self.buffer = self.buffer, b""
            return taken

    def _take_chunks(self, deadline):
        body = bytearray()
        while True:
            size = int(self._take_until(b"\r\n", deadline).split(b";")[0], 16)
            if size == 0:
                while self._take_until(b"\r\n", deadline):
                    pass
                return bytes(body)
            body += self._take(size, deadline)
            if self._take(2, deadline) != b"\r\n":
                raise AssertionError("a chunk does not end in CR LF")

    def read(self, method="POST", timeout_s=None):
        """The next response; an interim one (100) is a response of its own."""
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        head = self._take_until(b"\r\n\r\n", deadline).decode("latin-1").split("\r\n")
        version, status = head[0].split(" ")[:2]
        headers = [(name.lower(), value.strip())
                   for name, value in (line.split(":", 1) for line in head[1:])]
        found = dict(headers)
        chunked = found.get("transfer-encoding", "").lower() == "chunked"
        if chunked and "content-length" in found:
            raise AssertionError("a response with two framings")
        if int(status) in (100, 204, 304) or method == "HEAD":
            body = b""
        elif chunked:
            body = self._take_chunks(deadline)
        elif "content-length" in found:
            body = self._take(int(found["content-length"]), deadline)
        else:
            body = self._take_to_end(deadline)
        return Response(version, int(status), headers, body, chunked)

    def exchange(self, method, path, body=None, headers=(), **more):
        self.send(request_bytes(method, path, body, headers, **more))
        return self.read(method)

    def get(self, path):
        return self.exchange("GET", path)

    def post(self, path, value, headers=()):
        return self.exchange("POST", path, encode(value), headers)

    def classify(self, value, **fields):
        return self.post("/v1/classify", dict({"input": value}, **fields))

    def rest(self):
        """All bytes up to the close by the other side, which must come within the time-out."""
        return self._take_to_end(time.monotonic() + self.timeout_s)

    def closes(self, timeout_s=10.0):
        """True when the other side closes within the time without sending another byte."""
        deadline = time.monotonic() + timeout_s
        if self.buffer:
            return False
        try:
            self._receive(deadline)
        except Closed:
            return True
        except (TimeoutError, socket.timeout):
            return False
        return False
