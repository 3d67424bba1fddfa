#!/usr/bin/env python3
"""Writes tests/golden/mask_models/: small random masked-language models, and what the fill-mask
pipeline of `transformers` makes of texts with them.

    pip install torch==2.13.0 transformers==5.24.0 safetensors==0.8.0
    python3 tests/golden/generate_mask_models.py

Each folder is a checkpoint as the server reads it, with the first words of the demo model's
vocabulary, and has beside it answers.jsonl, computed in float64 from the very numbers of the
checkpoint. A line is {"input": a text or an array of token ids, "top_k", "targets" or null,
"masks": [[{"score", "token", "token_str", "sequence"}, ...] for each mask]}, or with "error"
instead of "masks" where the pipeline refuses the text. Truncation is on, from the right.
"""
import json
import os
import shutil

import safetensors.torch
import torch
import transformers
from transformers import BertConfig, BertForMaskedLM, BertTokenizer, FillMaskPipeline

PINNED = {"torch": "2.13.0", "transformers": "5.24.0"}
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUT = os.path.join(ROOT, "tests", "golden", "mask_models")
VOCABULARY = os.path.join(ROOT, "models", "goemotions-minilm", "vocab.txt")
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
WORDS, LIMIT = 1900, 24
WEIGHT, BIAS = "cls.predictions.decoder.weight", "cls.predictions.bias"
OWN_BIAS = "cls.predictions.decoder.bias"

# `has`: which of the decoder's tensors the file has; `own`: the matrix is not the embeddings
MODELS = {
    "tied": dict(H=36, L=2, has=[BIAS]),
    "tied-float16": dict(H=24, L=1, type=F16, has=[BIAS]),
    "tied-bfloat16": dict(H=40, L=2, type=BF16, has=[OWN_BIAS], act="gelu_new"),
    "twice": dict(H=20, L=1, has=[BIAS, WEIGHT, OWN_BIAS]),
    "untied": dict(H=33, L=2, has=[BIAS, WEIGHT, OWN_BIAS], own=True, tie=False, act="relu"),
    "differs": dict(H=28, L=1, type=F16, has=[BIAS, WEIGHT, OWN_BIAS], own=True, clean_up=True),
    "old-names": dict(H=18, L=2, has=[BIAS], old=True),
}
TEXTS = [
    dict(input="the [MASK] of the world"),
    dict(input="[MASK]", top_k=3),
    dict(input="It isn't [MASK], is it?", top_k=1),
    dict(input="a [MASK] and a [MASK]: two of [MASK] !", top_k=4),
    dict(input="an [MASK] [PAD] in the text", top_k=2),
    dict(input="how many of them are there in [MASK]", top_k=WORDS),
    dict(input="the [MASK] one", targets=["first", "second", "last"]),
    dict(input="the [MASK] one", targets=["first", "zzzebra", "first", "##s"], top_k=2),
    dict(input="the [MASK] one", targets=["", "last"]),
    dict(input="the [MASK] one", targets=["unheardofthings"]),
    dict(input="the [MASK] one", targets=[""]),
    dict(input="[MASK] " + "and so on " * 10 + "[MASK]", top_k=2),
    dict(input="and so on " * 10 + "[MASK]"),
    dict(input="no mask here"),
]


def make_model(spec):
    config = BertConfig(
        vocab_size=WORDS, hidden_size=spec["H"], num_hidden_layers=spec["L"],
        num_attention_heads=1 if spec["H"] % 2 else 2, intermediate_size=2 * spec["H"] + 1,
        hidden_act=spec.get("act", "gelu"), max_position_embeddings=LIMIT + 8,
        tie_word_embeddings=spec.get("tie", True), architectures=["BertForMaskedLM"],
        attn_implementation="eager")
    model = BertForMaskedLM(config).double().eval()
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, dtype=torch.float64)
        if "LayerNorm.weight" in name:
            weight.data = 1 + 0.3 * noise
        elif name.endswith("bias"):
            weight.data = 0.2 * noise
        elif "embeddings" in name:
            weight.data = noise * (1 if "word" not in name else 0.6)
        else:
            weight.data = noise / weight.shape[1] ** 0.5
    return config, model


