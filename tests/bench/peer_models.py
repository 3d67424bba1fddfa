"""Makes the checkpoints of the larger models, and the files that the other runtimes load, all from
one checkpoint. What is made stays under build/ until its makers, or the pinned versions, change.

f32.onnx        the plain graph, as PyTorch exports it; OpenVINO reads it
ort-f32.onnx    the same with ONNX Runtime's fused nodes, which are counted
ort-int8.onnx   that with dynamic int8 products; the nodes that its session runs are counted
openvino-int8   OpenVINO's, quantised by NNCF with calibration texts
ctranslate2/    CTranslate2's encoder, and head.npz with the classifier that it has no place for"""
import collections
import hashlib
import pathlib
import shutil

CALIBRATION_TEXTS = 128
# (layers, width, attention heads) of the checkpoints with random weights; `weight`: of a token,
# against the demo model's.
SIZES = {"base": {"layers": 12, "width": 768, "heads": 12, "weight": 8},
         "large": {"layers": 24, "width": 1024, "heads": 16, "weight": 28}}
# Nodes that a session must run for each layer, by dtype; `|` stands between names of one kind.
FUSED = {
    "f32": {"Attention|MultiHeadAttention": 1, "SkipLayerNormalization": 2, "BiasGelu|Gelu": 1},
    "int8": {"QAttention|Attention": 1, "SkipLayerNormalization": 2, "BiasGelu|Gelu": 1,
             "DynamicQuantizeMatMul|MatMulIntegerToFloat": 3},
}


def make_checkpoint(folder, size, demo):
    """A BERT of that size with random weights, and the demo model's tokenizer and labels."""
    import torch
    import transformers
    torch.manual_seed(1)
    labels = transformers.AutoConfig.from_pretrained(demo).id2label
    config = transformers.BertConfig(
        hidden_size=size["width"], num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"], intermediate_size=4 * size["width"], id2label=labels,
        label2id={name: index for index, name in labels.items()},
        problem_type="multi_label_classification")
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(demo / name, folder / name)


def export_onnx(checkpoint, path):
    """The classifier as PyTorch's exporter writes it, batch and length being free."""
    import torch
    import transformers
    model = transformers.BertForSequenceClassification.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="eager").eval()
    sequences = torch.ones(2, 16, dtype=torch.int64)
    free = {0: "batch", 1: "length"}
    torch.onnx.export(
        model, (), str(path), dynamo=False, opset_version=17, do_constant_folding=True,
        kwargs={"input_ids": sequences, "attention_mask": sequences, "token_type_ids": sequences},
        input_names=["input_ids", "attention_mask", "token_type_ids"], output_names=["logits"],
        dynamic_axes={"input_ids": free, "attention_mask": free, "token_type_ids": free,
                      "logits": {0: "batch"}})


def optimize_onnx(source, path, config):
    """ONNX Runtime's own optimiser for BERT."""
    from onnxruntime.transformers import optimizer
    model = optimizer.optimize_model(
        str(source), model_type="bert", num_heads=config["num_attention_heads"],
        hidden_size=config["hidden_size"], opt_level=0)
    model.save_model_to_file(str(path))


def quantize_onnx(source, path):
    """Weights per channel, activations dynamically, as ONNX Runtime's guide says."""
    import onnx
    from onnxruntime import quantization
    quantization.quantize_dynamic(str(source), str(path), per_channel=True,
                                  weight_type=quantization.QuantType.QInt8,
                                  extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


def count_nodes(path):
    """How many nodes of each type the graph has that a session really runs."""
    import onnx
    import onnxruntime
    ran = path.with_suffix(".ran.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it warns that such a file is for this machine only
    options.optimized_model_filepath = str(ran)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    nodes = collections.Counter(node.op_type for node in onnx.load(str(ran)).graph.node)
    ran.unlink()
    return nodes


def missing_nodes(nodes, dtype, layers):
    """What is wrong with the counts of nodes, as words; empty when all fused ones are there."""
    wrong = []
    for names, per_layer in FUSED[dtype].items():
        count = sum(nodes[name] for name in names.split("|"))
        if count < per_layer * layers:
            wrong.append(f"{count} nodes {names}, at least {per_layer * layers} were due")
    return "; ".join(wrong)


def check_fused(path, dtype, layers):
    """Ends the program unless a session runs the fused nodes of so many layers."""
    nodes = count_nodes(path)
    wrong = missing_nodes(nodes, dtype, layers)
    if wrong:
        raise SystemExit(f"{path}: {wrong}: {dict(nodes)}")


def quantize_openvino(source, path, checkpoint, texts):
    """NNCF's post-training quantisation for transformers."""
    import nncf
    import openvino
    import peer_runtimes
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    dataset = nncf.Dataset(
        texts, lambda text: peer_runtimes.graph_inputs([tokenizer.encode(text).ids]))
    model = nncf.quantize(openvino.Core().read_model(str(source)), dataset,
                          model_type=nncf.ModelType.TRANSFORMER, subset_size=len(texts))
    openvino.save_model(model, str(path), compress_to_fp16=False)


def convert_ctranslate2(checkpoint, path):
    """The encoder with its pooler; the classifier goes beside it."""
    import ctranslate2
    import numpy
    import torch
    import transformers
    model = transformers.BertForSequenceClassification.from_pretrained(checkpoint,
                                                                       dtype=torch.float32)
    plain = path.with_name("ctranslate2-source")
    model.bert.save_pretrained(plain)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(checkpoint / name, plain / name)
    ctranslate2.converters.TransformersConverter(str(plain)).convert(str(path), force=True)
    shutil.rmtree(plain)
    numpy.savez(path / "head.npz", weight=model.classifier.weight.detach().numpy(),
                bias=model.classifier.bias.detach().numpy())


def fingerprint(checkpoint):
    """Changes with whatever the files depend on."""
    here = pathlib.Path(__file__)
    digest = hashlib.sha256()
    for file in (here, here.with_name("requirements.txt"), *sorted(checkpoint.iterdir())):
        with open(file, "rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def make_once(path, make, *arguments):
    """Has a file or a folder made unless it is there, whole."""
    done = path.with_name(path.name + ".done")
    if not done.exists():
        make(*arguments)
        done.touch()


def make(folder, checkpoint, config, texts, dtypes):
    """Makes the files that the dtypes need. `texts` calibrate OpenVINO's int8."""
    mark, now = folder / "fingerprint", fingerprint(checkpoint)
    if not mark.exists() or mark.read_text() != now:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        mark.write_text(now)
    plain, layers = folder / "f32.onnx", config["num_hidden_layers"]
    make_once(plain, export_onnx, checkpoint, plain)
    make_once(folder / "ort-f32.onnx", optimize_onnx, plain, folder / "ort-f32.onnx", config)
    check_fused(folder / "ort-f32.onnx", "f32", layers)
    make_once(folder / "ctranslate2", convert_ctranslate2, checkpoint, folder / "ctranslate2")
    if "int8" in dtypes:
        quantized = folder / "ort-int8.onnx"
        make_once(quantized, quantize_onnx, folder / "ort-f32.onnx", quantized)
        check_fused(quantized, "int8", layers)
        openvino = folder / "openvino-int8.xml"
        make_once(openvino, quantize_openvino, plain, openvino, checkpoint,
                  texts[:CALIBRATION_TEXTS])
