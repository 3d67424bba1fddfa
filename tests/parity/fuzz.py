#!/usr/bin/env python3
"""Differential fuzzer: random tokenizers of random pieces with random parameters, on random texts,
against the pinned library in this process and the C driver behind pipes.

    fuzz.py --seconds 600 [--seed N] [--first N]

A difference is minimised, text and tokenizer, and printed with its number; --first NUMBER with the
same seed starts there again. Ends by itself: after the seconds, or after --most differences, then
with status 1. A piece that issue 5 lists must not be refused; what else the C side refuses is
counted by its message."""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]

from tokenizers import Tokenizer  # noqa: E402  (the paths come first)

import generate  # noqa: E402
import reference  # noqa: E402
import rows as rows_of  # noqa: E402
import texts as texts_of  # noqa: E402
from catalog import (BEHAVIOURS, CL100K, FLAGGED, GPT2, SPECIALS, bert, bert_post,  # noqa: E402
                     byte_level, cls_sep, decode, document, metaspace, normal, pairs_as_text, part,
                     post, pre, regex, replace, roberta_post, split, string, strip, strip_decoder,
                     template, token, vocabulary_of, with_bytes, wordpiece_decoder)

TEXTS = 24
REGEXES = [r"\s+", r"\d", r"\w+", r"[^\w\s]+", r"\p{L}+", r"\p{N}{1,3}", r" ?[a-z]+", r"a|b|ab",
           r"(?i:the|of)", r"\s+(?!\S)", r"[aeiou]", r"^\w", r"\w$", r".",
           r"\p{Lu}",
           r"[一-龥]+", r"[\r\n]+", r"\p{Han}|\p{Hiragana}", r"(?<=a)b", r"[^\s]{2}",
           r"'s|'t", GPT2,
           CL100K]
# They match nothing. Of a text in which Replace put something there the library garbles the ranges,
# and may panic at its next step: decoders and Split only.
EMPTY = [r"\b", r"(?=[A-Z])", r"x*"]
STRINGS = [" ", "a", "the", "▁", "\n", "é", "''", "-", "e\u0301", ".", "  ", "東", "x"]
CONTENTS = ["", " ", "▁", "a", "xyz", "é", "_", "中 ", "\u0301"]
# Refused by name is right for these: the issue does not list them.
NOT_LISTED = [("decoder", part("CTC", pad_token="<pad>", word_delimiter_token="|", cleanup=True)),
              ("normalizer", part("ByteLevel")),
              ("decoder", part("BPEDecoder", suffix="</w>")),
              ("pre_tokenizer", part("FixedLength", length=3))]


# ---- random pieces ----

def flag(rng):
    return rng.random() < 0.5


def random_pattern(rng, empty=True):
    return regex(rng.choice(REGEXES + EMPTY * empty)) if flag(rng) else string(rng.choice(STRINGS))


def random_normalizer(rng, charsmap, depth=0):
    makers = [
        lambda: bert(flag(rng), flag(rng), rng.choice([None, True, False]), flag(rng)),
        lambda: part(rng.choice(["NFC", "NFD", "NFKC", "NFKD"])), lambda: part("Lowercase"),
        lambda: part("StripAccents"), lambda: strip(flag(rng), flag(rng)),
        lambda: replace(random_pattern(rng, False), rng.choice(CONTENTS)),
        lambda: part("Prepend", prepend=rng.choice(["▁", " ", "ab", "é"])), lambda: part("Nmt"),
        lambda: part("Precompiled", precompiled_charsmap=charsmap)]
    if depth < 2 and rng.random() < 0.4:
        return normal(*(random_normalizer(rng, charsmap, depth + 1)
                        for _ in range(rng.randint(0, 3))))
    return rng.choice(makers)()


def random_pre_tokenizer(rng, depth=0):
    makers = [
        lambda: part(rng.choice(["BertPreTokenizer", "Whitespace", "WhitespaceSplit",
                                 "UnicodeScripts"])),
        lambda: byte_level(flag(rng), flag(rng), flag(rng)),
        lambda: metaspace(rng.choice(["always", "first", "never"]), flag(rng),
                          rng.choice("▁▁_ ")),
        lambda: part("Punctuation", behavior=rng.choice(BEHAVIOURS)),
        lambda: part("Digits", individual_digits=flag(rng)),
        lambda: split(random_pattern(rng), rng.choice(BEHAVIOURS), flag(rng)),
        lambda: part("CharDelimiterSplit", delimiter=rng.choice("-_ ae東\n"))]
    if depth < 2 and rng.random() < 0.4:
        return pre(*(random_pre_tokenizer(rng, depth + 1) for _ in range(rng.randint(0, 3))))
    return rng.choice(makers)()


