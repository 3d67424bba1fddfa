"""Makes masked-language checkpoints for the tests: the body of a classifier with a random head that
ties its decoder to the word embeddings."""
import json
import math
import pathlib
import random
import shutil
import struct

import tiny


def read(path):
    """The tensors of a safetensors file as tiny.safetensors() takes them."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, tensor in header.items():
        first, last = (8 + size + offset for offset in tensor["data_offsets"])
        found[name] = (tensor["dtype"], tensor["shape"], data[first:last])
    return found


def head(hidden, vocabulary):
    """The tensors of BertForMaskedLM's head: transform, its norm, one bias; no decoder."""
    rng = random.Random(7)
    shapes = {"transform.dense.weight": [hidden, hidden], "transform.dense.bias": [hidden],
              "transform.LayerNorm.weight": [hidden], "transform.LayerNorm.bias": [hidden],
              "bias": [vocabulary]}
    return {"cls.predictions." + name: tiny.floats(shape, [
        (name.endswith("Norm.weight")) + rng.uniform(-0.2, 0.2) for _ in range(math.prod(shape))])
        for name, shape in shapes.items()}


def head_bytes(hidden, vocabulary):
    return sum(len(data) for _, _, data in head(hidden, vocabulary).values())


def write(source, folder):
    """The checkpoint `source` with a masked-language head in place of its own. Returns `folder`."""
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    values = json.loads((source / "config.json").read_text())
    values.update(architectures=["BertForMaskedLM"], tie_word_embeddings=True)
    tensors = {name: tensor for name, tensor in read(source / "model.safetensors").items()
               if not name.startswith(("classifier.", "bert.pooler."))}
    tensors.update(head(values["hidden_size"], values["vocab_size"]))
    tiny.write(folder, values, tensors, tokenizer_json=False)
    for path in source.iterdir():
        if path.name.startswith(("tokenizer", "vocab", "special_tokens")):
            shutil.copy(path, folder / path.name)
    return folder
