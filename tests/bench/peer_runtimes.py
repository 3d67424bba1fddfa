"""The other runtimes behind one call: token ids of some texts in, logits out. Each opens one
session with a number of threads; what a runtime wants padded it pads itself.

Libraries are imported where they are used: a process loads those of one runtime."""
import pathlib


def pad(sequences):
    """(ids, attention mask), both [B,T] int64, of lists of ids."""
    import numpy
    length = max(map(len, sequences))
    ids = numpy.zeros((len(sequences), length), dtype=numpy.int64)
    mask = numpy.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        ids[row, :len(sequence)] = sequence
        mask[row, :len(sequence)] = 1
    return ids, mask


def graph_inputs(sequences):
    """What the exported graphs take."""
    ids, mask = pad(sequences)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}


class Runtime:
    """What all have: the name for people, the dtypes, and the flag of the CPUs that it is made
    for. Opening takes (folder of files, checkpoint, dtype, threads)."""
    title, dtypes, cpu_flag = "", (), ""

    def logits(self, sequences):
        """Logits [B,K] of B lists of ids."""
        raise NotImplementedError


class OnnxRuntime(Runtime):
    """ONNX Runtime on the graph with fused nodes."""
    title = "ONNX Runtime"
    dtypes = ("f32", "int8")

    def __init__(self, models, _checkpoint, dtype, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(str(models / f"ort-{dtype}.onnx"), options,
                                                    providers=["CPUExecutionProvider"])

    def logits(self, sequences):
        return self.session.run(["logits"], graph_inputs(sequences))[0]


class OpenVino(Runtime):
    """OpenVINO, one stream, its precision pinned."""
    title = "OpenVINO"
    dtypes = ("f32", "bf16", "int8")

    def __init__(self, models, _checkpoint, dtype, threads):
        import openvino
        name = "openvino-int8.xml" if dtype == "int8" else "f32.onnx"
        precision = "bf16" if dtype == "bf16" else "f32"
        compiled = openvino.Core().compile_model(str(models / name), "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1})
        got = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if got != precision:
            raise SystemExit(f"OpenVINO computes in {got}, {precision} was asked for")
        self.request = compiled.create_infer_request()

    def logits(self, sequences):
        return self.request.infer(graph_inputs(sequences), share_inputs=True)["logits"].copy()


class CTranslate2(Runtime):
    """CTranslate2's encoder; the classifier, for which it has no place, is one product in numpy."""
    title = "CTranslate2"
    dtypes = ("f32", "int8")

    def __init__(self, models, _checkpoint, dtype, threads):
        import ctranslate2
        import numpy
        wanted = {"f32": "float32", "int8": "int8_float32"}[dtype]
        self.encoder = ctranslate2.Encoder(str(models / "ctranslate2"), device="cpu",
                                           compute_type=wanted, inter_threads=1,
                                           intra_threads=threads)
        if self.encoder.compute_type != wanted:
            raise SystemExit(f"CTranslate2 computes in {self.encoder.compute_type}")
        head = numpy.load(models / "ctranslate2" / "head.npz")
        self.weight, self.bias = head["weight"].T.copy(), head["bias"]

    def logits(self, sequences):
        import numpy
        pooled = self.encoder.forward_batch(sequences).pooler_output
        return numpy.array(pooled) @ self.weight + self.bias


class PyTorch(Runtime):
    """transformers' own model in eager mode, with PyTorch's fused attention."""
    title = "PyTorch"
    dtypes = ("f32", "bf16")

    def __init__(self, _models, checkpoint, dtype, threads):
        import torch
        import transformers
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self.torch = torch
        self.model = transformers.BertForSequenceClassification.from_pretrained(
            checkpoint, attn_implementation="sdpa",
            dtype={"f32": torch.float32, "bf16": torch.bfloat16}[dtype]).eval()

    def logits(self, sequences):
        ids, mask = pad(sequences)
        with self.torch.inference_mode():
            # Without padding there is nothing to mask, which is faster.
            given = None if mask.all() else self.torch.from_numpy(mask)
            output = self.model(input_ids=self.torch.from_numpy(ids), attention_mask=given)
            return output.logits.float().numpy()


class ZenTorch(PyTorch):
    """The same, compiled by AMD's zentorch, which without that flag only warns."""
    title = "zentorch"
    cpu_flag = "avx512f"

    def __init__(self, models, checkpoint, dtype, threads):
        import zentorch  # noqa: F401  (gives torch the backend)
        super().__init__(models, checkpoint, dtype, threads)
        self.model = self.torch.compile(self.model, backend="zentorch", dynamic=True)


RUNTIMES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "ctranslate2": CTranslate2,
            "torch": PyTorch, "zentorch": ZenTorch}


def open_runtime(name, dtype, threads, models, checkpoint):
    """One session, in this process."""
    return RUNTIMES[name](pathlib.Path(models), pathlib.Path(checkpoint), dtype, int(threads))
