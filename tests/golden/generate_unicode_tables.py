#!/usr/bin/env python3
"""Writes engine/text/unicode_tables.c by asking the pinned `tokenizers` about every code point.

    pip install tokenizers==0.23.3
    python3 tests/golden/generate_unicode_tables.py

The pinned library mixes several Unicode ages (categories, decompositions, lowercase, \\w), so no
published table matches it. Each property below is therefore observed from outside, on the smallest
text that shows it. Nothing is taken from Python's own tables but a list of candidates for one
representative of each combining class, which the library then orders.
"""
import contextlib
import os
import unicodedata

import tokenizers
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

PINNED = "0.23.3"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUT = os.path.join(ROOT, "engine", "text", "unicode_tables.c")
CODES = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
FLAGS = ["CLEANED", "BLANK", "IDEOGRAPH", "NONSPACING", "MARK", "SPACE", "PUNCTUATION", "WORD"]
BLOCK = 64
HANGUL = range(0xAC00, 0xAC00 + 11172)


def hangul(code):
    index = code - 0xAC00
    parts = [0x1100 + index // 588, 0x1161 + index % 588 // 28]
    return parts + ([0x11A7 + index % 28] if index % 28 else [])


def bert(**flags):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**dict(off, **flags)).normalize_str


def word_finder():
    """Says whether the regular expressions of the library see a code point as \\w."""
    tokenizer = Tokenizer(models.WordLevel({"u": 0}, unk_token="u"))
    tokenizer.add_tokens([AddedToken("[X]", single_word=True, normalized=False)])
    texts = [chr(c) + "[X]" for c in CODES]
    found = set()
    for start in range(0, len(texts), 65536):
        part = tokenizer.encode_batch(texts[start:start + 65536], add_special_tokens=False)
        found.update(CODES[start + i] for i, e in enumerate(part) if e.ids[-1] == 0)
    return found


def blank_finder():
    """Says whether the regular expressions of the library see a code point as \\s."""
    tokenizer = Tokenizer(models.WordLevel({"u": 0}, unk_token="u"))
    tokenizer.add_tokens([AddedToken("[X]", rstrip=True, normalized=False)])
    texts = ["[X]" + chr(c) for c in CODES]
    found = set()
    for start in range(0, len(texts), 65536):
        part = tokenizer.encode_batch(texts[start:start + 65536], add_special_tokens=False)
        found.update(CODES[start + i] for i, e in enumerate(part) if e.offsets[0] == (0, 4))
    return found


def combining_classes(nfd, decompositions):
    """Ranks of the combining classes, 1.. in their order, for code points that stay as they are."""
    def swaps(first, second):
        swapped = "a" + chr(second) + chr(first)
        return first != second and nfd("a" + chr(first) + chr(second)) == swapped

    marks = {}
    for code in CODES:
        rank = unicodedata.combining(chr(code))
        if rank and code not in decompositions and (swaps(code, 0x334) or swaps(0x345, code)):
            marks.setdefault(rank, code)
    heads = [marks[rank] for rank in sorted(marks)]
    for low, high in zip(heads, heads[1:]):
        assert swaps(high, low) and not swaps(low, high)
    ranks = {}
    for code in CODES:
        if code in decompositions or code in HANGUL:
            continue
        if not (swaps(code, heads[0]) or swaps(heads[-1], code)):
            continue
        above = sum(swaps(code, head) for head in heads)
        below = sum(swaps(head, code) for head in heads)
        assert above + below == len(heads) - 1, "a class without representative: " + hex(code)
        ranks[code] = above + 1
    return ranks


