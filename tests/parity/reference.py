"""reference.py: what the pinned library says of one row. The rows are JSON objects:

{"text", "pair"?, "special"?, "max"?, "stride"?, "side"?, "strategy"?} gets "windows": for the
encoding and each overflowing window [ids, offsets in code points (flat), types, specials], the last
two as strings of digits where all are below ten, or "error": true.
{"decode": [ids], "skip"} gets "result": the text.
"""
import json
import os
import sys
import zlib

# A panic of the library prints a whole stack trace on descriptor 2: Python keeps the way out.
sys.stderr = os.fdopen(os.dup(2), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
import tokenizers  # noqa: E402


PINNED = "0.23.3"
assert tokenizers.__version__ == PINNED, "needs tokenizers " + PINNED


def digits(values):
    return "".join(map(str, values)) if all(v < 10 for v in values) else values


def window_of(encoding):
    return [encoding.ids, [place for span in encoding.offsets for place in span],
            digits(encoding.type_ids), digits(encoding.special_tokens_mask)]


class Panic(Exception):
    """The library broke off, or would not take the options: there is nothing to agree with."""


def guarded(function, *arguments):
    """Runs it; PanicException is no Exception in the library's binding."""
    try:
        return function(*arguments)
    except (Exception, Panic):
        raise
    except BaseException as fault:
        if isinstance(fault, KeyboardInterrupt):
            raise
        raise Panic(str(fault)) from None


def encode_row(tokenizer, row):
    if row.get("max"):
        try:
            tokenizer.enable_truncation(row["max"], stride=row.get("stride", 0),
                                        strategy=row.get("strategy", "longest_first"),
                                        direction=row.get("side", "right"))
        except Exception as fault:  # a stride of a window or more
            raise Panic(str(fault)) from None
    else:
        tokenizer.no_truncation()
    encoding = tokenizer.encode(row["text"], row.get("pair"),
                                add_special_tokens=row.get("special", True))
    return [window_of(e) for e in [encoding] + encoding.overflowing]


def answer(tokenizer, row):
    """The row with the library's answer; None when the library panics."""
    row = dict(row)
    try:
        if "decode" in row:
            row["result"] = guarded(tokenizer.decode, row["decode"], row.get("skip", True))
        else:
            row["windows"] = guarded(encode_row, tokenizer, row)
    except Panic:
        return None
    except Exception:
        row["error"] = True
    return row


def tokens_crc32(tokens):
    return zlib.crc32(json.dumps(tokens).encode())


def list_tokens(tokenizer):
    size = max(tokenizer.get_vocab(True).values(), default=-1) + 1
    return [tokenizer.id_to_token(i) for i in range(size)]
