"""Writes small checkpoints in pure Python: random BERT classifiers of any shape, whole or damaged,
so that the tests of model files need no library and no stored binaries."""
import json
import math
import pathlib
import random
import struct

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "ab", "##b", "hello", "world",
         "good", "bad", "very", "not", "##s", "!", ",", ".", "-", "[", "]", "c", "##c", "0", "1"]
SIZE_OF = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}


def config(**changes):
    """config.json of the default tiny model: 2 layers of width 16 and 3 labels."""
    values = {
        "architectures": ["BertForSequenceClassification"], "model_type": "bert",
        "vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 32, "hidden_act": "gelu",
        "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "pad_token_id": 0, "id2label": {"0": "low", "1": "middle", "2": "high"},
        "label2id": {"low": 0, "middle": 1, "high": 2},
        "problem_type": "single_label_classification"}
    values.update(changes)
    return {key: value for key, value in values.items() if value is not None}


def shapes(values):
    """Tensor names and shapes of a BERT classifier with this configuration."""
    hidden, inner = values["hidden_size"], values["intermediate_size"]
    found = {
        "bert.embeddings.word_embeddings.weight": [values["vocab_size"], hidden],
        "bert.embeddings.position_embeddings.weight": [values["max_position_embeddings"], hidden],
        "bert.embeddings.token_type_embeddings.weight": [values["type_vocab_size"], hidden],
        "bert.embeddings.LayerNorm.weight": [hidden], "bert.embeddings.LayerNorm.bias": [hidden]}
    for layer in range(values["num_hidden_layers"]):
        prefix = "bert.encoder.layer.%d." % layer
        for part, rows, columns in (("attention.self.query", hidden, hidden),
                                    ("attention.self.key", hidden, hidden),
                                    ("attention.self.value", hidden, hidden),
                                    ("attention.output.dense", hidden, hidden),
                                    ("intermediate.dense", inner, hidden),
                                    ("output.dense", hidden, inner)):
            found[prefix + part + ".weight"] = [rows, columns]
            found[prefix + part + ".bias"] = [rows]
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            found[prefix + norm + ".weight"] = [hidden]
            found[prefix + norm + ".bias"] = [hidden]
    found["bert.pooler.dense.weight"] = [hidden, hidden]
    found["bert.pooler.dense.bias"] = [hidden]
    labels = len(values["id2label"])
    found["classifier.weight"] = [labels, hidden]
    found["classifier.bias"] = [labels]
    return found


def weights(values, seed=1):
    """Random weights: {name: (dtype, shape, bytes)}; norms near one, the rest small."""
    rng = random.Random(seed)
    tensors = {}
    for name, shape in shapes(values).items():
        count = math.prod(shape)
        middle = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        numbers = [middle + rng.uniform(-0.3, 0.3) for _ in range(count)]
        tensors[name] = ("F32", shape, struct.pack("<%df" % count, *numbers))
    return tensors


def floats(shape, numbers):
    return ("F32", shape, struct.pack("<%df" % len(numbers), *numbers))


def safetensors(tensors, padding=8):
    """The bytes of a safetensors file; the header is padded to a multiple of `padding`."""
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    return safetensors_of(json.dumps(header), b"".join(t[2] for t in tensors.values()), padding)


def safetensors_of(header_text, data, padding=8):
    """The same from a header as text, which may be wrong in any way."""
    header = header_text.encode()
    header += b" " * (-len(header) % padding)
    return struct.pack("<Q", len(header)) + header + data


def tokenizer(words=None, added=()):
    """tokenizer.json of an uncased WordPiece with BERT's rules; `added` are (id, content)."""
    words = words or WORDS
    special = [(i, word) for i, word in enumerate(words[:5])]
    entries = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i, text in [*special, *added]]

    def piece(name, type_id):
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def text(name, type_id):
        return {"Sequence": {"id": name, "type_id": type_id}}
    single = [piece("[CLS]", 0), text("A", 0), piece("[SEP]", 0)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": entries,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing", "single": single,
            "pair": [*single, text("B", 1), piece("[SEP]", 1)],
            "special_tokens": {name: {"id": name, "ids": [words.index(name)], "tokens": [name]}
                               for name in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {word: i for i, word in enumerate(words)}}}


def write(folder, values=None, tensors=None, file_bytes=None, tokenizer_json=True, extra=None):
    """A model directory; each part can be replaced. Returns its path."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    values = values or config()
    (folder / "config.json").write_text(json.dumps(values))
    if file_bytes is None and tensors is not False:  # False: none at all
        file_bytes = safetensors(tensors or weights(values))
    if file_bytes is not None:
        (folder / "model.safetensors").write_bytes(file_bytes)
    if tokenizer_json:
        content = tokenizer() if tokenizer_json is True else tokenizer_json
        (folder / "tokenizer.json").write_text(json.dumps(content))
    for name, content in (extra or {}).items():
        (folder / name).write_bytes(content)
    return folder
