"""One session of one runtime in a process of its own: commands come as JSON lines on standard
input, each is answered by one line. peer_session.py is the other end.

peer_worker.py RUNTIME DTYPE THREADS CPU MODELS CHECKPOINT WORK; CPU is a number to stay on, or -.
Commands: run (whole passes over this session's share of a cell, tokenization included), logits,
serve (over HTTP, from then on)."""
import json
import os
import pathlib
import sys
import time

WARM_S = 0.2  # before each measurement, as bertd bench does
WARM_FIRST_S = 1.0  # at most, for a pass over shapes that the runtime has not seen


def batches_sorted(tokenizer, texts, size):
    """Batches of ids, short ones first: a text has few neighbours of another length."""
    sequences = sorted((e.ids for e in tokenizer.encode_batch(texts)), key=len)
    for start in range(0, len(sequences), size):
        yield sequences[start:start + size]


def batches_in_order(tokenizer, texts, size):
    """Batches of ids as the texts come."""
    for start in range(0, len(texts), size):
        yield [e.ids for e in tokenizer.encode_batch(texts[start:start + size])]


BATCHES = {"sorted": batches_sorted, "arrival": batches_in_order}


class Worker:
    """The session with its tokenizer, and the texts of all cells."""

    def __init__(self, runtime, tokenizer, work):
        self.runtime, self.tokenizer, self.work = runtime, tokenizer, work
        self.seen = set()  # commands whose shapes the runtime knows

    def one_pass(self, texts, command, until=float("inf")):
        """Computes all texts once, but begins no batch after `until`; returns their tokens."""
        tokens = 0
        for batch in BATCHES[command["order"]](self.tokenizer, texts, command["batch"]):
            self.runtime.logits(batch)
            tokens += sum(map(len, batch))
            if time.perf_counter() > until:
                break
        return tokens

    def warm_up(self, texts, command):
        """Makes ready what runtimes prepare for shapes that they have not seen."""
        kind = (command["texts"], command["order"], command["batch"], command["share"][1])
        limit_s = WARM_S if kind in self.seen else WARM_FIRST_S
        self.seen.add(kind)
        start = time.perf_counter()
        self.one_pass(texts, command, start + limit_s)
        while time.perf_counter() < start + WARM_S:
            self.one_pass(texts, command, start + WARM_S)

    def run(self, command):
        """Whole passes until the time is over."""
        first, count = command["share"]
        texts = self.work[command["texts"]][first::count]
        self.warm_up(texts, command)
        start, tokens = time.perf_counter(), 0
        while True:
            tokens += self.one_pass(texts, command)
            seconds = time.perf_counter() - start
            if seconds >= command["seconds"]:
                return {"tokens": tokens, "seconds": seconds}

    def logits(self, command):
        """Logits of all texts of a cell, in their order."""
        rows = []
        for batch in batches_in_order(self.tokenizer, self.work[command["texts"]], 32):
            rows += self.runtime.logits(batch).tolist()
        return rows

    def serve(self, command):
        """Serves until standard input ends."""
        import peer_server
        peer_server.start(self.runtime, self.tokenizer, command)
        return "serving"


def settle(threads, cpu, models):
    """Keeps to a CPU and to a number of threads, before libraries start theirs; what they compile
    stays beside the models."""
    if cpu != "-":
        os.sched_setaffinity(0, {int(cpu)})
    for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = threads
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(pathlib.Path(models) / "compiled")
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if int(threads) > 1 else "false"


def main():
    """Answers commands until standard input ends."""
    name, dtype, threads, cpu, models, checkpoint, work = sys.argv[1:]
    settle(threads, cpu, models)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print what they like, elsewhere
    import tokenizers
    import peer_runtimes
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(checkpoint) / "tokenizer.json"))
    worker = Worker(peer_runtimes.open_runtime(name, dtype, threads, models, checkpoint),
                    tokenizer, json.loads(pathlib.Path(work).read_text("utf-8")))
    commands = {"run": worker.run, "logits": worker.logits, "serve": worker.serve}
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(commands[command["do"]](command)), file=answers, flush=True)
    answers.flush()
    os._exit(0)  # not waiting for the threads of a server, or of a library


if __name__ == "__main__":
    main()
