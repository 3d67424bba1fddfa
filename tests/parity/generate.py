#!/usr/bin/env python3
"""Makes the rows of the comparison with the pinned `tokenizers`:

    generate.py --out build/parity [--rows 600]        everything
    generate.py --out tests/parity/fixtures --sample   the committed sample

Writes a file for each tokenizer of catalog.py and real.py, and pool.json with what their documents
share: the models, which are trained when the committed pool has none (remove it to train anew).
Ends with status 1 when a piece is covered by none; --table prints which tokenizer covers what."""
import argparse
import base64
import json
import os
import pathlib
import random
import sys
import zlib

os.environ["TOKENIZERS_PARALLELISM"] = "false"
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]

from tokenizers import Tokenizer  # noqa: E402  (the paths come first)

import catalog  # noqa: E402
import models  # noqa: E402
import real  # noqa: E402
import reference  # noqa: E402
import rows as rows_of  # noqa: E402
import texts as texts_of  # noqa: E402

POOLED_BYTES = 1500
# In the sample left out: large files, and rows of many windows.
SAMPLED_BYTES = 1500
NOT_SAMPLED = {"wordpiece-many-added"}


class Pool:
    """Values that documents share, by name; large ones that are new get their CRC as a name."""

    def __init__(self):
        self.values, self.names = {}, {}

    def enter(self, name, value):
        self.values[name] = value
        self.names[catalog.compact(value)] = name

    def shrink(self, value):
        if isinstance(value, (dict, list, str)):
            text = catalog.compact(value)
            if text in self.names:
                return {"$pool": self.names[text]}
            if isinstance(value, dict) and "type" in value:
                return {name: self.shrink(one) for name, one in value.items()}
            if isinstance(value, list) and value and isinstance(value[0], dict) and \
                    "type" in value[0]:
                return [self.shrink(one) for one in value]
            if len(text) > POOLED_BYTES:
                name = "%08x" % zlib.crc32(text.encode())
                self.enter(name, value)
                return {"$pool": name}
        return value

    def shrink_document(self, document):
        return {name: self.shrink(one) for name, one in document.items()}


def load_models(pool):
    """The committed models, or new ones."""
    committed = rows_of.read_pool(rows_of.FIXTURES)
    made = committed.get("models")
    if made is None:
        made = {name: {field: value for field, value in model.items()}
                for name, model in models.make_models().items()}
        charsmap = base64.b64encode(real.small_charsmap()).decode()
    else:
        made = rows_of.expand(made, committed)
        charsmap = committed["charsmap"]
    for name, model in made.items():
        for field in ("vocab", "merges"):
            if field in model:
                pool.enter("%s.%s" % (name, field), model[field])
    pool.enter("charsmap", charsmap)
    pool.values["models"] = {name: {field: pool.shrink(value) for field, value in model.items()}
                             for name, model in made.items()}
    return made, charsmap


def truncate(rng, row, tokenizer):
    """A limit for the row. Left out is what makes the library ignore a limit or panic: one that the
    special tokens alone pass, a stride of a whole window."""
    specials = tokenizer.num_special_tokens_to_add("pair" in row) if row.get("special", True) else 0
    row["max"] = specials + rng.choice([1, 1, 2, 3, 4, 5, 6, 8, 11, 16, 33])
    row["strategy"] = rng.choice(["longest_first", "longest_first", "only_first", "only_second"])
    row["side"] = rng.choice(["right", "right", "left"])
    row["stride"] = rng.randrange(min(8, row["max"] - specials))
    if "pair" in row and row["strategy"] == "longest_first":
        row["stride"] //= 2


def make_asks(rng, tokenizer, document, count, always=True):
    """Rows without answers: texts with every option."""
    tokens = [one["content"] for one in document["added_tokens"]]
    if len(tokens) > 100:
        tokens = rng.sample(tokens, 100)
    texts = texts_of.make_texts(rng.random(), count, tokens, always)
    for text in texts:
        row = {"text": text}
        shape = rng.random()
        if 0.1 < shape < 0.3:
            row["pair"] = texts_of.make_text(rng, tokens)
        if shape < 0.06:
            row["special"] = False
        elif 0.2 < shape < 0.45:
            if rng.random() < 0.1:
                row["special"] = False
            truncate(rng, row, tokenizer)
        yield row


def make_rows(rng, tokenizer, document, count, always=True):
    size = len(tokenizer.get_vocab(True))
    for ask in make_asks(rng, tokenizer, document, count, always):
        row = reference.answer(tokenizer, ask)
        if row is None:
            continue
        yield row
        decode = None
        if row.get("windows") and rng.random() < 0.35:
            decode = row["windows"][0][0][:]
            if rng.random() < 0.2:
                rng.shuffle(decode)
        elif rng.random() < 0.1:
            decode = [rng.randrange(size) for _ in range(rng.randint(0, 12))]
        if decode is not None:
            row = reference.answer(tokenizer, {"decode": decode, "skip": rng.random() < 0.5})
            if row is not None:
                yield row


def write_rows(path, header, rows, row_max):
    count = 0
    with open(path, "w", encoding="utf-8") as out:
        for line in [header, *rows]:
            text = catalog.compact(line)
            if count == 0 or len(text) <= row_max:
                out.write(text + "\n")
                count += 1
    return count - 1


def sources(options, pool):
    """(name, tokenizer, document, header) of each tokenizer."""
    made, charsmap = load_models(pool)
    documents = catalog.make_catalog(made, charsmap)
    for name, document in documents.items():
        if not (options.sample and name in NOT_SAMPLED):
            yield (name, Tokenizer.from_str(json.dumps(document)), document,
                   {"document": pool.shrink_document(document)})
    yield from real.sources(options.sample, options.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, help="texts for each tokenizer")
    parser.add_argument("--sample", action="store_true", help="few texts, no large tokenizers")
    parser.add_argument("--table", action="store_true", help="print which tokenizer covers what")
    parser.add_argument("names", nargs="*", help="only these tokenizers")
    options = parser.parse_args()
    count = options.rows or (36 if options.sample else 600)
    options.out.mkdir(parents=True, exist_ok=True)
    pool, documents, total = Pool(), {}, 0
    for name, tokenizer, document, header in sources(options, pool):
        documents[name] = document
        if options.names and name not in options.names:
            continue
        header["tokens_crc32"] = reference.tokens_crc32(reference.list_tokens(tokenizer))
        rng = random.Random(name)
        total += write_rows(options.out / (name + ".jsonl"), header,
                            make_rows(rng, tokenizer, document, count),
                            SAMPLED_BYTES if options.sample else sys.maxsize)
    with open(options.out / "pool.json", "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join('"%s":%s' % (name, catalog.compact(value))
                                     for name, value in sorted(pool.values.items())) + "\n}\n")
    if options.table:
        print(catalog.table(documents))
    print("%d tokenizers, %d rows" % (len(documents), total))
    for piece in catalog.missing(documents.values()):
        print("covered by none: " + piece)
    return 1 if catalog.missing(documents.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
