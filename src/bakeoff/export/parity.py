"""What exported files answer on validation examples, judged as the network itself is judged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.predict.lite_model import Found, LiteModel
from bakeoff.predict.saved_model import SavedModel
from bakeoff.records.wire import decode_features
from bakeoff.tasks.task import Score, Task, Tensors

Answerer = Callable[[Tensors], Tensors]
NETWORK, LIMITED = "network", "network_limited"


def judged(
    task: Task, answerers: Mapping[str, Answerer], batches: Iterable[Tensors], seen: Callable[[int], None]
) -> dict[str, Score]:
    """The score of each, on the very same examples; `seen` is told how many."""
    scores = {name: task.score() for name in answerers}
    for batch in batches:
        for name, answers in answerers.items():
            scores[name] = scores[name] + task.judge(batch, answers(batch))
        seen(len(batch["number"]))
    return scores


def numbers_of(task: Task, score: Score) -> dict[str, float | None]:
    """Those where higher is better."""
    result = score.result()
    return {name: result.get(name) for name in task.measures if name in result}


def limited(found: Tensors, detections: int) -> Tensors:
    """The best detections of each image, as many as a .tflite gives."""
    return found | {"count": tf.minimum(found["count"], detections)}


def of_lite(model: LiteModel) -> Answerer:
    return lambda batch: stacked([model.answer(image) for image in batch["image"].numpy()])


def of_saved_model(model: SavedModel, read: Callable[[np.ndarray], list[bytes | None]]) -> Answerer:
    """From the files in the records, so that decoding and resizing are measured with it."""

    def answers(batch: Tensors) -> Tensors:
        return stacked([model.answer_file(_encoded(data)) for data in read(batch["number"].numpy())])

    return answers


def stacked(found: Sequence[Found]) -> Tensors:
    """One example each -> a batch, detections padded."""
    if "boxes" not in found[0]:
        return {name: tf.constant(np.stack([one[name] for one in found])) for name in found[0]}
    counts = [len(one["scores"]) for one in found]
    most = max(counts)
    padded = {
        name: np.stack(
            [np.pad(one[name], [(0, most - len(one[name])), *[(0, 0)] * (one[name].ndim - 1)]) for one in found]
        )
        for name in ("boxes", "scores", "classes")
    }
    return {name: tf.constant(value) for name, value in (padded | {"count": np.array(counts, np.int32)}).items()}


def _encoded(data: bytes | None) -> Any:
    """The image in an example, or its frames."""
    features = decode_features(data or b"")
    if "image/encoded" in features:
        return features["image/encoded"][0]
    return list(features["clip/frames"])
