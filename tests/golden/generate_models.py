#!/usr/bin/env python3
"""Writes tests/golden/models/: small random BERT classifiers with their outputs by `transformers`.

    pip install torch==2.13.0 transformers==5.24.0 safetensors==0.8.0
    python3 tests/golden/generate_models.py

Each folder is a checkpoint as the server reads it (config.json, safetensors) and has beside it
reference.safetensors, computed in float64 from the very numbers of the checkpoint:

ids, type_ids  [N]         B inputs end to end, no special tokens in particular
starts         [B + 1]     where each begins
logits         [B, K]      F64
hidden.0 … L   [M, H]      F32, after the embedding and after each layer, of the first inputs only:
                           M is one of `starts`
Every input is attended whole, id 0 (padding) included. Sizes are odd on purpose.
"""
import json
import os
import shutil

import safetensors.torch
import torch
import transformers
from transformers import BertConfig, BertForSequenceClassification

PINNED = {"torch": "2.13.0", "transformers": "5.24.0"}
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
LENGTHS = [1, 2, 3, 8, 15, 16, 17, 33, 64, 65, 100]
HIDDEN_TOKENS = 64  # hidden states of at least so many tokens are kept

# H hidden, A attention heads, I intermediate, L layers, K labels, P positions
MODELS = {
    "attn-head-of-5": dict(H=35, A=7, I=51, L=2, K=3, problem="single_label_classification"),
    "attn-head-of-1": dict(H=17, A=17, I=1, L=1, K=3, lengths=[1, 2, 17, 40]),
    "attn-head-of-64": dict(H=128, A=2, I=290, L=1, K=28, types=F16, act="gelu_pytorch_tanh",
                            problem="multi_label_classification"),
    "regression": dict(H=20, A=4, I=33, L=1, K=1, act="gelu_new", problem="regression"),
    "float16": dict(H=36, A=3, I=70, L=3, K=2, types=F16),
    "bfloat16": dict(H=40, A=5, I=61, L=2, K=12, types=BF16, act="relu", labels="text order",
                     problem="multi_label_classification"),
    "mixed-types": dict(H=33, A=3, I=45, L=2, K=5, types="mixed"),
    "shards": dict(H=27, A=3, I=50, L=5, K=3, types=F16, shards=3),
    "no-prefix": dict(H=30, A=2, I=47, L=2, K=3, names="no prefix"),
    "old-names": dict(H=18, A=6, I=29, L=2, K=3, names="old", labels="label2id"),
    "flat-norm": dict(H=25, A=5, I=30, L=3, K=3, eps=1e-3, scale=0.02),
    "saturated-pooler": dict(H=24, A=2, I=40, L=2, K=3, pooler=30.0),
    "sharp-attention": dict(H=24, A=2, I=40, L=2, K=3, sharpness=5.0),
    "one-token-type": dict(H=22, A=2, I=41, L=1, K=3, T=1),
    "long": dict(H=16, A=2, I=23, L=2, K=3, P=512, lengths=[200, 511, 512, 7, 129, 257], kept=911),
}


def settings(spec):
    labels = {i: f"label {i}" for i in range(spec["K"])}
    return BertConfig(
        vocab_size=101, hidden_size=spec["H"], num_hidden_layers=spec["L"],
        num_attention_heads=spec["A"], intermediate_size=spec["I"],
        hidden_act=spec.get("act", "gelu"), max_position_embeddings=spec.get("P", 128),
        type_vocab_size=spec.get("T", 2), layer_norm_eps=spec.get("eps", 1e-12), id2label=labels,
        label2id={label: i for i, label in labels.items()}, problem_type=spec.get("problem"),
        architectures=["BertForSequenceClassification"], attn_implementation="eager")


def randomise(model, spec):
    """Weights that move every part: transformers' own start values leave most of it near zero."""
    scale = spec.get("scale", 1.0)
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, dtype=torch.float64)
        if "LayerNorm.weight" in name:
            value = (1 + 0.3 * noise) * (scale if "embeddings" not in name else 1)
        elif name.endswith("bias"):
            value = 0.2 * noise * scale
        elif "embeddings" in name:
            value = noise * scale
        else:
            value = noise / weight.shape[1] ** 0.5
        if "pooler.dense.weight" in name:
            value = value * spec.get("pooler", 1.0)
        if "self.query.weight" in name or "self.key.weight" in name:
            value = value * spec.get("sharpness", 1.0)
        weight.data = value


def number_type(index, spec):
    types = spec.get("types", F32)
    return [F16, F32, BF16, F32, F16][index % 5] if types == "mixed" else types


def file_name(name, spec):
    """What the checkpoint calls the tensor."""
    if spec.get("names") in ("no prefix", "old"):
        name = name.removeprefix("bert.")
    if spec.get("names") == "old":
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        name = name.replace("LayerNorm.bias", "LayerNorm.beta")
    return name


