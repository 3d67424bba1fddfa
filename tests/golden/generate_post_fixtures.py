#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/post.jsonl: what the pinned `tokenizers` makes of texts and pairs
with every kind of post-processor, truncation and added token, overflowing windows included.

    pip install tokenizers==0.23.3
    python3 tests/golden/generate_post_fixtures.py

The first row has the `vocab` of all. A row is an object with `tokenizer` (a tokenizer.json without
its model), `text`, `text_pair` or null, `add` (special
tokens) and `encodings`: first what is kept, then what overflows, each as `ids`, `type_ids`,
`offsets` (code points) and `mask` (of special tokens). Inputs for which the library panics are left
out, and truncations that leave no room for the special tokens or the stride. The seed is fixed."""
import json
import os
import random

import tokenizers
from tokenizers import Tokenizer

PINNED = "0.23.3"
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer", "post.jsonl")
ROWS = 300
BLANK = "\u0120"
WORDS = ["a", "b", "\u00e9", BLANK, BLANK + "a", "a" + BLANK, BLANK * 2 + "b", BLANK + "b" + BLANK,
         BLANK * 3]
VOCAB = {word: i for i, word in enumerate(
    ["[UNK]", "[CLS]", "[SEP]", "[M]"] + WORDS + ["##" + word for word in WORDS])}


def sequence(name, rng):
    return {"Sequence": {"id": name, "type_id": rng.choice([0, 1, 2, 200])}}


def special(rng):
    return {"SpecialToken": {"id": rng.choice(["[CLS]", "[SEP]", "two"]),
                             "type_id": rng.choice([0, 1, 7])}}


def form(names, rng):
    pieces = []
    for name in names:
        if rng.random() < 0.5:
            pieces.append(special(rng))
        pieces.append(sequence(name, rng))
    if rng.random() < 0.7:
        pieces.append(special(rng))
    return pieces


def processor(rng, kinds):
    kind = rng.choice(kinds)
    flags = {"trim_offsets": rng.random() < 0.8, "add_prefix_space": rng.random() < 0.5}
    named = {"sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    if kind == "BertProcessing":
        return dict(named, type=kind)
    if kind == "RobertaProcessing":
        return dict(named, type=kind, **flags)
    if kind == "ByteLevel":
        return dict(type=kind, use_regex=True, **flags)
    if kind == "TemplateProcessing":
        pair = rng.choice(["AB", "AB", "AB", "BA", "A", "B", "ABA"])
        return {"type": kind, "single": form(rng.choice(["A", "A", "A", "", "AA"]), rng),
                "pair": form(pair, rng),
                "special_tokens": {
                    "[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                    "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]},
                    "two": {"id": "two", "ids": [2, 1], "tokens": ["[SEP]", "[CLS]"]}}}
    if kind == "Sequence":
        plain = ["BertProcessing", "RobertaProcessing", "ByteLevel", "TemplateProcessing"]
        return {"type": kind, "processors": [processor(rng, plain)
                                             for _ in range(rng.randint(0, 3))]}
    return None


def added_token(content, rng, at):
    flags = {name: rng.random() < 0.35 for name in ("single_word", "lstrip", "rstrip")}
    return dict(flags, id=at, content=content, normalized=rng.random() < 0.5,
                special=rng.random() < 0.5)


def tokenizer(rng):
    contents = rng.sample(["[M]", "<x>", "<x>y", "XY", "xy", "x y", " ", "a a", "\u00c9", "<"],
                          rng.randint(0, 4))
    if len({content.lower() for content in contents}) < len(contents):
        return tokenizer(rng)  # the library would take one of two equal forms by chance
    tokens, free = [], len(VOCAB)
    for content in contents:
        known = VOCAB.get(content)
        tokens.append(added_token(content, rng, free if known is None else known))
        free += known is None
    truncation = None
    if rng.random() < 0.6:
        truncation = {"direction": rng.choice(["Right", "Left"]),
                      "max_length": rng.randint(2, 9), "stride": rng.choice([0, 0, 1, 2]),
                      "strategy": rng.choice(["LongestFirst"] * 3 + ["OnlyFirst", "OnlySecond"])}
    return {"version": "1.0", "truncation": truncation, "padding": None, "added_tokens": tokens,
            "normalizer": rng.choice([None, {"type": "Lowercase"}]),
            "pre_tokenizer": rng.choice([None, {"type": "WhitespaceSplit"}]),
            "post_processor": processor(rng, ["BertProcessing", "RobertaProcessing", "ByteLevel",
                                              "TemplateProcessing", "TemplateProcessing",
                                              "Sequence", "none"]),
            "decoder": None,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": VOCAB,
                      "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}


def text(rng):
    pieces = WORDS + [" ", " ", " ", "  ", "\u3000", "<x>", "xy", "XY", "x y", "\u00c9", "[M]",
                      "<x>y", "q", "_", "<"]
    return "".join(rng.choice(pieces) for _ in range(rng.choice([0, 1, 3, 6, 10])))


def encoding(value):
    return {"ids": value.ids, "type_ids": value.type_ids, "offsets": value.offsets,
            "mask": value.special_tokens_mask}


def row(rng):
    document, first = tokenizer(rng), text(rng)
    second = text(rng) if rng.random() < 0.5 else None
    add = rng.random() < 0.8
    try:
        made = Tokenizer.from_str(json.dumps(document))
        room = min((document["truncation"] or {"max_length": 99})["max_length"] -
                   made.num_special_tokens_to_add(pair) for pair in (False, True))
        if room < 0 or room <= (document["truncation"] or {"stride": 0})["stride"]:
            return None  # refused by the project
        whole = made.encode(first, second, add_special_tokens=add)
    except BaseException as fault:  # pylint: disable=broad-except
        if type(fault).__name__ not in ("PanicException", "Exception"):
            raise
        return None
    return {"tokenizer": document, "text": first, "text_pair": second, "add": add,
            "encodings": [encoding(value) for value in [whole] + whole.overflowing]}


def model_token_with_an_added_form():
    """The model finds a token that is an added one too, whose own form has a blank in front."""
    document = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [dict(added_token("b", random.Random(1), 5), single_word=False,
                              lstrip=False, rstrip=False, normalized=True, special=False)],
        "normalizer": {"type": "Prepend", "prepend": " "},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                           "use_regex": True},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": VOCAB,
                  "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}
    whole = Tokenizer.from_str(json.dumps(document)).encode("b a\tb b")
    return {"tokenizer": document, "text": "b a\tb b", "text_pair": None, "add": True,
            "encodings": [encoding(whole)]}


def main():
    assert tokenizers.__version__ == PINNED
    rng = random.Random(11)
    count = 0
    with open(OUT, "w", encoding="ascii") as out:
        out.write(json.dumps({"vocab": VOCAB}, separators=(",", ":")) + "\n")
        while count <= ROWS:
            made = row(rng) if count < ROWS else model_token_with_an_added_form()
            if made is not None and len(made["encodings"]) < 30:
                del made["tokenizer"]["model"]
                out.write(json.dumps(made, separators=(",", ":")) + "\n")
                count += 1


if __name__ == "__main__":
    main()
