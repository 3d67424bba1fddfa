#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/: what the pinned `tokenizers` makes of texts of every kind.

    pip install tokenizers==0.23.3
    python3 tests/golden/generate_tokenizer_fixtures.py

encodings.jsonl  a line with "variant" changes the demo model's tokenizer.json (fields in "set"
                 replace those of the file, "alphabet" replaces the vocabulary); the rows under it
                 are texts with ids, offsets in code points (flat) and, for pairs, type_ids.
digests.json     per normalizer and pre-tokenizer, a CRC-32 of what it makes of "a" + c + "b", for
                 each 4096 code points c in turn, surrogates left out.

The same numbers come out each time; the texts are made by a generator with a fixed seed.
"""
import json
import os
import random
import zlib

import tokenizers
from tokenizers import Tokenizer, normalizers, pre_tokenizers

PINNED = "0.23.3"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEMO = "models/goemotions-minilm/tokenizer.json"
OUT = os.path.join(ROOT, "tests", "golden", "tokenizer")
BLOCK = 4096

SCRIPTS = {
    "latin": [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF)],
    "greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "cyrillic": [(0x400, 0x52F)],
    "armenian and georgian": [(0x531, 0x58F), (0x10A0, 0x10FF), (0x1C90, 0x1CBF)],
    "hebrew": [(0x591, 0x5F4), (0xFB1D, 0xFB4F)],
    "arabic": [(0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)],
    "syriac to nko": [(0x700, 0x7FF)],
    "devanagari": [(0x900, 0x97F)],
    "bengali to sinhala": [(0x980, 0xDFF)],
    "thai and lao": [(0xE01, 0xEFF)],
    "tibetan": [(0xF00, 0xFFF)],
    "myanmar to khmer": [(0x1000, 0x109F), (0x1780, 0x17FF)],
    "jamo": [(0x1100, 0x11FF), (0x3130, 0x318F)],
    "hangul": [(0xAC00, 0xD7A3)],
    "ethiopic to mongolian": [(0x1200, 0x177F), (0x1800, 0x18AF)],
    "kana": [(0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)],
    "ideographs": [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2A6FF),
                   (0x2B820, 0x2B930), (0x2F800, 0x2FA1F), (0x30000, 0x30050)],
    "wide forms": [(0xFF01, 0xFF65), (0xFFE0, 0xFFEE), (0x3000, 0x303F)],
    "punctuation": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xBF),
                    (0x2010, 0x2027), (0x2030, 0x205E), (0x2E00, 0x2E5D)],
    "symbols": [(0x20A0, 0x20C0), (0x2100, 0x214F), (0x2190, 0x23FF), (0x2460, 0x27BF)],
    "emoji": [(0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1FAFF), (0x1F1E6, 0x1F1FF)],
    "letters for mathematics": [(0x1D400, 0x1D7FF)],
    "music with marks": [(0x1D100, 0x1D1DD)],
    "old scripts": [(0x10000, 0x100FF), (0x10400, 0x104FF), (0x11000, 0x111FF), (0x12000, 0x120FF),
                    (0x13000, 0x130FF), (0x1E900, 0x1E95F), (0x10A00, 0x10AFF)],
    "cased past the BMP": [(0x10400, 0x1044F), (0x118A0, 0x118DF), (0x16E40, 0x16E7F)],
    "private and unassigned": [(0xE000, 0xE010), (0x378, 0x379), (0xF0000, 0xF0010),
                               (0x10FFF0, 0x10FFFF), (0xFFF0, 0xFFFF)],
}
MARKS = [(0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A), (0x64B, 0x65F),
         (0x93C, 0x94D), (0xE34, 0xE4E), (0xF71, 0xF84), (0x1AB0, 0x1ABE), (0x1DC0, 0x1DFF),
         (0x20D0, 0x20F0), (0x302A, 0x302F), (0x3099, 0x309A), (0xFE20, 0xFE2F),
         (0x1D165, 0x1D172), (0x1B44, 0x1B44)]
CONTROLS = [(0x0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x200B, 0x200F), (0x202A, 0x202E),
            (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFD), (0x61C, 0x61C), (0x180E, 0x180E),
            (0xE0001, 0xE0020)]
BLANKS = " \t\n\r\u00a0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000\u0085\u000b\u000c"
COMPOSED = "\u1ed9\u1e69\u0390\u01d6\u0344\u0958\u09cb\u0f73\u0f81\u1f82\u2126\u212b\u0130\ufb2c"


def pick(rng, ranges):
    low, high = rng.choice(ranges)
    return chr(rng.randint(low, high))


def word(rng, ranges, longest=9):
    return "".join(pick(rng, ranges) for _ in range(rng.randint(1, longest)))


def marked(rng):
    """Letters under heaps of marks, whose order matters."""
    text = ""
    for _ in range(rng.randint(1, 4)):
        text += rng.choice("aeoAEO\u1ed9\u03b1\u05d0\u0915\u1112") if rng.random() < 0.6 else \
            rng.choice(COMPOSED)
        text += "".join(pick(rng, MARKS) for _ in range(rng.randint(0, 5)))
        if rng.random() < 0.3:
            text += rng.choice(COMPOSED)
    return text


def english(rng, words, longest=8):
    out = []
    for _ in range(rng.randint(1, longest)):
        text = rng.choice(words)
        shape = rng.random()
        text = text.capitalize() if shape < 0.3 else text.upper() if shape < 0.4 else text
        out.append(text + (rng.choice(",.!?;:'\"-)") if rng.random() < 0.3 else ""))
    return " ".join(out)


def one_text(rng, words, tokens):
    kind = rng.randrange(12)
    if kind < 3:
        return english(rng, words)
    if kind < 6:
        names = [rng.choice(sorted(SCRIPTS)) for _ in range(rng.randint(1, 3))]
        return rng.choice([" ", "", "\u3000"]).join(word(rng, SCRIPTS[n]) for n in names)
    if kind == 6:
        return " ".join(marked(rng) for _ in range(rng.randint(1, 3)))
    if kind == 7:
        text = english(rng, words, 4)
        for _ in range(rng.randint(1, 5)):
            at = rng.randint(0, len(text))
            text = text[:at] + pick(rng, CONTROLS) + text[at:]
        return text
    if kind == 8:
        parts = [rng.choice(words) for _ in range(rng.randint(1, 5))]
        return "".join(p + "".join(rng.choice(BLANKS) for _ in range(rng.randint(0, 3)))
                       for p in parts)
    if kind == 9:
        text = english(rng, words, 4)
        for _ in range(rng.randint(1, 4)):
            at = rng.randint(0, len(text))
            blank = rng.choice(["", " ", "  ", "\u00a0", "\n"])
            text = text[:at] + rng.choice(["", blank]) + rng.choice(tokens) + blank + text[at:]
        return text
    if kind == 10:
        joined = rng.choice(["\u200d", "", "\ufe0f", "\U0001F3FD"])
        return english(rng, words, 2) + " " + joined.join(
            pick(rng, SCRIPTS["emoji"]) for _ in range(rng.randint(1, 4)))
    piece = rng.choice(["a", "un", "\u00e9", "\ud55c", "x" * 9, "ing", "\u0915\u0941"])
    return piece * rng.randint(1, 60) + rng.choice(["", " ok", "."])


def row_of(tokenizer, text, pair=None):
    row = {"text": text}
    if pair is None:
        encoding = tokenizer.encode(text)
    else:
        encoding = tokenizer.encode(text, pair)
        row["text_pair"] = pair
        row["type_ids"] = encoding.type_ids
    row["ids"] = encoding.ids
    row["offsets"] = [place for span in encoding.offsets for place in span]
    return row


def bert(clean=True, ideographs=True, strip=None, lower=True):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": ideographs,
            "strip_accents": strip, "lowercase": lower}


def sequence(*names):
    return {"type": "Sequence", "normalizers": [{"type": n} for n in names]}


def truncation(length, strategy="LongestFirst", side="Right"):
    return {"direction": side, "max_length": length, "strategy": strategy, "stride": 0}


def added(vocab, flags):
    """Added tokens with flags of their own; new ones get the ids behind the vocabulary."""
    free = 1 + max(vocab.values())
    out = []
    for content, more in flags:
        out.append(dict({"id": vocab.get(content, free), "content": content, "single_word": False,
                         "lstrip": False, "rstrip": False, "normalized": False, "special": False},
                        **more))
        free += content not in vocab
    return out


# Rows, and what is changed. Pairs where the name says so.
ADDED = [("[ENT]", {"lstrip": True}), ("[END]", {"rstrip": True}),
         ("<both>", {"lstrip": True, "rstrip": True}), ("YES", {"single_word": True}),
         ("Caf\u00e9", {"normalized": True}), ("new york", {"normalized": True, "lstrip": True}),
         ("ab", {}), ("abc", {}), ("b c", {}),
         ("Zed", {"normalized": True, "single_word": True, "rstrip": True}), ("\u4e2d", {}),
         ("\u6587", {"normalized": True})]
VARIANTS = [
    ("demo", 1500, {}),
    ("cased", 120, {"normalizer": bert(lower=False)}),
    ("cased, accents off", 120, {"normalizer": bert(lower=False, strip=True)}),
    ("lowercase, accents kept", 120, {"normalizer": bert(strip=False)}),
    ("not cleaned", 120, {"normalizer": bert(clean=False)}),
    ("ideographs not spaced", 120, {"normalizer": bert(ideographs=False)}),
    ("no normalizer", 60, {"normalizer": None}),
    ("NFD, lowercase, marks", 120, {"normalizer": sequence("NFD", "Lowercase", "StripAccents")}),
    ("marks alone", 60, {"normalizer": {"type": "StripAccents"}}),
    ("words and signs", 120, {"pre_tokenizer": {"type": "Whitespace"}}),
    ("blanks only", 60, {"pre_tokenizer": {"type": "WhitespaceSplit"}}),
    ("blanks, then punctuation", 60, {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}]}}),
    ("no pre-tokenizer", 40, {"pre_tokenizer": None}),
    ("no template", 40, {"post_processor": None}),
    ("added", 200, "added"),
    ("letters", 200, "alphabet"),
    ("letters, NFD", 100, "alphabet"),
    ("pairs", 60, {}),
    ("pairs, no template", 20, {"post_processor": None}),
    ("pairs, 12", 60, {"truncation": truncation(12)}),
    ("pairs, 11 from the left", 40, {"truncation": truncation(11, side="Left")}),
    ("pairs, 3", 20, {"truncation": truncation(3)}),
    ("16 from the left", 40, {"truncation": truncation(16, side="Left")}),
    ("7", 40, {"truncation": truncation(7)}),
]
SPECIALS = ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "[sep]", "[MASK"]


def alphabet_model(texts, normalizer):
    """A vocabulary of single characters: its pieces spell the normalised text."""
    normalize = (normalizers.NFD() if normalizer == {"type": "NFD"} else
                 normalizers.BertNormalizer()).normalize_str
    letters = "".join(sorted({c for text in texts for c in normalize(text)}))
    vocab = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
    for i, letter in enumerate(letters):
        vocab[letter] = 3 + 2 * i
        vocab["##" + letter] = 4 + 2 * i
    return letters, vocab


def write_encodings(base):
    rng = random.Random(20240607)
    words = [w for w in base["model"]["vocab"] if w.isalpha() and w.isascii()]
    tokens = SPECIALS + [content for content, _ in ADDED]
    total = 0
    with open(os.path.join(OUT, "encodings.jsonl"), "w", encoding="ascii") as out:
        def line(value):
            out.write(json.dumps(value, separators=(",", ":")) + "\n")

        for name, count, change in VARIANTS:
            document = json.loads(json.dumps(base))
            header = {"variant": name, "set": {}}
            texts = [one_text(rng, words, tokens) for _ in range(count)]
            if change == "added":
                header["set"]["added_tokens"] = document["added_tokens"] + added(
                    document["model"]["vocab"], ADDED)
            elif change == "alphabet":
                normalizer = {"type": "NFD"} if "NFD" in name else bert()
                texts = [marked(rng) if rng.random() < 0.7 else text for text in texts]
                header["alphabet"], vocab = alphabet_model(texts, normalizer)
                document["model"]["vocab"] = vocab
                header["set"] = {"normalizer": normalizer, "added_tokens": [],
                                 "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2],
                                                    "cls": ["[CLS]", 1]}}
            else:
                header["set"] = change
            document.update(header["set"])
            tokenizer = Tokenizer.from_str(json.dumps(document))
            line(header)
            for text in texts:
                pair = one_text(rng, words, tokens) if name.startswith("pairs") else None
                line(row_of(tokenizer, text, pair))
            total += count
    return total


def digests(make):
    out, block = [], bytearray()
    for code in range(0x110000):
        if not 0xD800 <= code <= 0xDFFF:
            block += make("a" + chr(code) + "b")
        if code % BLOCK == BLOCK - 1:
            out.append("%08x" % zlib.crc32(bytes(block)))
            block = bytearray()
    return out


def write_digests():
    rows = []
    for flags in ((True, False, False, False), (False, True, False, False),
                  (False, False, True, False), (False, False, False, True),
                  (True, True, None, True), (True, True, None, False), (True, True, False, True)):
        normalize = normalizers.BertNormalizer(*flags).normalize_str
        rows.append({"normalizer": bert(*flags),
                     "crc32": digests(lambda t, n=normalize: n(t).encode() + b"\xff")})
    for name in ("NFD", "StripAccents", "Lowercase"):
        normalize = getattr(normalizers, name)().normalize_str
        rows.append({"normalizer": {"type": name},
                     "crc32": digests(lambda t, n=normalize: n(t).encode() + b"\xff")})
    for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit"):
        split = getattr(pre_tokenizers, name)().pre_tokenize_str
        rows.append({"pre_tokenizer": {"type": name}, "crc32": digests(
            lambda t, s=split: b"".join(p.encode() + b"\xfe" for p, _ in s(t)) + b"\xff")})
    with open(os.path.join(OUT, "digests.json"), "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main():
    assert tokenizers.__version__ == PINNED, "needs tokenizers " + PINNED
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(ROOT, DEMO), encoding="utf-8") as file:
        base = json.load(file)
    print("%d texts" % write_encodings(base))
    write_digests()


if __name__ == "__main__":
    main()
