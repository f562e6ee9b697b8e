"""What exported files answer on validation examples, judged as the network itself is judged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bakeoff.networks import boxes
from bakeoff.predict.lite_model import Found, LiteModel
from bakeoff.predict.saved_model import SavedModel
from bakeoff.records.wire import decode_features
from bakeoff.run.options import Export
from bakeoff.tasks.detection import Detection
from bakeoff.tasks.task import Score, Task, Tensors

Answerer = Callable[[Tensors], Tensors]
NETWORK, AS_A_FILE = "network", "network_as_a_file"


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


def as_a_file(network: keras.Model, task: Detection, settings: Export) -> Answerer:
    """The network's detections by the rule of a .tflite, so that what remains of a difference is the conversion's."""
    most, rule = settings.max_detections, task.model.suppression

    def one_class_each(example: tuple[tf.Tensor, tf.Tensor]) -> Tensors:
        corners, scores = example
        best = tf.reduce_max(scores, axis=-1)
        kept = tf.image.non_max_suppression(corners, best, most, rule.max_overlap, rule.min_score)
        padding = [[0, most - tf.shape(kept)[0]]]
        return {
            "boxes": tf.clip_by_value(tf.pad(tf.gather(corners, kept), [*padding, [0, 0]]), 0.0, 1.0),
            "scores": tf.pad(tf.gather(best, kept), padding),
            "classes": tf.pad(tf.gather(tf.argmax(scores, axis=-1) + 1, kept), padding),
            "count": tf.shape(kept)[0],
        }

    @tf.function
    def answers(images: tf.Tensor) -> Tensors:
        outputs = network(images, training=False)
        if settings.per_class_suppression:
            found = task.predict(outputs)
            return found | {"count": tf.minimum(found["count"], most)}
        decoded = boxes.decode(outputs["boxes"], task.anchors, task.model.box_scales)
        kinds = {"boxes": tf.float32, "scores": tf.float32, "classes": tf.int64, "count": tf.int32}
        return tf.map_fn(one_class_each, (decoded, task.class_scores(outputs["classes"])), fn_output_signature=kinds)

    return lambda batch: answers(batch["image"])


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
