"""The report: what the machine is, and tables for people in Markdown."""
import importlib.metadata
import os
import pathlib
import platform
import subprocess

import peer_measure
import peer_runtimes

RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")
FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
PACKAGES = ("onnxruntime", "openvino", "ctranslate2", "torch", "zentorch", "transformers",
            "tokenizers", "onnx", "nncf")
# CPU flags, one of which a dtype needs to be worth measuring.
NEEDS = {"f32": (), "bf16": ("avx512_bf16", "amx_bf16"),
         "int8": ("avx512_vnni", "avx_vnni", "amx_int8")}
MARK = "<!-- section {} -->"
END = "<!-- end -->"


def cpu_facts():
    """(name, flags) of the processor."""
    name, flags = platform.machine(), set()
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            name = value.strip()
        elif key.strip() == "flags":
            flags = set(value.split())
    return name, flags


def machine_lines(program):
    """Where and with what was measured."""
    name, flags = cpu_facts()
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return [f"- {name}, {len(os.sched_getaffinity(0))} cores, "
            f"{' '.join(flag for flag in FLAGS if flag in flags)}; Linux {platform.release()}, "
            f"load at the start {os.getloadavg()[0]:.2f}",
            "- " + "; ".join(version.stdout.strip().splitlines()), f"- {packages}"]


def missing_for(dtype, flags):
    """Why a dtype is not worth measuring on a CPU with these flags; empty when it is."""
    needs = NEEDS[dtype]
    if not needs or flags.intersection(needs):
        return ""
    return f"this CPU has none of {', '.join(needs)}"


def title(name):
    """A runtime's name for people."""
    known = peer_runtimes.RUNTIMES.get(name)
    return known.title if known else name


def describe(result):
    """A peer's rate; one that came to no round is marked."""
    mark = "" if result.rates else "*"
    return f"{title(result.name)} {result.rate:,.0f}{mark} ({result.setting})"


def ratio(mine, other):
    """Median and quartiles of the rounds' ratios."""
    low, middle, high = peer_measure.spread(peer_measure.ratios(mine, other))
    return f"**{middle:.2f}** ({low:.2f} to {high:.2f})"


def table_row(cell, ours, peers):
    """The cells of one table row: `ours` is bertd, and bertd with all rows."""
    best = peers[0] if peers and peers[0].rates else None
    row = [cell.title]
    for mine in ours:
        row += [f"{mine.rate:,.0f}", ratio(mine, best) if best else ""]
    return row + [describe(best) if best else "none",
                  "; ".join(map(describe, peers[1:] if best else peers))]


def table(head, rows):
    """Markdown."""
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]


def accuracy_row(name, dtype, accuracy):
    """The cells of one runtime's row."""
    f1 = "" if accuracy.f1 is None else f"{100 * accuracy.f1:.2f}"
    return [title(name), dtype, f1, f"{100 * accuracy.flips:.2f} %", f"{accuracy.p99:.2g}",
            f"{accuracy.largest:.2g}"]


def replace_section(text, section, lines):
    """A report with a section's lines put in place of the old ones, or at the end."""
    mark, body = MARK.format(section), "\n".join(lines).strip("\n")
    before, found, rest = text.partition(mark + "\n")
    after = rest.partition(END + "\n")[2] if found else ""
    if not found and before and not before.endswith("\n\n"):
        before = before.rstrip("\n") + "\n\n"
    return f"{before}{mark}\n{body}\n\n{END}\n{after}"


def write_section(path, section, lines):
    """The same with a file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(replace_section(text, section, lines), encoding="utf-8")
