#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/checkpoints/: small checkpoints without a tokenizer.json, and what
the pinned `transformers` makes of texts with them.

    pip install -r tests/golden/requirements.txt
    python3 tests/golden/generate_checkpoint_fixtures.py

Sentencepiece models and a byte-level BPE are trained on the sentences below. encodings.jsonl has
rows with `dir`, `text`, `text_pair` (or absent), `ids`, `type_ids` and flat `offsets`; a row
with `error` is a directory that must be refused. The seed is fixed."""
import io
import json
import os
import random
import shutil

import sentencepiece
import tokenizers
import transformers
from tokenizers import ByteLevelBPETokenizer
from transformers import AutoTokenizer

PINNED = {"tokenizers": "0.23.3", "transformers": "5.24.0", "sentencepiece": "0.2.3"}
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer", "checkpoints")
TEXTS_PER_DIR = 60
SENTENCES = [
    "The quick brown fox jumps over the lazy dog and runs away from the river.",
    "She said that nobody had seen the lighthouse keeper since the storm of last winter.",
    "Élève à l'école, où êtes-vous ? Ça va très bien, merci beaucoup.",
    "Die Straße über den Äpfeln ist größer als gestern.",
    "Привет, мир! Как твои дела сегодня?",
    "東京は日本の首都です。",
    "\"Quoted words\" (and brackets) cost 1,234.50 dollars, or 3% of 42.",
] * 4
WORDS = SENTENCES[0].split() + SENTENCES[2].split() + SENTENCES[6].split() + [
    "  ", "\t", "\n", "``x''", "<mask>", "[MASK]", "[SEP]", "[CLS]", "</s>", "<s>", "(", "\ufb01",
    "\u2122", "\u00bd", "e\u0301", "\U0001f600", "<x>", "<z>", " <mask> ", "\u00a0", "\u2026",
    "Straße", "\u0130", "\u3000", "<unk>", "[UNK]", "<pad>", "\u2581", "東京", "Привет", "RIVER"]
CHARSMAP = "FB01\t66 69\n2122\t54 4D\nA0\t20\n3000\t20\n2026\t2E 2E 2E\n65 301\tE9\n"
FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
ALBERT = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1,
          "control_symbols": ["[CLS]", "[SEP]"], "user_defined_symbols": ["[MASK]", "("]}
DEBERTA = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]",
           "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}


def token(content, **flags):
    """An added token as configuration files write it."""
    return {"content": content, "lstrip": False, "rstrip": False, "single_word": False,
            "normalized": False, **flags}


# directory: (model_type, its file, options of the training or None, other files)
CHECKPOINTS = {
    "albert": ("albert", "spiece.model", ALBERT, {}),
    "albert_cased": ("albert", "spiece.model", ALBERT, {"tokenizer_config.json": {
        "do_lower_case": False, "keep_accents": True, "add_prefix_space": False,
        "tokenizer_class": "AlbertTokenizer",
        "mask_token": {"__type": "AddedToken", **token("[MASK]", lstrip=True)}}}),
    "xlm_roberta": ("xlm-roberta", "sentencepiece.bpe.model", FAIRSEQ, {}),
    "xlm_roberta_map": ("xlm-roberta", "sentencepiece.bpe.model", FAIRSEQ, {
        "special_tokens_map.json": {"mask_token": token("<mask>", lstrip=True, normalized=True),
                                    "bos_token": "<s>", "additional_special_tokens": ["<x>"]}}),
    "camembert": ("camembert", "sentencepiece.bpe.model", FAIRSEQ, {}),
    "camembert_added": ("other", "sentencepiece.bpe.model", FAIRSEQ, {
        "tokenizer_config.json": {"tokenizer_class": "CamembertTokenizer",
                                  "additional_special_tokens": ["<x>", "<s>NOTUSED"]},
        "added_tokens.json": {"<z>": 120}}),
    "deberta_v2": ("deberta-v2", "spm.model", DEBERTA, {}),
    "deberta_v2_flags": ("deberta-v2", "spm.model", DEBERTA, {"tokenizer_config.json": {
        "do_lower_case": True, "split_by_punct": True, "add_prefix_space": False,
        "tokenizer_class": "DebertaV2TokenizerFast",
        "added_tokens_decoder": {
            "116": token("<x>", rstrip=True, normalized=True, single_word=True, special=False),
            "115": token("[MASK]", lstrip=True, normalized=True, special=True)}}}),
    "roberta": ("roberta", None, None, {}),
    "roberta_prefix": ("roberta", None, None, {
        "tokenizer_config.json": {
            "add_prefix_space": True, "trim_offsets": False,
            "tokenizer_class": "RobertaTokenizerFast",
            "mask_token": {"__type": "AddedToken", **token("<mask>", lstrip=True)},
            "additional_special_tokens": ["<x>"]},
        "added_tokens.json": {"<z>": 340}}),
}
REFUSED = {
    "spm_other": ("t5", "spiece.model", ALBERT, {}),
    "spm_bpe": ("albert", "spiece.model", dict(ALBERT, model_type="bpe"), {}),
    "merges_other": ("gpt2", None, None, {}),
}


def train_spm(path, options):
    """Trains a Unigram of 115 pieces, with the small character map unless told otherwise."""
    model = io.BytesIO()
    rules = os.path.join(OUT, "rules.tsv")
    with open(rules, "w", encoding="utf-8") as file:
        file.write(CHARSMAP)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=model, num_threads=1, minloglevel=2,
        normalization_rule_tsv=rules,
        **{"vocab_size": 115, "character_coverage": 0.98, **options})
    os.remove(rules)
    with open(path, "wb") as file:
        file.write(model.getvalue())


def make_dir(name, model_type, file, options, others):
    """Writes the files of one checkpoint; returns its path."""
    path = os.path.join(OUT, name)
    os.makedirs(path)
    if file is not None:
        train_spm(os.path.join(path, file), options)
    else:
        bpe = ByteLevelBPETokenizer()
        bpe.train_from_iterator(SENTENCES, vocab_size=340, min_frequency=1, show_progress=False,
                                special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        bpe.save_model(path)
    for other, content in {"config.json": {"model_type": model_type}, **others}.items():
        with open(os.path.join(path, other), "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)
            out.write("\n")
    return path


def text(rng):
    """A text of some words with or without blanks between."""
    words = (rng.choice(WORDS) for _ in range(rng.randint(0, 9)))
    return "".join(word + rng.choice([" ", " ", "", "  "]) for word in words)


def load(path, name):
    """The tokenizer that transformers builds; the class when model_type does not say it."""
    if name == "camembert_added":
        return transformers.CamembertTokenizer.from_pretrained(path)
    return AutoTokenizer.from_pretrained(path)


def main():
    for module in (tokenizers, transformers, sentencepiece):
        assert module.__version__ == PINNED[module.__name__], module.__version__
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    rng = random.Random(5)
    rows = []
    for name, spec in CHECKPOINTS.items():
        backend = load(make_dir(name, *spec), name)._tokenizer
        for _ in range(TEXTS_PER_DIR):
            row = {"dir": name, "text": text(rng)}
            if rng.random() < 0.3:
                row["text_pair"] = text(rng)
            made = backend.encode(row["text"], row.get("text_pair"))
            rows.append({**row, "ids": made.ids, "type_ids": made.type_ids,
                         "offsets": [at for span in made.offsets for at in span]})
    for name, spec in REFUSED.items():
        make_dir(name, *spec)
        rows.append({"dir": name, "error": "load"})
    with open(os.path.join(OUT, "encodings.jsonl"), "w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