def file_name(name, spec):
    if spec.get("old"):
        name = name.removeprefix("bert.")
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        name = name.replace("LayerNorm.bias", "LayerNorm.beta")
    return name


def make_tensors(model, spec):
    kind = spec.get("type", F32)
    tensors = {name: weight.to(kind) for name, weight in model.state_dict().items()
               if name not in (WEIGHT, BIAS, OWN_BIAS)}
    words = tensors["bert.embeddings.word_embeddings.weight"]
    matrix = (torch.randn(words.shape, dtype=torch.float64) * 0.6).to(kind) \
        if spec.get("own") else words
    bias = (torch.randn(WORDS, dtype=torch.float64) * 0.5).to(kind)
    tensors.update({name: {WEIGHT: matrix, BIAS: bias, OWN_BIAS: bias}[name]
                    for name in spec["has"]})
    return tensors, matrix, bias


def load(config, tensors, matrix, bias):
    """The model that computes with exactly these numbers."""
    model = BertForMaskedLM(config).double().eval()
    body = {name: weight.double() for name, weight in tensors.items()
            if name not in (WEIGHT, BIAS, OWN_BIAS)}
    model.load_state_dict(body, strict=False)
    model.cls.predictions.decoder.weight = torch.nn.Parameter(matrix.double())
    model.cls.predictions.decoder.bias = torch.nn.Parameter(bias.double())
    return model


def answer(pipeline, row):
    top_k, targets = row.get("top_k", 5), row.get("targets")
    line = {"input": row["input"], "top_k": top_k, "targets": targets}
    try:
        masks = pipeline(row["input"], top_k=top_k, targets=targets,
                         tokenizer_kwargs={"truncation": True})
    except (ValueError, transformers.pipelines.base.PipelineException) as error:
        return dict(line, error=str(error))
    return dict(line, masks=masks if isinstance(masks[0], list) else [masks])


def make(name, spec, seed):
    torch.manual_seed(seed)
    folder = os.path.join(OUT, name)
    os.makedirs(folder)
    with open(VOCABULARY, encoding="utf-8") as file:
        words = file.read().split("\n")[:WORDS]
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(words) + "\n")
    tokenizer = BertTokenizer(vocab=f"{folder}/vocab.txt", model_max_length=LIMIT,
                              clean_up_tokenization_spaces=spec.get("clean_up", False))
    tokenizer.save_pretrained(folder)
    os.remove(f"{folder}/vocab.txt")
    config, model = make_model(spec)
    config.save_pretrained(folder)
    tensors, matrix, bias = make_tensors(model, spec)
    safetensors.torch.save_file(
        {file_name(key, spec): t.clone().contiguous() for key, t in tensors.items()},
        f"{folder}/model.safetensors", {"format": "pt"})
    model = load(config, tensors, matrix, bias)
    pipeline = FillMaskPipeline(model=model, tokenizer=tokenizer)
    if not spec.get("old"):  # the checkpoint is one that transformers itself reads so
        again = BertForMaskedLM.from_pretrained(folder, dtype=torch.float64,
                                                attn_implementation="eager").eval()
        ids = torch.tensor([[2, 9, 4, 3]])
        assert torch.equal(again(ids).logits, model(ids).logits), name
    with open(f"{folder}/answers.jsonl", "w", encoding="utf-8") as file:
        for row in TEXTS:
            line = answer(pipeline, row)
            if len(line.get("masks", [[]])[0]) > 20:  # the best and the worst say enough
                line["masks"] = [mask[:10] + mask[-10:] for mask in line["masks"]]
            file.write(json.dumps(line) + "\n")
            if "error" not in line and row["input"] == TEXTS[0]["input"]:
                ids = tokenizer(row["input"])["input_ids"]
                file.write(json.dumps(dict(line, input=ids)) + "\n")
    print(name, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)))


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
