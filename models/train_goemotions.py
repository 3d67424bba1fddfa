#!/usr/bin/env python3
"""Fine-tunes a six-layer MiniLM on GoEmotions and writes it as a plain Hugging Face checkpoint.

This is the recipe of models/goemotions-minilm. It needs numpy, scikit-learn, safetensors,
tokenizers, torch and transformers, and takes about 37 minutes on two cores.

The vocabulary is cut to the tokens that the training texts use, the first VOCAB_HEAD tokens of the
base and every single character, so that the file stays small; the weights of the kept tokens are
those of the base.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import time

import numpy as np
import torch
from safetensors.torch import save_file
from sklearn.metrics import f1_score
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForSequenceClassification, BertModel

SEED = 7
EPOCHS = 6
BATCH_TEXTS = 32
EVALUATION_BATCH_TEXTS = 64
TOKENS_MAX = 64
VOCAB_HEAD = 9000
BODY_RATE, HEAD_RATE = 2e-4, 2e-3  # pooler and classifier start untrained
WARM_UP = 0.06                     # share of all steps
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_split(path, labels_count):
    """Returns the (text, target vector) pairs of one GoEmotions file: text TAB label ids TAB id."""
    pairs = []
    with open(path, newline="", encoding="utf-8") as file:
        for text, ids, _ in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            target = np.zeros(labels_count, np.float32)
            target[[int(i) for i in ids.split(",")]] = 1
            pairs.append((text, target))
    return pairs


def cut_vocabulary(base, texts, out):
    """Writes out/vocab.txt and out/tokenizer.json; returns the tokenizer and the kept base ids."""
    full = BertWordPieceTokenizer(str(base / "vocab.txt"), lowercase=True)
    vocab = (base / "vocab.txt").read_text(encoding="utf-8").splitlines()
    used = set()
    for encoding in full.encode_batch(texts):
        used.update(encoding.ids)
    keep = [i for i, token in enumerate(vocab)
            if i in used
            or (i < VOCAB_HEAD and not token.startswith("[unused"))
            or len(token.removeprefix("##")) == 1
            or token in SPECIAL_TOKENS]
    (out / "vocab.txt").write_text("".join(vocab[i] + "\n" for i in keep), encoding="utf-8")
    tokenizer = BertWordPieceTokenizer(str(out / "vocab.txt"), lowercase=True)
    tokenizer.save(str(out / "tokenizer.json"))
    print("vocabulary", len(vocab), "->", len(keep), flush=True)
    return tokenizer, keep


def make_model(base, keep, labels):
    """Returns the configuration and a classifier whose body has the weights of the base."""
    config = BertConfig.from_pretrained(base)
    body = BertModel.from_pretrained(base, dtype=torch.float32)
    config.vocab_size = len(keep)
    config.num_labels = len(labels)
    config.problem_type = "multi_label_classification"
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: i for i, label in enumerate(labels)}
    config.hidden_dropout_prob, config.attention_probs_dropout_prob = 0.1, 0.0
    model = BertForSequenceClassification._from_config(config, attn_implementation="eager")
    state = body.state_dict()
    words = "embeddings.word_embeddings.weight"
    state[words] = state[words][keep].clone()
    missing, extra = model.bert.load_state_dict(state, strict=False)
    print("missing", missing, "extra", extra, flush=True)
    return config, model


def make_batches(tokenizer, pairs, size, shuffle):
    """Yields (ids, mask, targets). Shuffled batches hold texts of similar length."""
    items = []
    for encoding, (_, target) in zip(tokenizer.encode_batch([text for text, _ in pairs]), pairs):
        ids = encoding.ids
        if len(ids) > TOKENS_MAX:
            ids = ids[:TOKENS_MAX - 1] + [ids[-1]]
        items.append((ids, target))
    order = list(range(len(items)))
    if shuffle:
        random.shuffle(order)
        window = size * 50
        order = [i for start in range(0, len(order), window)
                 for i in sorted(order[start:start + window], key=lambda k: len(items[k][0]))]
    chunks = [order[start:start + size] for start in range(0, len(order), size)]
    if shuffle:
        random.shuffle(chunks)
    for chunk in chunks:
        longest = max(len(items[i][0]) for i in chunk)
        ids = torch.zeros(len(chunk), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(chunk):
            count = len(items[i][0])
            ids[row, :count], mask[row, :count] = torch.tensor(items[i][0]), 1
        yield ids, mask, torch.tensor(np.stack([items[i][1] for i in chunk]))


def predict(model, tokenizer, pairs):
    """Returns the scores of all pairs, one row for each text."""
    model.eval()
    with torch.inference_mode():
        return np.concatenate([
            torch.sigmoid(model(input_ids=ids, attention_mask=mask).logits).numpy()
            for ids, mask, _ in make_batches(tokenizer, pairs, EVALUATION_BATCH_TEXTS, False)])


def measure(scores, targets, threshold):
    """Returns macro and micro F1 at one threshold for all labels."""
    chosen = scores > threshold
    return {f"{kind}_f1": float(f1_score(targets, chosen, average=kind, zero_division=0))
            for kind in ("macro", "micro")}


def make_optimizer(model, steps):
    """Returns AdamW with a rate for each part and its schedule: linear warm-up, linear decay."""
    groups = {}
    for name, parameter in model.named_parameters():
        rate = HEAD_RATE if "pooler" in name or "classifier" in name else BODY_RATE
        decay = 0.01 if parameter.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": rate, "weight_decay": decay}
         for (rate, decay), parameters in groups.items()], fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(
        step / (WARM_UP * steps), max(0.0, (steps - step) / ((1 - WARM_UP) * steps))))
    return optimizer, schedule


def train_epoch(model, tokenizer, pairs, optimizer, schedule):
    """Runs one epoch and returns its mean loss."""
    model.train()
    total, count = 0.0, 0
    for ids, mask, targets in make_batches(tokenizer, pairs, BATCH_TEXTS, True):
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(input_ids=ids, attention_mask=mask).logits
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        count += 1
        if count % 100 == 0:
            print(f"  {count} {total / count:.4f}", flush=True)
    return total / count


def train(model, tokenizer, split, targets):
    """Trains EPOCHS epochs; returns (threshold, scores, weights, epoch) of the best one."""
    steps = EPOCHS * math.ceil(len(split["train"]) / BATCH_TEXTS)
    optimizer, schedule = make_optimizer(model, steps)
    start, best = time.monotonic(), None
    for epoch in range(EPOCHS):
        loss = train_epoch(model, tokenizer, split["train"], optimizer, schedule)
        scores = predict(model, tokenizer, split["dev"])
        threshold, result = max(
            ((t, measure(scores, targets["dev"], t)) for t in np.arange(0.15, 0.5, 0.025)),
            key=lambda pair: pair[1]["macro_f1"])
        print(f"epoch {epoch} loss {loss:.4f} threshold {threshold:.3f} {result} "
              f"{time.monotonic() - start:.0f}s", flush=True)
        if best is None or result["macro_f1"] > best[1]["macro_f1"]:
            weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
            best = (float(threshold), result, weights, epoch)
    return best


def write_json(path, value):
    """Writes `value` indented, with a line end."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def main():
    """Reads the arguments, trains, and writes the checkpoint with its metrics."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=pathlib.Path, help="directory of all-MiniLM-L6-v2")
    parser.add_argument("data", type=pathlib.Path,
                        help="GoEmotions: train.tsv, dev.tsv, test.tsv and labels.txt")
    parser.add_argument("out", type=pathlib.Path, help="directory of the new checkpoint")
    args = parser.parse_args()

    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
    args.out.mkdir(parents=True, exist_ok=True)
    labels = (args.data / "labels.txt").read_text(encoding="utf-8").split()
    split = {name: read_split(args.data / f"{name}.tsv", len(labels))
             for name in ("train", "dev", "test")}
    targets = {name: np.stack([target for _, target in split[name]]) for name in ("dev", "test")}
    tokenizer, keep = cut_vocabulary(args.base, [text for text, _ in split["train"]], args.out)
    config, model = make_model(args.base, keep, labels)
    threshold, dev_scores, weights, epoch = train(model, tokenizer, split, targets)

    # The published scores are those of the float16 file, not of the weights in training.
    half = {name: value.half().contiguous() for name, value in weights.items()
            if name != "bert.embeddings.position_ids"}
    model.load_state_dict({name: value.float() for name, value in half.items()}, strict=False)
    scores = predict(model, tokenizer, split["test"])
    metrics = {
        "task": "GoEmotions, 28 labels, multi-label",
        "epoch": epoch,
        "threshold": round(threshold, 3),
        "dev": dev_scores,
        "test": measure(scores, targets["test"], threshold),
        "test_at_half": measure(scores, targets["test"], 0.5),
    }
    print(json.dumps(metrics), flush=True)
    save_file(half, args.out / "model.safetensors", metadata={"format": "pt"})
    config.architectures, config.dtype = ["BertForSequenceClassification"], "float16"
    write_json(args.out / "config.json",
               {key: value for key, value in config.to_dict().items() if value is not None})
    write_json(args.out / "tokenizer_config.json",
               {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512})
    write_json(args.out / "metrics.json", metrics)


if __name__ == "__main__":
    main()
