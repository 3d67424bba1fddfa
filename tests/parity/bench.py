#!/usr/bin/env python3
"""Speed of the tokenizer. Two parts:

    bench.py           against the pinned library, one thread each, in turns in the same run: 1 MB
                       of English with the demo vocabulary as single texts, batches and one text;
                       and the time to load a Unigram of 250,000 pieces
    bench.py --linear  1 MB against 250 KB of every hostile text with every tokenizer of the
                       catalog; ends with status 1 when a ratio is 5 or more

The first part needs the pinned library, and ends with status 1 below three times its speed."""
import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]

import rows as rows_of  # noqa: E402  (the path comes first)

SAMPLE = rows_of.ROOT / "tests/golden/demo/sample.jsonl"
DEMO = rows_of.ROOT / "models/goemotions-minilm"
ENGLISH_BYTES = 1 << 20
UNIGRAM_PIECES = 250000
LOAD_SECONDS_MAX, SPEED_MIN, LINEAR_MAX = 0.150, 3.0, 5.0
SMALL_BYTES, LARGE_BYTES = 250 << 10, 1000 << 10
HOSTILE = {
    "one character": "a", "two letters": "ab", "a word and a blank": "the ", "marks": "\u0301",
    "marks on letters": "e\u0301\u0323", "marks in disorder": "\u0301\u0323", "spaces": " ",
    "newlines": "\n", "tabs and newlines": "\t\n", "[SEP]": "[SEP]", "[SEP] apart": "[SEP] ",
    "zero width joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d",
    "digits": "1", "near matches": "[SE", "near matches of many": "<l<lr<lr ", "apostrophes": "'",
    "mark of blanks": "\u2581", "ideographs": "\u6771", "hangul letters": "\u1100\u1161\u11a8",
    "controls": "\x01", "dashes": "-", "upper case": "ABC", "joiners": "\u200d", "no letters": "##"}


# ---- against the library ----

