#!/usr/bin/env python3
"""Writes engine/text/regex_tables.c: the code points that PCRE2 10.42 classes otherwise than the
pinned `tokenizers` does, each with a code point that both class alike.

    pip install tokenizers==0.23.3, and Debian's libpcre2-8-0
    python3 tests/golden/generate_regex_tables.py

The library's regular expressions know Unicode 16, Debian's PCRE2 Unicode 14. What is compared is
the general category, whether it is alphabetic, and the script as far as PCRE2 has it.
"""
import contextlib
import ctypes
import os

import tokenizers
from tokenizers import Regex, normalizers

PINNED = "0.23.3"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUT = os.path.join(ROOT, "engine", "text", "regex_tables.c")
CODES = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co "
              "Cn").split()
SCRIPTS = """
Arabic Armenian Balinese Bamum Bengali Bopomofo Braille Brahmi Buginese Canadian_Aboriginal Chakma
Cherokee Common Coptic Cyrillic Devanagari Duployan Egyptian_Hieroglyphs Ethiopic Georgian Grantha
Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Inherited Kaithi Kannada Katakana
Khitan_Small_Script Khmer Khojki Lao Latin Lisu Malayalam Mongolian Myanmar Newa Nko Nushu Oriya
Sharada Sinhala Sogdian Syriac Takri Tamil Tangut Telugu Thai Tibetan Tirhuta Vai Vithkuqi Yi
"""
SEPARATED = 0x180E  # white space for PCRE2 alone, whatever its category


class Pcre2:
    """The expressions of the system's PCRE2, over one text of code points."""
    UTF, UCP, NO_CHECK = 0x00080000, 0x00020000, 0x40000000

    def __init__(self, text):
        self.lib = ctypes.CDLL("libpcre2-8.so.0")
        self.lib.pcre2_compile_8.restype = ctypes.c_void_p
        self.lib.pcre2_match_data_create_8.restype = ctypes.c_void_p
        self.lib.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(ctypes.c_size_t)
        self.match = ctypes.c_void_p(self.lib.pcre2_match_data_create_8(1, None))
        self.subject = text.encode()

    def find(self, pattern):
        """The code points that one-character pattern matches."""
        data = ("(?:%s)+" % pattern).encode()
        code, place, found, at = ctypes.c_int(), ctypes.c_size_t(), set(), 0
        compiled = ctypes.c_void_p(self.lib.pcre2_compile_8(
            data, ctypes.c_size_t(len(data)), self.UTF | self.UCP, ctypes.byref(code),
            ctypes.byref(place), None))
        assert compiled.value, pattern
        while self.lib.pcre2_match_8(compiled, self.subject, ctypes.c_size_t(len(self.subject)),
                                     ctypes.c_size_t(at), self.NO_CHECK, self.match, None) > 0:
            ends = self.lib.pcre2_get_ovector_pointer_8(self.match)
            found.update(map(ord, self.subject[ends[0]:ends[1]].decode()))
            at = ends[1]
        return found


def library_finder(codes):
    text = "".join(map(chr, codes))

    def find(pattern):
        return set(codes) - set(map(ord, normalizers.Replace(Regex(pattern), "")
                                    .normalize_str(text)))
    return find


def classes(find, scripts, prefix):
    """The properties of each code point, as a tuple."""
    result = {code: [None, False, None] for code in CODES}
    for name in CATEGORIES:
        for code in find(r"\p{%s}" % name):
            result[code][0] = name
    for code in find(r"\p{Alphabetic}"):
        result[code][1] = True
    for name in scripts:
        for code in find(r"\p{%s%s}" % (prefix, name)):
            result[code][2] = name
    return {code: tuple(value) for code, value in result.items()}


def main():
    assert tokenizers.__version__ == PINNED, "needs tokenizers " + PINNED
    scripts = SCRIPTS.split()
    theirs = classes(library_finder(CODES), scripts, "")
    ours = classes(Pcre2("".join(map(chr, CODES))).find, scripts, "sc:")
    same = {}
    for code in CODES:
        if theirs[code] == ours[code] and code != SEPARATED:
            same.setdefault(theirs[code], []).append(code)
    rows = []
    for code in CODES:
        if theirs[code] == ours[code] and code != SEPARATED:
            continue
        category, alphabetic, _ = theirs[code]
        fits = same.get(theirs[code])
        if not fits:  # none of this script has the category: one of a rare script, else of any
            fits = same.get((category, alphabetic, None)) or [
                c for key, group in same.items() if key[:2] == (category, alphabetic)
                for c in group]
        assert fits, (hex(code), theirs[code])
        stand_in = min(fits, key=lambda c: abs(c - code))
        if rows and rows[-1][1] == code - 1 and rows[-1][2] == stand_in:
            rows[-1][1] = code
        else:
            rows.append([code, code, stand_in])
    with open(OUT, "w", encoding="ascii") as out, contextlib.redirect_stdout(out):
        print("/* regex_tables.c: code points that PCRE2 10.42 classes otherwise than `tokenizers`")
        print(" * %s. Generated by tests/golden/generate_regex_tables.py; read through" % PINNED)
        print(" * regex_syntax.h. */")
        print('#include "engine/text/regex_syntax.h"\n\n/* clang-format off */')
        print("const uint32_t regex_stand_ins_count = %d;" % len(rows))
        print("const struct regex_stand_in regex_stand_ins[%d] = {" % len(rows))
        for start in range(0, len(rows), 3):
            part = rows[start:start + 3]
            print("    " + " ".join("{0x%X, 0x%X, 0x%X}," % tuple(r) for r in part))
        print("};\n")
        print("/* A bit for each 256 code points: whether a range is among them. */")
        print("const uint8_t regex_stand_in_blocks[%d] = {" % (0x1100 // 8))
        bits = [0] * (0x1100 // 8)
        for first, last, _ in rows:
            for block in range(first >> 8, (last >> 8) + 1):
                bits[block >> 3] |= 1 << (block & 7)
        for start in range(0, len(bits), 16):
            print("    " + " ".join("0x%02X," % b for b in bits[start:start + 16]))
        print("};\n/* clang-format on */")
    print("%d ranges, %d code points" % (len(rows), sum(r[1] - r[0] + 1 for r in rows)))


if __name__ == "__main__":
    main()
