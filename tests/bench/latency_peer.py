"""A server of one ONNX Runtime session with dynamic batching, such as text-embeddings-inference has
it: what waits when the session is free goes in together, nobody waits on purpose for more.

latency_peer.py CHECKPOINT MODEL.onnx THREADS prints `listening on PORT` when it is ready. POST
{"input": text} answers {"label", "score"} of the best label by sigmoid; one process, asyncio, the
session in a thread of its own."""
import asyncio
import collections
import concurrent.futures
import json
import pathlib
import re
import sys

import numpy
import onnxruntime
import tokenizers

BATCH_INPUTS_MAX = 32
TOKENS_MAX = 512
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Model:
    """Tokenizer, session and labels of one checkpoint."""

    def __init__(self, checkpoint, onnx, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(onnx), options,
                                                    providers=["CPUExecutionProvider"])
        self.inputs = {tensor.name for tensor in self.session.get_inputs()}
        self.tokenizer = tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS_MAX)
        self.tokenizer.no_padding()
        labels = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))["id2label"]
        self.labels = [labels[str(index)] for index in range(len(labels))]

    def run(self, rows):
        """The answers of lists of token ids."""
        ids = numpy.zeros((len(rows), max(map(len, rows))), numpy.int64)
        mask = numpy.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, :len(row)] = row
            mask[index, :len(row)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        logits = self.session.run(
            None, {name: feed for name, feed in feeds.items() if name in self.inputs})[0]
        scores = 1 / (1 + numpy.exp(-logits))
        return [json.dumps({"label": self.labels[row.argmax()], "score": float(row.max())}).encode()
                for row in scores]


class Batcher:
    """Inputs that wait for the session."""

    def __init__(self, model):
        self.model = model
        self.waiting = collections.deque()
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        self.running = False

    def add(self, row, done):
        """Calls done(answer) on the loop's thread."""
        self.waiting.append((row, done))
        if not self.running:
            self.running = True
            asyncio.get_running_loop().create_task(self.drain())

    async def drain(self):
        """Batches until nothing waits."""
        while self.waiting:
            batch = [self.waiting.popleft()
                     for _ in range(min(len(self.waiting), BATCH_INPUTS_MAX))]
            answers = await asyncio.get_running_loop().run_in_executor(
                self.thread, self.model.run, [row for row, _ in batch])
            for (_, done), answer in zip(batch, answers):
                done(answer)
        self.running = False


class Connection(asyncio.Protocol):
    """Keep-alive, one request at a time."""

    def __init__(self, batcher):
        self.batcher = batcher
        self.received = b""
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        bytes_whole = end + 4 + int(LENGTH.search(self.received, 0, end + 2).group(1))
        if len(self.received) < bytes_whole:
            return
        body, self.received = self.received[end + 4:bytes_whole], self.received[bytes_whole:]
        text = json.loads(body)["input"]
        self.batcher.add(self.batcher.model.tokenizer.encode(text).ids, self.answer)

    def answer(self, body):
        """Sends an answer."""
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n" % len(body) + body)


async def serve(model):
    """On a port of the loopback interface, for ever."""
    batcher = Batcher(model)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(batcher), "127.0.0.1", 0)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Model(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
