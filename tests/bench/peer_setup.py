"""What all programs of the bench against other runtimes start from: a checkpoint, the files made
from it, and where they are. As a program it makes those of the demo model in f32."""
import dataclasses
import json
import pathlib

import peer_models
import peer_session
import peer_work

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "models" / "goemotions-minilm"
LABELLED = ROOT / "tests" / "golden" / "demo" / "sample.jsonl"
FILES = ROOT / "build" / "peers" / "files"
PROGRAM = ROOT / "build" / "bertd"
MODELS = ("demo", *peer_models.SIZES)


@dataclasses.dataclass(frozen=True)
class Setup:
    """`labels` are the model's, `texts` the labelled ones, `weight` a token's work against the
    demo model's."""
    places: peer_session.Places
    tokenizer: object  # of the pinned `tokenizers`
    labels: list
    texts: list
    weight: int


def find_checkpoint(model):
    """The folder of a model, made when it is not there."""
    if model == "demo":
        return DEMO
    folder = FILES / f"checkpoint-{model}"
    peer_models.make_once(folder, peer_models.make_checkpoint, folder, peer_models.SIZES[model],
                          DEMO)
    return folder


def prepare(model, program, dtypes, name):
    """Makes what is missing. `name` is that of the caller's file of texts."""
    import tokenizers  # not here for the tests, which have no packages
    checkpoint, folder = find_checkpoint(model), FILES / model
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    texts = [text for text, _ in peer_work.read_labelled(LABELLED)]
    peer_models.make(folder, checkpoint, config, texts, dtypes)
    return Setup(
        peer_session.Places(program, folder, checkpoint, folder / f"{name}.json",
                            peer_session.all_cpus()),
        tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json")),
        [config["id2label"][str(index)] for index in range(len(config["id2label"]))],
        texts, peer_models.SIZES.get(model, {}).get("weight", 1))


if __name__ == "__main__":
    prepare("demo", PROGRAM, ["f32"], "peers")
