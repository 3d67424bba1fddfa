"""texts.py: texts of every kind for the comparison with the pinned library, from a seeded rng."""
import random

from generate_tokenizer_fixtures import (BLANKS, COMPOSED, CONTROLS, MARKS, SCRIPTS, english,
                                         marked, pick, word)

WORDS = """the of and to in is you that it he was for on are as with his they at be this have from
or one had by word but not what all were we when your can
said there use an each which she do how their
if will up other about out many then them these so some her would make like him into time has look
two more write go see number no way could people my than first water been call who oil its now find
long down day did get come made may part running runner unrunnable internationalization happily
Berlin Zürich café naïve façade coöperate don't I'll we've it's they'd O'Reilly 1,234.56 3rd 2nd
e-mail http://example.org/a?b=c&d user@example.org C++ #tag @name $5.00 50% AT&T x86_64 foo_bar
fooBar HTTPServer α-helix β γδ привет мир день 東京 日本語 北京 한국어 안녕 नमस्ते สวัสดี שלום مرحبا""".split()
CODE = ["for (int i = 0; i < n; i++) {\n\tsum += a[i];\n}",
        "def f(x):\n    return x ** 2  # square\n",
        "SELECT * FROM t WHERE a='b' AND c>=3;", "{\"key\": [1, 2.5, null, true]}",
        "x->y::z<T&&>()",
        "a_b_c = __init__(self, *args, **kw)", "<div class=\"x\">&amp;</div>",
        "\\n\\t\\u0041 \\\\",
        "if(!p||*p=='\\0')return-1;", "#!/bin/sh\r\nexit $?\r\n", "0x7fff_ffff 1e-10 .5 5. 1_000"]
ODD = ["▁", "▁▁", "##", "##ing", "Ġ", "Ġthe", "Ċ", "<0x41>", "<0xE2>", "</w>", "�", "\u0000",
       "ﬁ", "ﬃ", "①", "½", "ｱｲｳ", "ｶﾞ", "㍿", "Ａｂｃ", "ß", "ẞ", "İ", "ı", "ſ", "Σς", "ΑΣ", "ŉ",
       "\u0130\u0307", "각", "\u1100\u1161\u11a8", "\u0e33", "\u0f77", "\u2126", "\u212b",
       "\ufb1d",
       "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea",
       "\u2764\ufe0f\u200d\U0001f525",
       "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e007f", "٣", "௧",
       "²", "Ⅷ", "𝟘",
       "'s", "'S", "'ll", "''", "``", "’s", "...", "…", "--", "—", "\u00ad", "\u200b",
       "\u2060", "\ufeff",
       "\u0085", "\u00a0", "\u3000", "\u2028", "\r\n", "\n\n", "\t", "\x0b", "\x0c", "\x1c",
       "\x7f", "ﷺ",
       "\U0001d15e", "e\u0301", "e\u0301\u0323", "\u0301", "\u093f", "क्ष", "ก็", "ﾞ", "゙",
       "が", "か\u3099"]
UNITS = ["a", "un", "é", "한", "x" * 9, "ing", "कु", " ", "\n", "\u0301", "0", "7", "'", "-",
         "_", "▁",
         "\U0001f468\u200d\U0001f469", "\u00a0", "the", "<", "[", ".", "ab", "中", "\u3000", "A"]


def cased(rng, text):
    shape = rng.random()
    return text.upper() if shape < 0.1 else text.capitalize() if shape < 0.25 else text


def plain(rng, tokens):
    return " ".join(cased(rng, rng.choice(WORDS)) for _ in range(rng.randint(1, 9)))


def punctuated(rng, tokens):
    return english(rng, WORDS)


def scripts(rng, tokens):
    names = [rng.choice(sorted(SCRIPTS)) for _ in range(rng.randint(1, 3))]
    return rng.choice([" ", "", "\u3000"]).join(word(rng, SCRIPTS[n]) for n in names)


def marks(rng, tokens):
    return " ".join(marked(rng) for _ in range(rng.randint(1, 3)))


