"""rows.py: asks the C driver what the pinned library was asked, and finds the differences. Standard
library only, since `make test` replays the committed rows with it. reference.py says what a row is.
"""
import base64
import json
import os
import pathlib
import subprocess
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = pathlib.Path(__file__).with_name("fixtures")
ASKED = ("text", "pair", "special", "max", "stride", "side", "strategy", "decode", "skip")


def driver_path():
    return os.environ.get("PARITY_DRIVER", str(ROOT / "build/release/tests/parity/driver"))


class Driver:
    """The C side behind pipes, one answer for each ask."""

    def __init__(self):
        self.start()

    def start(self):
        self.process = subprocess.Popen([driver_path()], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line.strip():
            raise RuntimeError("the driver ended with status %s" % self.process.wait())
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def asked(row):
    return {name: row[name] for name in ASKED if name in row}


def ask_all(asks):
    """Runs a list of asks through a driver of its own."""
    lines = b"".join(json.dumps(ask).encode() + b"\n" for ask in asks)
    done = subprocess.run([driver_path()], input=lines, stdout=subprocess.PIPE)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 0 or len(answers) != len(asks):
        at = asks[len(answers)] if len(answers) < len(asks) else {}
        raise RuntimeError("the driver ended with status %d at %.600s" % (done.returncode,
                                                                         json.dumps(at)))
    return answers


def code_points(text):
    """For each byte position of a text the number of code points in front of it."""
    out = []
    for at, char in enumerate(text):
        out += [at] * len(char.encode())
    return out + [len(text)]


def plain(values):
    return [int(v) for v in values] if isinstance(values, str) else values


FIELDS = ("ids", "offsets", "types", "specials")


def window_difference(expected, got, places):
    offsets = got["offsets"]
    segments = [segment for segment in got["segments"] for _ in (0, 1)]
    actual = [got["ids"], [places[s][o] for s, o in zip(segments, offsets)], got["types"],
              got["specials"]]
    for name, want, have in zip(FIELDS, map(plain, expected), actual):
        if want != have:
            return "%s: %s, not %s" % (name, have, want)
    return None


def difference(row, answer):
    """None when the answer is the row's, else a sentence."""
    if row.get("error"):
        return None if "error" in answer else "no error where the library has one"
    if "error" in answer:
        return "error: " + answer["error"]
    if "decode" in row:
        if answer["text"] != row["result"]:
            return "text: %r, not %r" % (answer["text"], row["result"])
        return None
    if len(answer["windows"]) != len(row["windows"]):
        return "%d windows, not %d" % (len(answer["windows"]), len(row["windows"]))
    places = [code_points(row["text"]), code_points(row.get("pair") or "")]
    for at, (expected, got) in enumerate(zip(row["windows"], answer["windows"])):
        fault = window_difference(expected, got, places)
        if fault is not None:
            return fault if at == 0 else "window %d: %s" % (at, fault)
    return None


def expand(value, pool):
    """Puts the pool's values in place of {"$pool": name}."""
    if isinstance(value, list):
        return [expand(one, pool) for one in value]
    if isinstance(value, dict):
        if "$pool" in value:
            return expand(pool[value["$pool"]], pool)
        return {name: expand(one, pool) for name, one in value.items()}
    return value


def read_pool(folder):
    path = folder / "pool.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


class Fixture:
    """A file of rows: the first line says how to open the tokenizer, the others are rows."""

    def __init__(self, path, pool):
        with open(path, encoding="utf-8") as lines:
            header = json.loads(next(lines))
            self.rows = [json.loads(line) for line in lines]
        self.name = path.stem
        self.document = expand(header.get("document"), pool)
        self.files = header.get("files")
        self.dir = header.get("dir")
        self.tokens_crc32 = header["tokens_crc32"]

    def start(self):
        """What opens the tokenizer; None when that takes files."""
        if self.document is not None:
            return {"json": json.dumps(self.document, ensure_ascii=False)}
        return None if self.dir is None else {"dir": self.dir}

    def differences(self):
        """Rows that differ, with a sentence each."""
        with tempfile.TemporaryDirectory() as folder:
            for name, data in (self.files or {}).items():
                pathlib.Path(folder, name).write_bytes(base64.b64decode(data))
            start = self.start() or {"dir": folder}
            opened, tokens, *answers = ask_all([start, {"list": True},
                                                *map(asked, self.rows)])
        if "refused" in opened:
            return [({}, "refused: " + opened["refused"])]
        out = []
        if zlib.crc32(json.dumps(tokens["tokens"]).encode()) != self.tokens_crc32:
            out.append(({}, "the list of tokens"))
        for row, answer in zip(self.rows, answers):
            fault = difference(row, answer)
            if fault is not None:
                out.append((row, fault))
        return out


def fixture_paths(folder):
    return sorted(path for path in folder.glob("*.jsonl"))
