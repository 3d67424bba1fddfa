#!/usr/bin/env python3
"""Writes engine/text/unicode_tables.c by asking the pinned `tokenizers` about every code point.

    pip install tokenizers==0.23.3
    python3 tests/golden/generate_unicode_tables.py

The pinned library mixes several Unicode ages (categories, decompositions, lowercase, \\w), so no
published table matches it. Each property below is therefore observed from outside, on the smallest
text that shows it; grapheme clusters through a character map that makes "b" of every cluster below
six bytes and of every code point of a longer one. Nothing is taken from Python's own tables but a
list of candidates for one representative of each combining class, which the library then orders.
"""
import contextlib
import os
import struct
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

PINNED = "0.23.3"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUT = os.path.join(ROOT, "engine", "text", "unicode_tables.c")
CODES = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
FLAGS = ["CLEANED", "BLANK", "IDEOGRAPH", "NONSPACING", "MARK", "SPACE", "PUNCTUATION", "WORD",
         "LETTER", "NUMBER", "NUMERIC", "NMT_GONE", "NMT_BLANK"]
GRAPHEMES = ["OTHER", "CR", "LF", "CONTROL", "PREPEND", "EXTEND", "SPACING", "ZWJ", "L", "V", "T",
             "LV", "LVT", "PICTOGRAPH"]
CONSONANT, LINKER, INNER = 0x10, 0x20, 0x40
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


def regex_finder(pattern):
    """The code points that one pattern of the library's regular expressions matches."""
    every = "".join(map(chr, CODES))
    kept = normalizers.Replace(Regex(pattern), "").normalize_str(every)
    return set(CODES) - set(map(ord, kept))


def cluster_counter():
    """Counts clusters: the map's keys are all first bytes, each of them becomes "b"."""
    units = [0] * 1024
    units[0] = 256 << 10
    for byte in range(1, 256):
        units[256 + byte] = 512 << 10 | 1 << 8 | byte
    trie = struct.pack("<1024I", *units)
    normalizer = normalizers.Precompiled(struct.pack("<I", len(trie)) + trie + b"b\0")
    return lambda text: len(normalizer.normalize_str(text))


def hangul_class(char, count):
    """The class of a code point of three bytes that may be a Hangul jamo or syllable."""
    lead, vowel, tail, mark = "\u1100", "\u1161", "\u11A8", "\u0300"
    if count(char + lead + mark) == 3:
        return "L"
    before_vowel, before_tail = count(char + vowel + mark) == 3, count(char + tail + mark) == 3
    behind_vowel = count(vowel + char + mark) == 3
    if behind_vowel:
        return "V" if before_vowel else "T"
    if before_tail:
        return "LV" if before_vowel else "LVT"
    return "OTHER"


def grapheme_classes():
    """What the clusters of the library show of each code point; the rest cannot be seen."""
    count, classes = cluster_counter(), {}
    ka, virama, mark, copyright_sign = "\u0915", "\u094D", "\u0300", "\u00A9"
    for code in CODES:
        char, bits = chr(code), 0
        if count("a" + char) == 1:
            name = "EXTEND"
            if code == 0x200D:
                name = "ZWJ"
            elif count(copyright_sign + char + "\u200D" + copyright_sign + mark) != 5:
                name = "SPACING"
            bits |= LINKER if count(ka + char + ka + mark) == 4 else 0
            bits |= INNER if count(ka + char + virama + ka + mark) == 5 else 0
        elif count(char + "a") == 1:
            name = "PREPEND"
        elif count("\u0600\u0600" + char) == 2:
            name = {0x0D: "CR", 0x0A: "LF"}.get(code, "CONTROL")
        elif count(copyright_sign + "\u200D" + char) == 3:
            name = "PICTOGRAPH"
        else:
            name = hangul_class(char, count) if 0x800 <= code < 0x10000 else "OTHER"
            bits |= CONSONANT if count(char + virama + ka + mark) == 4 else 0
        classes[code] = GRAPHEMES.index(name) | bits
    assert count("\r\n") == 1
    return classes


