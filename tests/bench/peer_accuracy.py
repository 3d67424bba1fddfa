"""How far a runtime's logits are from those of bertd in f32, and what that does to the labels."""
import dataclasses
import math

# The largest logit error that still is the same model.
TOLERANCE = {"f32": 1e-3, "bf16": 0.5, "int8": 4.0}
# A runtime counts as a peer when its macro F1 is not further below that of bertd in f32.
F1_LOSS_MAX = 0.003


@dataclasses.dataclass
class Accuracy:
    """Of all logits; `f1` is None for a model without labelled texts."""
    largest: float
    p99: float
    flips: float  # share of texts whose first label is another
    f1: float | None


def macro_f1(logits, labels, names, thresholds):
    """Mean over labels of F1, a label being given where its probability passes its threshold."""
    total = 0.0
    for index, (name, threshold) in enumerate(zip(names, thresholds)):
        given = [1 / (1 + math.exp(-row[index])) >= threshold for row in logits]
        wanted = [name in row for row in labels]
        hits = sum(a and b for a, b in zip(given, wanted))
        total += 2 * hits / max(1, sum(given) + sum(wanted))
    return total / len(names)


def first_label(row):
    """The index of the largest logit."""
    return max(range(len(row)), key=row.__getitem__)


def compare(logits, reference):
    """The accuracy, without F1, of logits [texts][labels]."""
    errors = sorted(abs(a - b) for row, right in zip(logits, reference)
                    for a, b in zip(row, right))
    if len(logits) != len(reference) or not all(map(math.isfinite, errors)):
        return Accuracy(math.inf, math.inf, 1.0, None)
    flips = sum(first_label(row) != first_label(right) for row, right in zip(logits, reference))
    return Accuracy(errors[-1], errors[len(errors) * 99 // 100], flips / len(logits), None)


def counts(accuracy, reference_f1):
    """Whether a runtime of this accuracy may be a cell's best peer."""
    return accuracy.f1 is None or accuracy.f1 >= reference_f1 - F1_LOSS_MAX