def collect():
    clean, ideograph = bert(clean_text=True), bert(handle_chinese_chars=True)
    strip = bert(strip_accents=True)
    nfd, lower = normalizers.NFD().normalize_str, normalizers.Lowercase().normalize_str
    mark = normalizers.StripAccents().normalize_str
    split = pre_tokenizers.WhitespaceSplit().pre_tokenize_str
    bert_split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    words = pre_tokenizers.Whitespace().pre_tokenize_str
    word_codes, blank_codes = word_finder(), blank_finder()

    flags, decompositions, lowercase = {}, {}, {}
    for code in CODES:
        char, around = chr(code), "a" + chr(code) + "b"
        bits = set()
        cleaned = clean(around)
        if cleaned == "ab":
            bits.add("CLEANED")
        elif cleaned == "a b" and code != 0x20:
            bits.add("BLANK")
        else:
            assert cleaned == around
        if ideograph(around) == "a " + char + " b":
            bits.add("IDEOGRAPH")
        else:
            assert ideograph(around) == around
        whole = nfd(char)
        if code in HANGUL:
            assert [ord(c) for c in whole] == hangul(code)
        elif whole != char:
            decompositions[code] = tuple(ord(c) for c in whole)
        elif strip(around) == "ab":
            bits.add("NONSPACING")
        if mark(around) == "ab":
            bits.add("MARK")
        if len(split(around)) == 2:
            bits.add("SPACE")
        assert ("SPACE" in bits) == (code in blank_codes), hex(code)
        pieces = len(bert_split(around))
        if pieces == 3:
            bits.add("PUNCTUATION")
        else:
            assert (pieces == 2) == ("SPACE" in bits)
        if code in word_codes:
            bits.add("WORD")
        assert ("WORD" in bits) == (len(words(around)) == 1), hex(code)
        small = lower(char)
        if small != char:
            lowercase[code] = tuple(ord(c) for c in small)
        if bits:
            flags[code] = sum(1 << FLAGS.index(b) for b in bits)
    for code, parts in decompositions.items():
        gone = 1 << FLAGS.index("NONSPACING")
        expected = "".join(chr(c) for c in parts if not flags.get(c, 0) & gone)
        assert strip(chr(code)) == expected, hex(code)
    return flags, combining_classes(nfd, decompositions), decompositions, lowercase


def emit(name, kind, values, form="%d"):
    print("const %s %s[%d] = {" % (kind, name, len(values)))
    line = "   "
    for value in values:
        word = " " + form % value + ","
        if len(line) + len(word) > 99:
            print(line)
            line = "   "
        line += word
    print(line + "\n};\n")


def main():
    assert tokenizers.__version__ == PINNED, "needs tokenizers " + PINNED
    flags, ranks, decompositions, lowercase = collect()
    assert max(map(len, decompositions.values())) <= 4 and max(map(len, lowercase.values())) <= 3
    parts, where = [], {}

    def place(codes):
        """Index of a code point sequence in the shared array: its length, then the code points."""
        if not codes:
            return 0
        if codes not in where:
            where[codes] = len(parts) + 1
            parts.extend((len(codes),) + codes)
        return where[codes]

    records, order, rows = {}, [], []
    for code in range(0x110000):
        record = (flags.get(code, 0), ranks.get(code, 0), place(decompositions.get(code)),
                  place(lowercase.get(code)))
        if record not in records:
            records[record] = len(order)
            order.append(record)
        rows.append(records[record])
    blocks, index = [], []
    known = {}
    for start in range(0, 0x110000, BLOCK):
        block = tuple(rows[start:start + BLOCK])
        if block not in known:
            known[block] = len(known)
            blocks.extend(block)
        index.append(known[block])
    assert len(parts) < 65535 and len(order) < 65536 and len(known) < 65536
    with open(OUT, "w", encoding="ascii") as out, contextlib.redirect_stdout(out):
        print("/* unicode_tables.c: what `tokenizers` %s does with each code point." % PINNED)
        print(" * Generated by tests/golden/generate_unicode_tables.py; read through unicode.h. */")
        print('#include "engine/text/unicode.h"\n')
        print("/* clang-format off */")
        print("/* Sequences, end to end: a length, then the code points. Records count from 1. */")
        emit("unicode_sequences", "uint32_t", parts, "0x%X")
        print("const struct unicode_record unicode_records[%d] = {" % len(order))
        for start in range(0, len(order), 4):
            print("    " + " ".join("{0x%02X, %d, %d, %d}," % r for r in order[start:start + 4]))
        print("};\n")
        emit("unicode_blocks", "uint16_t", index)
        emit("unicode_rows", "uint16_t", blocks)
        print("/* clang-format on */")
    print("%d records, %d blocks, %d words of sequences" % (len(order), len(known), len(parts)))


if __name__ == "__main__":
    main()