def script_numbers():
    """A number for each script that UnicodeScripts tells apart; 0 goes with every other."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    heads, numbers, last = [], {}, 0
    for code in CODES:
        char = chr(code)
        if not split(char):
            continue
        order = [last] + [i for i in range(len(heads)) if i != last]
        for i in order if heads else []:
            if len(split(heads[i] + char)) == 1:
                last = i
                break
        else:
            last = len(heads)
            heads.append(char)
        numbers[code] = last + 1
    assert len(heads) < 255
    return numbers


def compositions(nfc, decompositions):
    """(first, second, whole) of each pair that NFC joins, without Hangul."""
    pairs = []
    for code, parts in decompositions.items():
        whole = "".join(map(chr, parts))
        if nfc(whole) == chr(code):
            first = nfc(whole[:-1])
            assert len(first) == 1 and nfc(first + whole[-1]) == chr(code), hex(code)
            pairs.append((ord(first), parts[-1], code))
    return sorted(pairs)


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
    nfkd, nmt = normalizers.NFKD().normalize_str, normalizers.Nmt().normalize_str
    punctuation = pre_tokenizers.Punctuation().pre_tokenize_str
    digits = pre_tokenizers.Digits(True).pre_tokenize_str
    letters, numbers = regex_finder(r"\p{L}"), regex_finder(r"\p{N}")
    assert regex_finder(r"\s") == blank_codes

    flags, decompositions, lowercase, compatibility = {}, {}, {}, {}
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
        if nfkd(char) != whole:
            compatibility[code] = tuple(ord(c) for c in nfkd(char))
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
        assert ("PUNCTUATION" in bits) == (len(punctuation(around)) == 3), hex(code)
        bits |= {"LETTER"} if code in letters else set()
        bits |= {"NUMBER"} if code in numbers else set()
        bits |= {"NUMERIC"} if len(digits(around)) == 3 else set()
        translated = nmt(around)
        if translated == "ab":
            bits.add("NMT_GONE")
        elif translated == "a b" and code != 0x20:
            bits.add("NMT_BLANK")
        else:
            assert translated == around
        small = lower(char)
        if small != char:
            lowercase[code] = tuple(ord(c) for c in small)
        if bits:
            flags[code] = sum(1 << FLAGS.index(b) for b in bits)
    for code, parts in decompositions.items():
        gone = 1 << FLAGS.index("NONSPACING")
        expected = "".join(chr(c) for c in parts if not flags.get(c, 0) & gone)
        assert strip(chr(code)) == expected, hex(code)
    ranks = combining_classes(nfd, decompositions)
    pairs = compositions(normalizers.NFC().normalize_str, decompositions)
    return flags, ranks, decompositions, compatibility, lowercase, pairs


def emit(name, kind, values, form="%d"):
    """An array of numbers, or of tuples that `form` makes to initialisers."""
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
    flags, ranks, decompositions, compatibility, lowercase, pairs = collect()
    graphemes, scripts = grapheme_classes(), script_numbers()
    assert max(map(len, decompositions.values())) <= 4 and max(map(len, lowercase.values())) <= 3
    assert max(map(len, compatibility.values())) <= 18
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
        record = (flags.get(code, 0), place(decompositions.get(code)),
                  place(compatibility.get(code)), place(lowercase.get(code)), ranks.get(code, 0),
                  graphemes.get(code, 0), scripts.get(code, 0))
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
        emit("unicode_records", "struct unicode_record", order, "{0x%X,%d,%d,%d,%d,%d,%d}")
        emit("unicode_pairs", "struct unicode_pair", pairs, "{0x%X, 0x%X, 0x%X}")
        print("const uint32_t unicode_pairs_count = %d;\n" % len(pairs))
        emit("unicode_blocks", "uint16_t", index)
        emit("unicode_rows", "uint16_t", blocks)
        print("/* clang-format on */")
    print("%d records, %d blocks, %d words of sequences" % (len(order), len(known), len(parts)))


if __name__ == "__main__":
    main()