def random_decoder(rng, depth=0):
    makers = [lambda: wordpiece_decoder(rng.choice(["##", "", "▁"]), flag(rng)), byte_level,
              lambda: metaspace(rng.choice(["always", "first", "never"]), flag(rng)),
              lambda: part("ByteFallback"), lambda: part("Fuse"),
              lambda: strip_decoder(rng.choice(" a▁e"), rng.randint(0, 2), rng.randint(0, 2)),
              lambda: replace(random_pattern(rng), rng.choice(CONTENTS))]
    if depth < 2 and rng.random() < 0.4:
        return decode(*(random_decoder(rng, depth + 1) for _ in range(rng.randint(0, 4))))
    return rng.choice(makers)()


def random_template(rng, vocab):
    def specials():
        return ["%s:%d" % (rng.choice(["[CLS]", "[SEP]", "[MASK]"]), rng.randint(0, 3))
                for _ in range(rng.randint(0, 2))]

    def segment(name):
        return ["$%s:%d" % (name, rng.randint(0, 3))]
    first, second = rng.choice(["AB", "AB", "BA"])
    return template(vocab, " ".join(specials() + segment("A") + specials()), " ".join(
        specials() + segment(first) + specials() + segment(second) + specials()))


def random_post(rng, vocab, depth=0):
    makers = [lambda: bert_post(vocab), lambda: roberta_post(vocab, flag(rng), flag(rng)),
              lambda: random_template(rng, vocab), lambda: cls_sep(vocab),
              lambda: byte_level(flag(rng), flag(rng), flag(rng))]
    if depth < 1 and rng.random() < 0.3:
        # The library applies special tokens of each one; one in the list is what files have.
        return post(*([byte_level(flag(rng), flag(rng))] if flag(rng) else []),
                    rng.choice(makers)())
    return rng.choice(makers)()


def random_pieces(rng, letters, count):
    out = dict.fromkeys(letters)
    while len(out) < count:
        out["".join(rng.choice(letters) for _ in range(rng.randint(2, 5)))] = None
    return list(out)


def random_small_model(rng):
    """A model over few letters, so that its pieces meet the texts in every order."""
    letters = rng.sample(list("abcdehilnorstxy▁_ é東Ġ.'1") + ["\u0301", "##"], rng.randint(4, 16))
    names = [one["content"] for one in SPECIALS]
    kind = rng.choice(["WordPiece", "BPE", "BPE", "Unigram", "Unigram", "WordLevel"])
    if kind == "Unigram":
        pieces = names + random_pieces(rng, letters, 40)
        scores = [round(-rng.random() * 12, 2) if flag(rng) else -float(rng.randint(1, 6))
                  for _ in pieces]
        return {"type": kind, "unk_id": rng.choice([0, 0, 0, None, 7]),
                "vocab": [list(pair) for pair in zip(pieces, scores)], "byte_fallback": False}
    if kind == "BPE":
        vocab, merges = dict.fromkeys(names + letters), []
        while len(merges) < 25:
            pair = [rng.choice([p for p in vocab if p not in names]) for _ in range(2)]
            if len("".join(pair)) < 9 and pair not in merges:
                vocab["".join(pair)] = None
                merges.append(pair)
        return {"type": kind, "dropout": None, "unk_token": rng.choice(["[UNK]", None]),
                "continuing_subword_prefix": None, "end_of_word_suffix": None,
                "fuse_unk": flag(rng), "byte_fallback": False, "ignore_merges": flag(rng),
                "vocab": {piece: i for i, piece in enumerate(vocab)}, "merges": merges}
    pieces = random_pieces(rng, letters, 40)
    vocab = names + pieces + (["##" + piece for piece in pieces if flag(rng)]
                              if kind == "WordPiece" else [])
    model = {"type": kind, "unk_token": "[UNK]",
             "vocab": {piece: i for i, piece in enumerate(dict.fromkeys(vocab))}}
    if kind == "WordPiece":
        model.update(continuing_subword_prefix=rng.choice(["##", "##", "", "a"]),
                     max_input_chars_per_word=rng.choice([100, 100, 5]))
    return model


