"""What benchmarks of networks share: a network of conf/model for ten classes, and a batch that is made up for it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bakeoff.config.compose.compose import compose
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.networks.network import Network
from bakeoff.learning.run_file.parse import parse_kind
from bakeoff.learning.tasks.task import Task, Tensors, make_task

ROOT = Path(__file__).resolve().parent.parent
CLASSES = 10


def read_option(option: str, changes: Mapping[str, Any]) -> tuple[Network, Task]:
    """Return a network of conf/model with some keys changed, and its task."""
    composed = compose(
        ROOT / "params.yaml", ROOT / "conf", groups=["model"], instead={"model": {"use": option, **changes}}
    )
    problems = composed.problems
    problems.raise_any()
    model: Network = parse_kind(NETWORKS, composed.tree["model"], "model", problems)
    problems.raise_any()
    return model, make_task(model, [str(number) for number in range(CLASSES)])


def made_up_batch(model: Network, task: Task, size: int) -> Tensors:
    draw = np.random.default_rng(0)
    side = model.input_size
    shape = (size, side, side, 3) if model.frames == 1 else (size, model.frames, side, side, 3)
    targets = [task.encode(truth) for truth in made_up_truths(model.task, size, draw)]
    images = tf.constant(draw.uniform(0, 255, shape), tf.float32)
    return {"image": images} | {key: tf.stack([one[key] for one in targets]) for key in targets[0]}


def made_up_truths(task: str, size: int, draw: np.random.Generator) -> Iterable[dict[str, tf.Tensor]]:
    for _ in range(size):
        if task == "detection":
            corners = np.sort(draw.uniform(0, 1, (4, 2, 2)), axis=1).reshape(4, 4)  # ymin xmin ymax xmax
            labels = draw.integers(1, CLASSES + 1, 4)
            yield {"boxes": tf.constant(corners, tf.float32), "classes": tf.constant(labels, tf.int64)}
        else:
            yield {"label": tf.constant(draw.integers(1, CLASSES + 1), tf.int64)}