def sprinkled(rng, tokens):
    """Controls and odd pieces anywhere in words."""
    text = plain(rng, tokens)
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(0, len(text))
        piece = pick(rng, CONTROLS) if rng.random() < 0.4 else rng.choice(ODD)
        text = text[:at] + piece + text[at:]
    return text


def blanks(rng, tokens):
    return "".join("".join(rng.choice(BLANKS) for _ in range(rng.randint(0, 3))) +
                   rng.choice(WORDS + ["", ""]) for _ in range(rng.randint(1, 5))) + \
        rng.choice(["", " ", "  ", "\n"])


def code(rng, tokens):
    return rng.choice(["", " ", "\n"]).join(rng.choice(CODE) for _ in range(rng.randint(1, 2)))


def emoji(rng, tokens):
    joined = rng.choice(["\u200d", "", "\ufe0f", "\U0001F3FD", " "])
    return rng.choice(["", "ok ", "ok"]) + joined.join(
        pick(rng, SCRIPTS["emoji"]) for _ in range(rng.randint(1, 5)))


def odd(rng, tokens):
    return "".join(rng.choice(ODD) + rng.choice(["", "", " ", "a"])
                   for _ in range(rng.randint(1, 6)))


def repeated(rng, tokens):
    return rng.choice(["", "a", " "]) + rng.choice(UNITS) * rng.randint(1, 70) + \
        rng.choice(["", " ok", ".", "\n"])


def with_tokens(rng, tokens):
    """Added tokens beside and over each other, whole, cut, in the wrong case, with blanks."""
    if not tokens:
        return plain(rng, tokens)
    text = ""
    for _ in range(rng.randint(1, 7)):
        token = rng.choice(tokens)
        shape = rng.random()
        if shape < 0.1:
            token = token[:-1]
        elif shape < 0.2:
            token = token[1:]
        elif shape < 0.28:
            token = token.swapcase()
        text += token + rng.choice(["", "", "", " ", "  ", "\u00a0", "\n", "_", "x", ".", "\u0301"])
        if rng.random() < 0.5:
            text += rng.choice(["", " "]) + rng.choice(WORDS) + rng.choice(["", " "])
    return text


def numbers(rng, tokens):
    return rng.choice(["", " ", ","]).join(
        rng.choice(["1", "23", "٣", "x", "²", "4567", "Ⅷ", "①", "௧", "."]) for _ in range(6))


KINDS = [plain, plain, punctuated, scripts, scripts, marks, sprinkled, sprinkled, blanks, code,
         emoji, odd, odd, repeated, with_tokens, with_tokens, numbers]
ALWAYS = ["", " ", "a", "\n", "Hello, world!", "  Hello  there  ", "don't stop", "\u0301",
          "\u0000",
          "The quick brown fox. It's 3.14!", "internationalization" * 6, "a\nb\r\nc", "日本語テスト"]


def make_text(rng, tokens):
    text = rng.choice(KINDS)(rng, tokens)
    if rng.random() < 0.1:
        text += rng.choice(["", " ", "\n"]) + rng.choice(KINDS)(rng, tokens)
    return text


def make_texts(seed, count, tokens, always=True):
    rng = random.Random(seed)
    texts = list(ALWAYS) if always else []
    while len(texts) < count:
        texts.append(make_text(rng, tokens))
    return texts[:count]


def make_corpus(seed=7, lines=3000):
    """What the small models are trained on."""
    rng = random.Random(seed)
    common = WORDS + [word(rng, SCRIPTS[name], 5) for name in sorted(SCRIPTS) for _ in range(3)]
    out = []
    for _ in range(lines):
        line = " ".join(rng.choice(common) for _ in range(rng.randint(3, 12)))
        out.append(line if rng.random() < 0.9 else rng.choice(CODE))
    return out


__all__ = ["make_text", "make_texts", "make_corpus", "WORDS", "ODD", "UNITS", "COMPOSED", "MARKS"]