def random_model(rng, models):
    if flag(rng):
        model = random_small_model(rng)
    else:
        model = dict(models[rng.choice(sorted(models))])
    if model["type"] == "BPE":
        model.update(fuse_unk=flag(rng), ignore_merges=flag(rng))
        if rng.random() < 0.2:
            model = pairs_as_text(model) if not any(
                " " in piece for pair in model["merges"] for piece in pair) else model
        if rng.random() < 0.2:
            model["unk_token"] = None
    # With affixes the library's byte tokens lie beyond the word; the C side refuses that by name.
    affixes = model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
    if model["type"] in ("BPE", "Unigram") and not affixes and rng.random() < 0.25:
        model = with_bytes(model)
    return model


def random_token(rng):
    content = rng.choice([rng.choice(FLAGGED)["content"], rng.choice(texts_of.WORDS),
                          rng.choice(texts_of.ODD), rng.choice(texts_of.UNITS), "<%d>" %
                          rng.randint(0, 9)])
    return token(content, single_word=rng.random() < 0.3, lstrip=rng.random() < 0.3,
                 rstrip=rng.random() < 0.3, normalized=flag(rng), special=rng.random() < 0.3)


def random_document(rng, models, charsmap):
    model = random_model(rng, models)
    vocab = vocabulary_of(model)
    added = {one["content"]: one for one in SPECIALS}
    for _ in range(rng.choice([0, 0, 1, 3, 8])):
        one = random_token(rng)
        added.setdefault(one["content"], one)
    parts = {"normalizer": random_normalizer(rng, charsmap),
             "pre_tokenizer": random_pre_tokenizer(rng), "post_processor": random_post(rng, vocab),
             "decoder": random_decoder(rng)}
    for role in parts:
        if rng.random() < 0.2:
            parts[role] = None
    if rng.random() < 0.03:
        role, value = rng.choice(NOT_LISTED)
        parts[role] = value
    made = document(model, parts["normalizer"], parts["pre_tokenizer"], parts["post_processor"],
                    parts["decoder"], list(added.values()))
    return made


def open_reference(made):
    """The library's tokenizer; None where it refuses, would search for an empty token, or picks
    one of two tokens with the same normal form by chance."""
    try:
        tokenizer = reference.guarded(Tokenizer.from_str, json.dumps(made))
        forms = [one["content"] if tokenizer.normalizer is None else
                 reference.guarded(tokenizer.normalizer.normalize_str, one["content"])
                 for one in made["added_tokens"] if one["normalized"]]
        if "" in forms or len(set(forms)) < len(forms):
            return None
        return tokenizer
    except (Exception, reference.Panic):
        return None


# ---- comparing ----

