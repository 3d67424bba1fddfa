#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/decoders.jsonl: what the pinned `tokenizers` decodes tokens to.

    pip install tokenizers==0.23.3
    python3 tests/golden/generate_decoder_fixtures.py

A row is an object with `decoder` (as in tokenizer.json, or null), `tokens` and the `text` that the
library joins them to. Lists for which it panics are left out. The seed is fixed."""
import json
import os
import random

import tokenizers
from tokenizers import Tokenizer

PINNED = "0.23.3"
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer", "decoders.jsonl")
LISTS_PER_DECODER = 12
MARK = "\u2581"

METASPACE = {"type": "Metaspace", "replacement": MARK}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
LLAMA = {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": MARK}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
DECODERS = [
    None,
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": False},
    {"type": "WordPiece", "prefix": "", "cleanup": True},
    BYTE_LEVEL,
    METASPACE,
    dict(METASPACE, prepend_scheme="never"),
    dict(METASPACE, prepend_scheme="first", split=False),
    dict(METASPACE, replacement="_", add_prefix_space=True),
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Strip", "content": MARK, "start": 1, "stop": 0},
    {"type": "Strip", "content": "a", "start": 2, "stop": 1},
    {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
    {"type": "Replace", "pattern": {"String": ""}, "content": "-"},
    {"type": "Replace", "pattern": {"String": "aa"}, "content": "\u00e9\u00e9\u00e9"},
    {"type": "Replace", "pattern": {"Regex": "a+|\\s"}, "content": "<>"},
    {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "BPEDecoder", "suffix": ""},
    {"type": "Sequence", "decoders": []},
    LLAMA,
    {"type": "Sequence", "decoders": [METASPACE, BYTE_LEVEL]},
]
FRAGMENTS = ["a", "aa", "aaa", "b", "##", "##a", "##ing", MARK, MARK + "a", "a" + MARK, MARK * 2,
             "_", "</w>", "a</w>", "<0x61>", "<0xE2>", "<0x82>", "<0xAC>", "<0xac>", "<0xFF>",
             "<0x+F>", "<0xG0>", "\u0120", "\u0120a", "\u00e2\u0124\u00ac", "\u00f0\u0141\u013a",
             "\u0122", "\u00ff", "\u00ed\u0142\u0122", "\u00e9", "\u20ac", "\U0001f600", " ", ".",
             "?", "!", ",", "'", " ' ", "n't", "'m", " do not", "do not", "'s", "'ve", "'re", "do",
             "not", "\u0301", "x", "hello"]


def tokens_of(rng, rows):
    count = rng.choice([1, 2, 3, 6, 10])
    return [rng.choice(FRAGMENTS) + (rng.choice(FRAGMENTS) if rng.random() < 0.3 else "")
            for _ in range(count)] if rows else list(FRAGMENTS)


def text_of(decoder, tokens):
    vocab = {token: i for i, token in enumerate(dict.fromkeys(["[UNK]"] + tokens))}
    tokenizer = Tokenizer.from_str(json.dumps({
        "version": "1.0", "decoder": decoder,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}}))
    try:
        return tokenizer.decode([vocab[token] for token in tokens])
    except BaseException as fault:  # pylint: disable=broad-except
        if type(fault).__name__ != "PanicException":
            raise
        return None


def main():
    assert tokenizers.__version__ == PINNED
    rng = random.Random(5)
    with open(OUT, "w", encoding="ascii") as out:
        for decoder in DECODERS:
            for row in range(LISTS_PER_DECODER):
                tokens = tokens_of(rng, row)
                text = text_of(decoder, tokens)
                if text is not None:
                    out.write(json.dumps({"decoder": decoder, "tokens": tokens, "text": text},
                                         separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
