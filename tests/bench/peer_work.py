"""The work of the bench: cells of texts, made from the demo model's labelled texts and the same in
every run.

A cell is one kind of traffic. Lengths count tokens with the special ones; a text of N tokens is a
slice of the labelled texts that the tokenizer cuts into exactly N."""
import dataclasses
import json
import random

LENGTH_MIN, LENGTH_MAX = 8, 512


@dataclasses.dataclass(frozen=True)
class Cell:
    """Texts, and what a runtime may do with them: put them in which order, how many in a batch.
    Cells of the same `texts_key` have the same texts."""
    key: str
    title: str
    texts_key: str
    texts: list
    tokens: int
    orders: tuple = ("arrival",)
    batches: tuple = (1, 8, 32)

    @property
    def single(self):
        """Whether a text comes only when the one before it is answered."""
        return self.batches == (1,)


class Slicer:
    """Cuts texts of given lengths out of one long text, each from another place."""

    def __init__(self, tokenizer, text):
        self.tokenizer, self.text = tokenizer, text
        self.offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        self.random = random.Random(1)

    def cut(self, length):
        """A text of `length` tokens, two of them special."""
        while True:
            first = self.random.randrange(len(self.offsets) - length)
            last = first + length - 3
            text = self.text[self.offsets[first][0]:self.offsets[last][1]]
            if len(self.tokenizer.encode(text).ids) == length:
                return text


def log_normal_lengths(count):
    """Lengths around a median of 64 tokens."""
    source = random.Random(2)
    return [min(LENGTH_MAX, max(LENGTH_MIN, round(64 * source.lognormvariate(0, 0.8))))
            for _ in range(count)]


def read_labelled(path):
    """[(text, [labels])] of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row["text"], row["labels"]) for row in rows]


def make_cells(tokenizer, texts, weight):
    """All cells, in the order of the report. `weight`: how much more work a token is than with the
    demo model; so many times fewer texts are taken, down to a batch of 32, or two alone."""
    slicer = Slicer(tokenizer, " ".join(texts))

    def count(wanted, least):
        return max(least, wanted // weight)

    def cell(key, title, chosen, texts_key=None, **more):
        tokens = sum(len(encoding.ids) for encoding in tokenizer.encode_batch(chosen))
        return Cell(key, title, texts_key or key, chosen, tokens, **more)

    fixed = [slicer.cut(128) for _ in range(32)]
    short = texts[:count(256, 32)]
    spread = [slicer.cut(length) for length in log_normal_lengths(count(96, 32))]
    sortable, batches = ("sorted", "arrival"), (1, 8, 32, 64)
    cells = [
        cell("fixed", "(i) 32 texts of 128 tokens", fixed),
        cell("short", "(ii) short texts, peers may sort", short, orders=sortable, batches=batches),
        cell("short-arrival", "(ii) short texts in arrival order", short, "short",
             batches=batches),
        cell("spread", "(iii) log-normal lengths, peers may sort", spread, orders=sortable),
        cell("spread-arrival", "(iii) log-normal lengths in arrival order", spread, "spread"),
    ]
    for length, wanted in ((8, 64), (32, 32), (128, 16), (512, 6)):
        chosen = [slicer.cut(length) for _ in range(count(wanted, 2))]
        cells.append(cell(f"one-{length}", f"(iv) one text at a time, {length} tokens", chosen,
                          batches=(1,)))
    return cells