class Fuzzer:
    def __init__(self, options):
        self.options = options
        pool = generate.Pool()
        self.models, self.charsmap = generate.load_models(pool)
        self.driver = rows_of.Driver()
        self.counts = collections.Counter()
        self.refused = collections.Counter()
        self.differences = 0

    def ask(self, what):
        """The driver's answer; its end is an answer too."""
        try:
            return self.driver.ask(**what)
        except (RuntimeError, BrokenPipeError) as fault:
            self.driver.start()
            return {"broken": str(fault)}

    def open(self, made):
        return self.ask({"json": json.dumps(made, ensure_ascii=False)})

    def fault_of(self, row, answer):
        if "broken" in answer:
            return answer["broken"]
        return rows_of.difference(row, answer)

    def compare(self, made, ask):
        """What differs for one document and row, or None."""
        tokenizer = open_reference(made)
        if tokenizer is None:
            return None
        row = reference.answer(tokenizer, ask)
        if row is None:
            return None
        opened = self.open(made)
        if "open" not in opened:
            return opened.get("broken")
        return self.fault_of(row, self.ask(rows_of.asked(row)))

    def run_one(self, number):
        rng = random.Random("%s/%d" % (self.options.seed, number))
        made = random_document(rng, self.models, self.charsmap)
        tokenizer = open_reference(made)
        if tokenizer is None:
            self.counts["tokenizers that the library refuses"] += 1
            return
        opened = self.open(made)
        self.counts["tokenizers"] += 1
        if "open" not in opened:
            message = opened.get("refused", opened.get("broken"))
            self.refused[re.sub(r"\[\d+\]", "[]", message)] += 1
            listed = not any(made[role] == value for role, value in NOT_LISTED)
            if listed and not self.options.skip_refused:
                self.report(number, made, None, "refused: " + message)
            return
        if any(made[role] == value for role, value in NOT_LISTED):
            self.counts["tokenizers with pieces that are not listed"] += 1
        for row in generate.make_rows(rng, tokenizer, made, TEXTS, False):
            self.counts["rows"] += 1
            fault = self.fault_of(row, self.ask(rows_of.asked(row)))
            if fault is not None:
                self.report(number, *self.minimise(made, rows_of.asked(row), fault))
                return

    def minimise(self, made, ask, fault):
        """Makes text and document smaller as long as something differs."""
        end = time.monotonic() + 20
        best = [made, ask, fault]

        def keep(candidate, candidate_ask):
            if time.monotonic() > end:
                return False
            found = self.compare(candidate, candidate_ask)
            if found is None:
                return False
            best[:] = [candidate, candidate_ask, found]
            return True

        progress = True
        while progress and time.monotonic() < end:
            progress = False
            for candidate in smaller_documents(best[0]):
                if keep(candidate, best[1]):
                    progress = True
                    break
            else:
                for candidate in smaller_asks(best[1]):
                    if keep(best[0], candidate):
                        progress = True
                        break
        return best

    def report(self, number, made, ask, fault):
        self.differences += 1
        shown = dict(made)
        model = dict(made["model"])
        for field in ("vocab", "merges"):
            if len(json.dumps(model.get(field))) > 1500:
                model[field] = "(%d)" % len(model[field])
        shown["model"] = model
        text = json.dumps(shown, ensure_ascii=False).replace(self.charsmap, "(map)")
        print("difference in tokenizer %d of seed %s\n    %s\n    %s\n    %s" % (
            number, self.options.seed, text, json.dumps(ask), fault[:1500]), flush=True)

    def run(self):
        end = time.monotonic() + self.options.seconds
        number = self.options.first
        while time.monotonic() < end and self.differences < self.options.most:
            self.run_one(number)
            number += 1
        self.driver.close()
        for what, count in [*sorted(self.counts.items()), ("differences", self.differences)]:
            print("%8d %s" % (count, what))
        for message, count in self.refused.most_common():
            print("%8d refused: %s" % (count, message[:150]))
        return 1 if self.differences or not self.counts["rows"] else 0


def without(values, at):
    return values[:at] + values[at + 1:]


def smaller_parts(value):
    """A part less one step of its list, or one step alone."""
    yield None
    for name in ("normalizers", "pretokenizers", "processors", "decoders"):
        if name in (value or {}):
            for at, one in enumerate(value[name]):
                yield one
                yield dict(value, **{name: without(value[name], at)})
                for smaller in smaller_parts(one):
                    if smaller is not None:
                        yield dict(value, **{name: value[name][:at] + [smaller] +
                                             value[name][at + 1:]})


def smaller_documents(made):
    for role in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if made[role] is not None:
            for value in smaller_parts(made[role]):
                yield dict(made, **{role: value})
    if len(made["added_tokens"]) > 5:
        yield dict(made, added_tokens=made["added_tokens"][:5])
    # The ids stay right from the last one on only.
    if made["added_tokens"]:
        yield dict(made, added_tokens=made["added_tokens"][:-1])
    for at, one in enumerate(made["added_tokens"]):
        for name in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            if one[name]:
                tokens = list(made["added_tokens"])
                tokens[at] = dict(one, **{name: False})
                yield dict(made, added_tokens=tokens)


def smaller_asks(ask):
    for name in ("pair", "max", "special"):
        if name in ask:
            yield {key: value for key, value in ask.items() if key != name}
    for name in ("text", "pair", "decode"):
        value = ask.get(name)
        if not value:
            continue
        size = len(value)
        step = size
        while step >= 1:
            for at in range(0, size, step):
                yield dict(ask, **{name: value[:at] + value[at + step:]})
            step //= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--first", type=int, default=0, help="number of the first tokenizer")
    parser.add_argument("--skip-refused", action="store_true",
                        help="a refusal is no difference, whatever it names")
    parser.add_argument("--most", type=int, default=10, help="ends after so many differences")
    options = parser.parse_args()
    print("seed %s" % options.seed, flush=True)
    return Fuzzer(options).run()


if __name__ == "__main__":
    sys.exit(main())
