"""A minimal HTTP server around one session, as somebody would write it in Python: a thread for each
connection, one call at a time in the runtime, the texts of a call sorted into batches.

POST {"input": [texts]} answers {"data": [{"predictions": [{"label", "score"}]}]}."""
import http.server
import json
import math
import socket
import threading


def answer_call(runtime, tokenizer, labels, lock, body, batch):
    """The JSON of a call's answer."""
    sequences = [e.ids for e in tokenizer.encode_batch(json.loads(body)["input"])]
    order = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
    data = [None] * len(sequences)
    for start in range(0, len(order), batch):
        chosen = order[start:start + batch]
        with lock:
            rows = runtime.logits([sequences[index] for index in chosen]).tolist()
        for index, row in zip(chosen, rows):
            data[index] = {"predictions": [{"label": label, "score": 1 / (1 + math.exp(-logit))}
                                           for label, logit in zip(labels, row)]}
    return json.dumps({"data": data}).encode()


class Server(http.server.ThreadingHTTPServer):
    """On a socket that listens already and that other sessions accept from too: each takes its
    share of the connections and leaves the others."""
    daemon_threads = True

    def __init__(self, descriptor, connections, handler):
        super().__init__(("", 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=descriptor)
        self.server_name, self.server_port = "localhost", 0
        self.free = threading.Semaphore(connections)

    def get_request(self):
        self.free.acquire()
        return super().get_request()

    def shutdown_request(self, request):
        super().shutdown_request(request)
        self.free.release()


def start(runtime, tokenizer, command):
    """Serves in a thread of its own: the command has `descriptor`, `connections` at a time,
    `batch` and `labels`."""
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = answer_call(runtime, tokenizer, command["labels"], lock, body,
                                 command["batch"])
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass
    server = Server(command["descriptor"], command["connections"], Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
