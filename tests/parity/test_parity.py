"""The committed sample of the comparison with the pinned library: tests/parity/fixtures/, made by
generate.py. `make parity` runs the whole."""
import pathlib
import re
import unittest

import catalog
import rows

READERS = sorted((rows.ROOT / "engine/text").glob("tokenizer_json*.c"))
TABLE = re.compile(r"struct part_type (\w+)\[\] = \{(.*?\})[,\s]*\};", re.S)
ROW = re.compile(r'\{"(\w+)", read_')
ROLES = {"NORMALIZERS": "normalizer", "PRETOKENIZERS": "pre_tokenizer", "MODELS": "model",
         "POST_PROCESSORS": "post_processor", "DECODERS": "decoder"}


def known_types():
    """Parts that the C reader knows, from its tables: "normalizer Strip" and so on."""
    return {"%s %s" % (ROLES[table], name) for path in READERS
            for table, body in TABLE.findall(path.read_text(encoding="utf-8"))
            for name in ROW.findall(body)}


class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pool = rows.read_pool(rows.FIXTURES)
        cls.fixtures = [rows.Fixture(path, pool) for path in rows.fixture_paths(rows.FIXTURES)]
        cls.documents = [one.document for one in cls.fixtures if one.document is not None]

    def test_every_piece_of_the_list_is_in_a_tokenizer(self):
        self.assertEqual([], catalog.missing(self.documents))

    def test_every_piece_that_the_reader_knows_is_in_a_tokenizer(self):
        known = known_types()
        self.assertEqual(set(ROLES.values()), {one.split()[0] for one in known})
        covered = set().union(*map(catalog.coverage, self.documents))
        self.assertEqual(set(), known - covered)


def equal_test(path):
    def test(self):
        found = rows.Fixture(path, rows.read_pool(rows.FIXTURES)).differences()
        self.assertEqual([], [(rows.asked(row), fault) for row, fault in found[:3]],
                         "%d differences" % len(found))
    return test


for fixture in rows.fixture_paths(rows.FIXTURES):
    setattr(Sample, "test_%s_gives_what_the_library_gives" % re.sub(r"\W", "_", fixture.stem),
            equal_test(fixture))

if __name__ == "__main__":
    unittest.main()