def english():
    texts, size = [], 0
    lines = [json.loads(line)["text"] for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    while size < ENGLISH_BYTES:
        texts.append(lines[len(texts) % len(lines)])
        size += len(texts[-1].encode()) + 1
    return texts


def timed(function, *arguments):
    """Seconds of the processor: other programs on the machine do not count."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def library_single(tokenizer, texts):
    for text in texts:
        tokenizer.encode(text)


def library_batches(tokenizer, texts):
    for at in range(0, len(texts), 64):
        tokenizer.encode_batch(texts[at:at + 64])


def compare_speed(driver, rounds):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(DEMO / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    driver.ask(dir=str(DEMO))
    texts, slow = english(), False
    for name, library, given in [("single texts", library_single, texts),
                                 ("batches of 64", library_batches, texts),
                                 ("one text", library_single, [" ".join(texts)])]:
        ours, theirs = [], []
        for _ in range(rounds):
            theirs.append(timed(library, tokenizer, given))
            ours.append(driver.ask(time=given)["seconds"])
        ratio = statistics.median(theirs) / statistics.median(ours)
        slow |= ratio < SPEED_MIN
        print("1 MB of English, %-14s library %6.1f ms, here %6.1f ms: %.1f times" % (
            name + ":", statistics.median(theirs) * 1e3, statistics.median(ours) * 1e3, ratio))
    return not slow


def write_unigram(folder):
    rng = random.Random(1)
    pieces = {"<unk>": 0.0}
    while len(pieces) < UNIGRAM_PIECES:
        letters = "abcdefghijklmnopqrstuvwxyz" if rng.random() < 0.7 else "дежзийклмнопрст東京都語"
        piece = ("\u2581" if rng.random() < 0.5 else "") + "".join(
            rng.choice(letters) for _ in range(rng.randint(2, 9)))
        pieces[piece] = -round(rng.uniform(3, 16), 6)
    folder.mkdir(parents=True, exist_ok=True)
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always",
                 "split": True}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": metaspace, "post_processor": None,
        "decoder": metaspace, "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                                        "vocab": list(map(list, pieces.items()))}},
        ensure_ascii=False), encoding="utf-8")


def compare_load(driver, rounds):
    from tokenizers import Tokenizer
    folder = rows_of.ROOT / "build/parity/unigram-250000"
    write_unigram(folder)
    ours, theirs = [], []
    for _ in range(rounds):
        answer = driver.ask(load=str(folder))
        if "error" in answer:
            sys.exit("bench: " + answer["error"])
        ours.append(answer["seconds"])
        theirs.append(timed(Tokenizer.from_file, str(folder / "tokenizer.json")))
    print("loading a Unigram of %d pieces: library %.0f ms, here %.0f ms (the best of %d)" % (
        UNIGRAM_PIECES, min(theirs) * 1e3, min(ours) * 1e3, rounds))
    return min(ours) < LOAD_SECONDS_MAX


# ---- linear time ----

def repeated(unit, size):
    return unit * (size // len(unit.encode()))


def measure(driver, text):
    """Seconds with an empty scratch; None where the model has no token for the text."""
    return driver.ask(time=[text], fresh=True).get("seconds")


def ratio_of(driver, unit):
    """The large text's time over the small one's, measured one beside the other since a processor
    changes its speed; the median of several where one pair says too much. With the large one's
    least time."""
    large, ratios = [], []
    for _ in range(9):
        small = measure(driver, repeated(unit, SMALL_BYTES))
        if small is None:
            return None, None
        large.append(measure(driver, repeated(unit, LARGE_BYTES)))
        ratios.append(large[-1] / max(small, 2e-4))
        if statistics.median(ratios) < LINEAR_MAX:
            break
    return statistics.median(ratios), min(large)


def look_at(fixture, units):
    """Yields name, ratio and seconds of each unit's texts, in a process of its own: one that has
    opened many tokenizers has its memory in pieces, which costs large texts more than small."""
    start = fixture.start()
    if start is None:
        return
    with rows_of.Driver() as driver:
        if "open" not in driver.ask(**start):
            return
        for name, unit in units.items():
            ratio, seconds = ratio_of(driver, unit)
            if ratio is not None:
                yield name, ratio, seconds


def check_linear(folder, names):
    """A text that seems slow is looked at once more in another process, since where a process has
    its memory can cost as much as the text itself."""
    pool, slow, count = rows_of.read_pool(folder), 0, 0
    worst, slowest = (0, ""), (0, "")
    for path in rows_of.fixture_paths(folder):
        if names and path.stem not in names:
            continue
        fixture = rows_of.Fixture(path, pool)
        for name, ratio, seconds in look_at(fixture, HOSTILE):
            if ratio >= LINEAR_MAX:
                (_, ratio, seconds), = look_at(fixture, {name: HOSTILE[name]})
            count += 1
            title = "%s, %s" % (fixture.name, name)
            worst = max(worst, (ratio, title))
            slowest = max(slowest, (seconds, title))
            if ratio >= LINEAR_MAX:
                slow += 1
                print("%s: 1 MB takes %.1f times as long as 250 KB (%.0f ms)" % (
                    title, ratio, seconds * 1e3), flush=True)
    print("%d hostile texts, %d not linear; largest ratio %.2f (%s), longest %.0f ms (%s)" % (
        count, slow, *worst, slowest[0] * 1e3, slowest[1]))
    return slow == 0 and count > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--linear", action="store_true", help="only the check of linear time")
    parser.add_argument("--rows", type=pathlib.Path, default=rows_of.FIXTURES,
                        help="folder of the tokenizers for --linear")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("names", nargs="*", help="only these tokenizers, with --linear")
    options = parser.parse_args()
    # Blocks of any text's size come new from the system, or small ones would be warm.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
    if options.linear:
        return 0 if check_linear(options.rows, options.names) else 1
    with rows_of.Driver() as driver:
        good = compare_speed(driver, options.rounds)
        good &= compare_load(driver, options.rounds)
        return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
