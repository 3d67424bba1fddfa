#!/usr/bin/env python3
"""Measures bertd against ONNX Runtime, OpenVINO, CTranslate2, PyTorch and zentorch in process: one
checkpoint, the same texts, tokenization included, in one run. RESULTS.md beside it says how to read
the tables that this puts there.

Ends with status 1 when the logits of anybody are wrong; nothing of that runtime is timed then."""
import argparse
import json
import pathlib
import shlex
import sys
import time

import peer_accuracy
import peer_measure
import peer_report
import peer_runtimes
import peer_session
import peer_setup
import peer_work

TABLE_HEAD = ("work", "bertd", "to the best peer", "all rows", "to the best peer", "best peer",
              "other peers")
ACCURACY_HEAD = ("runtime", "dtype", "macro F1", "first label differs", "p99 logit error",
                 "largest")


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=peer_setup.MODELS, default="demo",
                        help="base and large are of the size of BERT's, with random weights")
    parser.add_argument("--rounds", type=int, default=7, help="A B B A rounds of each cell (7)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement (0.5)")
    parser.add_argument("--contenders", type=int, default=2,
                        help="best peers of a cell that take part in its rounds (2)")
    parser.add_argument("--cells", default="", help="those with these in their names: short,one")
    parser.add_argument("--peers", default=",".join(peer_runtimes.RUNTIMES), help="all by default")
    parser.add_argument("--dtypes", default="", help="instead of those that the CPU is made for")
    parser.add_argument("--labelled", type=pathlib.Path, default=peer_setup.LABELLED,
                        help="JSON lines of text and labels, for the demo model's accuracy")
    parser.add_argument("--program", type=pathlib.Path, default=peer_setup.PROGRAM)
    parser.add_argument("--results", type=pathlib.Path, default=peer_report.RESULTS,
                        help="file to write into")
    return parser.parse_args()


def choose_dtypes(wanted, flags):
    """(those to measure, why others are left out): as wanted, or what the CPU is made for."""
    if wanted:
        return wanted.split(","), []
    reasons = {dtype: peer_report.missing_for(dtype, flags) for dtype in peer_report.NEEDS}
    return ([dtype for dtype, reason in reasons.items() if not reason],
            [f"{dtype} is left out: {reason}" for dtype, reason in reasons.items() if reason])


class Accuracies:
    """Who is how exact, against bertd in f32, on the labelled texts and some of every cell."""

    def __init__(self, arguments, setup, cells):
        rows = peer_work.read_labelled(arguments.labelled) if arguments.model == "demo" else []
        self.wanted = [names for _, names in rows]
        self.texts = [text for text, _ in rows] + [t for cell in cells for t in cell.texts[:8]]
        self.labels, self.thresholds = setup.labels, []
        if rows:
            path = setup.places.checkpoint / "thresholds.json"
            known = json.loads(path.read_text(encoding="utf-8"))
            self.thresholds = [known[label] for label in self.labels]
        self.reference, self.rows, self.failed, self.outside = None, [], [], set()

    def f1(self, logits):
        """Macro F1 of the labelled texts, or None."""
        if not self.wanted:
            return None
        return peer_accuracy.macro_f1(logits[:len(self.wanted)], self.wanted, self.labels,
                                      self.thresholds)

    def take(self, name, dtype, logits):
        """Keeps a runtime's row; false when these are not the model's logits."""
        accuracy = peer_accuracy.compare(logits, self.reference)
        accuracy.f1 = self.f1(logits)
        self.rows.append(peer_report.accuracy_row(name, dtype, accuracy))
        print(" | ".join(self.rows[-1]), flush=True)
        if not peer_accuracy.counts(accuracy, self.f1(self.reference)):
            self.outside.add((name, dtype))
        if accuracy.largest <= peer_accuracy.TOLERANCE[dtype]:
            return True
        self.failed.append(f"{name} {dtype}")
        return False


