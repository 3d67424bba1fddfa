#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/models.jsonl: what the models of the pinned `tokenizers` make of
words, odd vocabularies and settings included.

    pip install tokenizers==0.23.3
    python3 tests/golden/generate_model_fixtures.py

A row is an object with `model` (as in tokenizer.json; there is no other part), or one with `text`,
`ids` and flat `offsets`, or with `text` and `error`, for the model before it. The seed is fixed."""
import json
import os
import random

import tokenizers
from tokenizers import Tokenizer

PINNED = "0.23.3"
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer", "models.jsonl")
RANDOM_MODELS, TEXTS_PER_MODEL = 150, 6
ALPHABET = ["a", "b", "c", "d", "\u00e9", "\u00fc", "\u2603", "\U0001f600", "\u30a2", " "]
LETTERS = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "<unk>": 6}


def bpe(vocab, merges, **settings):
    """A BPE of tokenizer.json."""
    return {"type": "BPE", "vocab": vocab, "merges": merges, **settings}


def unigram(vocab, unk_id=0, **settings):
    """A Unigram of tokenizer.json."""
    return {"type": "Unigram", "unk_id": unk_id, "vocab": vocab, **settings}


def byte_tokens(leave_out=""):
    """The byte tokens that the alphabet needs, but for one."""
    return [token for token in ("<0x%02X>" % byte
                                for byte in sorted(set("".join(ALPHABET).encode())))
            if token != leave_out]


# What the library does that one would not expect, one by one.
ODD = [
    # A pair out of date counts when what now stands there becomes the same token.
    (bpe(LETTERS, ["b c", "a bc", "a b", "ab c"]), ["abc", "abcabc", "aabcc"]),
    # A pair that comes twice has its last rank.
    (bpe(LETTERS, ["a b", "b c", "a b"]), ["abc"]),
    # Without unk_token unknown characters vanish, and spans close up.
    (bpe(LETTERS, ["a b"]), ["a\u00e9b", "ab\u2603", "\u00e9", "\u00e9a\u2603bc"]),
    # Byte tokens overtake an unknown character that waits.
    (bpe({**LETTERS, **{t: 10 + i for i, t in enumerate(byte_tokens("<0xC3>"))}}, [],
         unk_token="<unk>", byte_fallback=True, fuse_unk=True), ["a\u00e9\u2603b", "\u00e9\u2603"]),
    # An unknown token that is itself unknown is an error only when it is needed.
    (bpe(LETTERS, [], unk_token="none"), ["ab", "a\u00e9"]),
    (bpe({**LETTERS, "a##b": 7, "##b": 8}, [], ignore_merges=True,
         continuing_subword_prefix="##"), ["abc", "a##b", "ab"]),
    # Unknown characters that together spell a piece are that piece.
    (unigram([["<unk>", 200], ["ab", 100], ["c", 100]]), ["abc", "abab", "d"]),
    # The spelt unknown piece fuses with its neighbours.
    (unigram([["<unk>", 0], ["a", -1]]), ["a<unk>b", "b<unk>", "<unk><unk>"]),
    # All bytes of a run have the span of the run.
    (unigram([["<unk>", 0]] + [[t, 0] for t in byte_tokens()], byte_fallback=True),
     ["\u00e9\u00fc", "a\u2603"]),
    # Of equal pieces the last one counts; the empty piece never does.
    (unigram([["<unk>", 0], ["", 9], ["a", -1], ["a", -5], ["aa", -7]]), ["aaa", "b"]),
    (unigram([["a", 0]], unk_id=None), ["aa", "ab"]),
    # Scores one step off the nearest double decide between paths of equal sum.
    (unigram([["<unk>", -5.5], ["\u30a2", -4.0839447902716275],
              ["\u2603\u2603", -1.8591230314268958], ["\u2603", -5]]), ["\u2603" * 7]),
    ({"type": "WordLevel", "unk_token": "<unk>", "vocab": LETTERS}, ["ab", "abab"]),
    ({"type": "WordLevel", "unk_token": "none", "vocab": LETTERS}, ["ab", "abab"]),
]


def random_text(rng):
    """A text of few different characters."""
    letters = rng.sample(ALPHABET, rng.randint(2, len(ALPHABET)))
    return "".join(rng.choice(letters) for _ in range(rng.randint(1, rng.choice([3, 8, 25]))))


def random_bpe(rng):
    """A BPE with merges of what it has, with or without prefix, suffix, bytes."""
    prefix, suffix = rng.choice([None, None, "", "##"]), rng.choice([None, None, "", "</w>"])
    before, behind = prefix or "", suffix or ""
    vocab = {}
    for letter in rng.sample(ALPHABET[:-1], rng.randint(2, 8)):
        for token in sorted({letter, before + letter, letter + behind, before + letter + behind}):
            if rng.random() < 0.9:
                vocab.setdefault(token, len(vocab))
    merges = []
    for _ in range(rng.randint(0, 25) if vocab else 0):
        left, right = rng.choice(list(vocab)), rng.choice(list(vocab))
        if right.startswith(before):
            vocab.setdefault(left + right[len(before):], len(vocab))
            merges.append([left, right])
    fallback = rng.random() < 0.3 and not before and not behind
    for token in byte_tokens() if fallback else []:
        if rng.random() < 0.95:
            vocab.setdefault(token, len(vocab))
    unknown = rng.choice([None, "<unk>"])
    vocab.setdefault("<unk>", len(vocab))
    if rng.random() < 0.5:
        merges = [" ".join(merge) for merge in merges]
    return bpe(vocab, merges, unk_token=unknown, continuing_subword_prefix=prefix,
               end_of_word_suffix=suffix, fuse_unk=rng.random() < 0.5, byte_fallback=fallback,
               ignore_merges=rng.random() < 0.3)


def random_unigram(rng):
    """A Unigram of short pieces, with scores that tie now and then."""
    letters = rng.sample(ALPHABET, rng.randint(2, 8))
    whole = rng.random() < 0.4
    vocab = [["<unk>", rng.choice([0, -1, -5.5])]]
    for _ in range(rng.randint(1, 25)):
        piece = "".join(rng.choice(letters) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])))
        score = float(-rng.randint(0, 6)) if whole else rng.choice([-1, -1, -1, 5]) * rng.random()
        vocab.append([piece, score])
    fallback = rng.random() < 0.3
    vocab += [[token, -3.0] for token in byte_tokens() if fallback and rng.random() < 0.98]
    return unigram(vocab, byte_fallback=fallback)


def rows_of(model, texts):
    """The rows of a model and its texts."""
    library = Tokenizer.from_str(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": model}))
    yield {"model": model}
    for text in texts:
        try:
            made = library.encode(text)
        except Exception:  # the library raises nothing narrower
            yield {"text": text, "error": True}
            continue
        offsets = [at for span in made.offsets for at in span]
        yield {"text": text, "ids": made.ids, "offsets": offsets}


def main():
    assert tokenizers.__version__ == PINNED, tokenizers.__version__
    rng = random.Random(11)
    models = list(ODD)
    for i in range(RANDOM_MODELS):
        make = random_unigram if i % 2 else random_bpe
        models.append((make(rng), [random_text(rng) for _ in range(TEXTS_PER_MODEL)]))
    with open(OUT, "w", encoding="utf-8") as out:
        for model, texts in models:
            for row in rows_of(model, texts):
                out.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