def write_checkpoint(folder, state, spec):
    tensors = {file_name(name, spec): t.clone().contiguous() for name, t in state.items()}
    if spec.get("names") == "old":
        tensors["embeddings.position_ids"] = torch.arange(128).unsqueeze(0)
        tensors["cls.seq_relationship.bias"] = torch.zeros(2)
    shards = spec.get("shards", 1)
    if shards == 1:
        safetensors.torch.save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})
        return
    where = {}
    for s in range(shards):
        name = f"model-{s + 1:05}-of-{shards:05}.safetensors"
        part = {k: t for i, (k, t) in enumerate(tensors.items()) if i % shards == s}
        safetensors.torch.save_file(part, f"{folder}/{name}", {"format": "pt"})
        where.update(dict.fromkeys(part, name))
    total = sum(t.numel() * t.element_size() for t in tensors.values())
    with open(f"{folder}/model.safetensors.index.json", "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": where}, f, indent=1)


def write_settings(folder, config, spec):
    config.save_pretrained(folder)
    with open(f"{folder}/config.json") as f:
        values = json.load(f)
    if spec.get("labels") == "text order":
        values["id2label"] = dict(sorted(values["id2label"].items()))
    if spec.get("labels") == "label2id":
        del values["id2label"]
    if spec.get("names") == "no prefix":
        del values["architectures"]
    with open(f"{folder}/config.json", "w") as f:
        json.dump(values, f, indent=1)
        f.write("\n")


def make_inputs(spec):
    inputs = []
    for i, length in enumerate(spec.get("lengths", LENGTHS)):
        ids = torch.randint(0, 101, (length,))
        types = torch.zeros(length, dtype=torch.long)
        if i % 3 == 2 and spec.get("T", 2) > 1:
            types[length // 3:] = 1
        inputs.append((ids, types))
    return inputs


def reference(model, inputs, spec):
    starts, logits, hidden = [0], [], []
    for ids, types in inputs:
        with torch.no_grad():
            out = model(input_ids=ids[None], token_type_ids=types[None],
                        attention_mask=torch.ones_like(ids)[None], output_hidden_states=True)
        assert out.logits.dtype == torch.float64
        logits.append(out.logits[0])
        if starts[-1] < spec.get("kept", HIDDEN_TOKENS):
            hidden.append([layer[0] for layer in out.hidden_states])
        starts.append(starts[-1] + len(ids))
    tensors = {
        "ids": torch.cat([ids for ids, _ in inputs]).to(torch.int32),
        "type_ids": torch.cat([types for _, types in inputs]).to(torch.uint8),
        "starts": torch.tensor(starts, dtype=torch.int32),
        "logits": torch.stack(logits),
    }
    for i, layer in enumerate(zip(*hidden)):
        tensors[f"hidden.{i}"] = torch.cat(layer).to(F32).contiguous()
    return tensors


def make(name, spec, seed):
    torch.manual_seed(seed)
    folder = os.path.join(OUT, name)
    os.makedirs(folder)
    config = settings(spec)
    model = BertForSequenceClassification(config).double().eval()
    randomise(model, spec)
    state = {k: v.to(number_type(i, spec)) for i, (k, v) in enumerate(model.state_dict().items())}
    model.load_state_dict({k: v.double() for k, v in state.items()})
    write_settings(folder, config, spec)
    write_checkpoint(folder, state, spec)
    expected = reference(model, make_inputs(spec), spec)
    safetensors.torch.save_file(expected, f"{folder}/reference.safetensors")
    if spec.get("names") is None:  # the checkpoint is one that transformers itself reads so
        again = BertForSequenceClassification.from_pretrained(folder, dtype=torch.float64,
                                                              attn_implementation="eager").eval()
        logits = reference(again, make_inputs_again(expected), spec)["logits"]
        assert torch.equal(logits, expected["logits"]), name
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(f"{name:18} {size:8} bytes, logits {expected['logits'].min():.3f} to "
          f"{expected['logits'].max():.3f}")


def make_inputs_again(tensors):
    starts = tensors["starts"].tolist()
    return [(tensors["ids"][a:b].long(), tensors["type_ids"][a:b].long())
            for a, b in zip(starts, starts[1:])]


def main():
    for module in (torch, transformers):
        wanted = PINNED[module.__name__]
        if module.__version__.split("+")[0] != wanted:
            raise SystemExit(f"needs {module.__name__} {wanted}, found {module.__version__}")
    torch.set_num_threads(1)
    shutil.rmtree(OUT, ignore_errors=True)
    for seed, (name, spec) in enumerate(MODELS.items()):
        make(name, spec, seed)


if __name__ == "__main__":
    main()
