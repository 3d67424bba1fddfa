"""Applies the house rules of rules.py to every file of the project."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {".git", "build", "__pycache__"}


def project_files():
    """Paths from the top of all files, without what git ignores."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in NOT_OURS)
        for name in sorted(names):
            if name not in NOT_OURS:
                yield (pathlib.Path(folder) / name).relative_to(ROOT).as_posix()


class Tree(unittest.TestCase):
    maxDiff = None

    def test_every_file_keeps_the_rules(self):
        found, seen = [], 0
        for path in project_files():
            wanted = rules.rules_for(path)
            if wanted:
                text = (ROOT / path).read_bytes().decode("utf-8")
                found += [complaint for rule in wanted for complaint in rule(path, text)]
                seen += 1
        self.assertEqual([], found)
        self.assertGreater(seen, 100)

    def test_the_top_level_holds_what_the_design_lists(self):
        names = set(os.listdir(ROOT)) - NOT_OURS
        self.assertEqual([], rules.check_top_level(names))

    def test_every_fuzzer_has_a_corpus(self):
        fuzzers = sorted((ROOT / "tests/fuzz").glob("fuzz_*.c"))
        self.assertNotEqual([], fuzzers)
        for fuzzer in fuzzers:
            corpus = ROOT / "tests/fuzz/corpus" / fuzzer.stem.removeprefix("fuzz_")
            self.assertTrue(corpus.is_dir() and any(corpus.iterdir()), f"{corpus} is empty")

    def test_c_files_look_as_clang_format_writes_them(self):
        program = shutil.which("clang-format")
        if not program:
            self.skipTest("clang-format is not installed")
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        if not re.search(r"version 14\.", version.stdout):
            self.skipTest("the layout is that of clang-format 14")
        files = [path for path in project_files()
                 if path.endswith((".c", ".h")) and not path.endswith("_tables.c")]
        done = subprocess.run([program, "--dry-run", *files], cwd=ROOT, capture_output=True,
                              text=True, check=True)
        odd = sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning", done.stderr, re.M)))
        self.assertEqual([], odd, "run `make format`")


if __name__ == "__main__":
    unittest.main()