class Bench:
    """One run of the program."""

    def __init__(self, arguments):
        self.arguments, self.started, self.tables = arguments, time.monotonic(), {}
        self.machine = peer_report.machine_lines(arguments.program)
        self.flags = peer_report.cpu_facts()[1]
        self.dtypes, self.notes = choose_dtypes(arguments.dtypes, self.flags)
        setup = peer_setup.prepare(arguments.model, arguments.program, self.dtypes,
                                   "peers")
        self.places = setup.places
        wanted = arguments.cells.split(",")
        self.cells = [cell for cell in
                      peer_work.make_cells(setup.tokenizer, setup.texts, setup.weight)
                      if any(word in cell.key for word in wanted)]
        self.accuracies = Accuracies(arguments, setup, self.cells)
        work = {cell.texts_key: cell.texts for cell in self.cells}
        work["checked"] = self.accuracies.texts
        self.places.work.write_text(json.dumps(work), encoding="utf-8")
        self.accuracies.reference = peer_session.Bertd("f32", self.places).logits(work["checked"])

    def open_ours(self, dtype):
        """bertd at a dtype and the same with all rows computed; none where it is wrong."""
        ours = peer_session.Bertd(dtype, self.places)
        if not self.accuracies.take(ours.name, dtype, ours.logits(self.accuracies.texts)):
            return []
        return [ours, peer_session.Bertd(dtype, self.places, ["--all-rows"], "bertd, all rows")]

    def open_peer(self, name, dtype):
        """A runtime that runs here and gives the right logits, or None."""
        runtime = peer_runtimes.RUNTIMES[name]
        if dtype not in runtime.dtypes:
            return None
        if runtime.cpu_flag and runtime.cpu_flag not in self.flags:
            self.notes.append(f"{runtime.title} is left out: it optimises on CPUs with "
                              f"{runtime.cpu_flag} only")
            return None
        peer = peer_session.Peer(name, dtype, self.places)
        try:
            if self.accuracies.take(name, dtype, peer.logits("checked")):
                return peer
        except peer_session.Unusable as reason:
            self.notes.append(f"{peer_report.title(name)} {dtype} is left out: {reason}")
            print(self.notes[-1], flush=True)
        peer.close()
        return None

    def measure(self, dtype):
        """One dtype's table. Peers that lose too much F1 come last, without rounds. The report is
        written after each cell, so that a run that ends early leaves what it has."""
        ours = self.open_ours(dtype)
        opened = [self.open_peer(name, dtype) for name in self.arguments.peers.split(",")]
        opened = [peer for peer in opened if peer]
        counted = [p for p in opened if (p.name, dtype) not in self.accuracies.outside]
        search, rows = peer_measure.Search(), self.tables.setdefault(dtype, [])
        for cell in self.cells if ours else ():
            mine, peers = peer_measure.measure_cell(
                search, ours, counted, cell, self.arguments.rounds, self.arguments.seconds,
                self.arguments.contenders)
            peers += [search.find(peer, cell)[1] for peer in opened if peer not in counted]
            rows.append(peer_report.table_row(cell, mine, peers))
            print(" | ".join([dtype, *rows[-1]]), flush=True)
            peer_report.write_section(self.arguments.results, self.arguments.model, self.report())
        for peer in opened:
            peer.close()

    def notes_lines(self):
        """What was left out and why."""
        lost = f"it loses more than {100 * peer_accuracy.F1_LOSS_MAX:.1f} points of macro F1"
        notes = self.notes + [f"{peer_report.title(name)} {dtype} is no cell's best peer: {lost}"
                              for name, dtype in sorted(self.accuracies.outside)]
        return [f"- {note}" for note in notes]

    def report(self):
        """The lines of the report."""
        arguments, minutes = self.arguments, (time.monotonic() - self.started) / 60
        command = shlex.join(["tests/bench/peers.py", *sys.argv[1:]])
        lines = [f"## In process: {arguments.model} model", "", *self.machine,
                 f"- `build/peers/bin/python {command}`: {arguments.rounds} rounds of "
                 f"{arguments.seconds:g} s or one pass, {minutes:.0f} minutes",
                 *self.notes_lines(), ""]
        for dtype, rows in self.tables.items():
            lines += [f"### {dtype}", "", *peer_report.table(TABLE_HEAD, rows), ""]
        kind = f"{len(self.accuracies.wanted)} labelled and " if self.accuracies.wanted else ""
        count = len(self.accuracies.texts) - len(self.accuracies.wanted)
        lines += [f"### Accuracy on {kind}{count} other texts, against bertd in f32", "",
                  *peer_report.table(ACCURACY_HEAD, self.accuracies.rows)]
        return lines


def main():
    """Measures and reports."""
    arguments = parse_arguments()
    bench = Bench(arguments)
    print("\n".join(bench.machine), flush=True)
    try:
        for dtype in bench.dtypes:
            bench.measure(dtype)
    except peer_session.Unusable as reason:
        sys.exit(f"peers.py: {reason}")
    print("\n".join(bench.report()))
    if bench.accuracies.failed:
        sys.exit("wrong logits: " + ", ".join(bench.accuracies.failed))


if __name__ == "__main__":
    main()
