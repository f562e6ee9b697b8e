"""One training step of each network at its full size, and its memory: `pytest -m slow -s tests/learning/networks`."""

import subprocess
import sys

import pytest

from support.imports import ROOT

STEP = """
import numpy as np, keras, tensorflow as tf
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.tasks.classification import Classification
from bakeoff.experiments.runs.memory_use import peak_memory_bytes
from bakeoff.learning.training.step import Step

settings = NETWORKS[{kind!r}](**{fields!r})
network = settings.build(5)
before = [weight.numpy().copy() for weight in network.trainable_weights]
loaded = peak_memory_bytes()
step = Step(network, keras.optimizers.SGD(), Classification(settings, "abcde"))
shape = network.input_shape[1:]
examples = tf.constant(np.random.default_rng(0).uniform(0, 255, ({batch}, *shape)).astype(np.float32))
targets = {{"label": tf.constant([2] * {batch}, tf.int64)}}
loss = float(step([{{"image": examples}} | targets], tf.constant(0.1))["train/loss"])
moved = sum(bool((old != new.numpy()).any()) for old, new in zip(before, network.trainable_weights))
print("result", loss, moved / len(before), loaded, peak_memory_bytes())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "fields", "batch"),
    [
        ("mobilenet_v2", {}, 8),
        ("mobilenet_v3", {"size": "small"}, 8),
        ("mobilenet_v3", {"size": "large"}, 8),
        ("efficientnet_v2_b0", {}, 8),
        ("inception_v3", {}, 8),
        ("s3dg", {}, 1),
        ("s3dg", {"gating": False}, 1),
    ],
)
def test_full_size_network_takes_a_step(kind: str, fields: dict[str, object], batch: int) -> None:
    """In a process of its own, because the peak of memory is that of the whole process."""
    code = STEP.format(kind=kind, fields=fields, batch=batch)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("result")]
    loss, moved, loaded, peak = map(float, line.split()[1:])
    print(f"\n{kind} {fields or ''} batch {batch}: peak {peak / 1e9:.2f} GB, {loaded / 1e9:.2f} GB before the step")
    assert 0 < loss < 50 and moved > 0.95 and peak > loaded
