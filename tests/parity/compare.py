#!/usr/bin/env python3
"""Runs the C side over the rows of a folder: compare.py FOLDER [NAME...]. Prints the first
differences of each tokenizer and the totals; ends with status 1 when anything differs."""
import argparse
import json
import pathlib
import sys

import rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="only these tokenizers")
    parser.add_argument("--show", type=int, default=3, help="differences shown for each tokenizer")
    options = parser.parse_args()
    pool = rows.read_pool(options.folder)
    tokenizers = total = differing = 0
    for path in rows.fixture_paths(options.folder):
        if options.names and path.stem not in options.names:
            continue
        fixture = rows.Fixture(path, pool)
        try:
            found = fixture.differences()
        except RuntimeError as fault:
            found = [({}, str(fault))]
        tokenizers += 1
        total += len(fixture.rows)
        differing += len(found)
        print("%-36s %5d rows, %d differences" % (fixture.name, len(fixture.rows), len(found)),
              flush=True)
        for row, fault in found[:options.show]:
            print("    %s\n        %.1500s" % (json.dumps(rows.asked(row))[:600], fault))
    print("%d tokenizers, %d rows, %d differences" % (tokenizers, total, differing))
    return 1 if differing or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
