"""One step of every full-size detector, each in a process of its own, so that its peak memory is its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import ROOT

STEP = """
import json, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import keras
import tensorflow as tf
from bakeoff.config.compose.compose import compose
from bakeoff.learning.run_file.parse import parse_kind
from bakeoff.learning.networks import NETWORKS
from bakeoff.learning.tasks.detection import Detection
from bakeoff.foundation.machine import peak_memory_bytes
from bakeoff.learning.training.step import Step

params, num_classes, batch = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
composed = compose(params, Path("conf"))
settings = parse_kind(NETWORKS, composed.tree["model"], "model", composed.problems)
loaded = peak_memory_bytes()
network, task = settings.build(num_classes), Detection(settings, [str(label) for label in range(num_classes)])
boxes = tf.constant([[0.1, 0.1, 0.5, 0.6], [0.3, 0.4, 0.9, 0.8]])
targets = task.encode({"boxes": boxes, "classes": tf.constant([1, 2], tf.int64)})
targets = {name: tf.stack([value] * batch) for name, value in targets.items()}
images = tf.random.stateless_uniform((batch, settings.input_size, settings.input_size, 3), [0, 0], 0, 255)
step = Step(network, keras.optimizers.SGD(momentum=0.9), task)
pair = {"image": images} | targets
step([pair], tf.constant(0.01))
start = time.monotonic()
losses = {name: float(value) for name, value in step([pair], tf.constant(0.01)).items()}
seconds = time.monotonic() - start
trained = peak_memory_bytes()
predict = tf.function(lambda pixels: task.predict(network(pixels, training=False)))
found = predict(images)
print(json.dumps({
    "parameters": network.count_params(), "candidates": network.output["boxes"].shape[1], "losses": losses,
    "seconds": seconds, "loaded": loaded, "peak": trained,
    "peak_predicting": peak_memory_bytes(), "found": found["count"].numpy().tolist(),
}))
"""
BATCH = 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "parameters", "candidates"),
    [
        ("ssd_mobilenet_v2_300", 6_103_999, 1917),
        ("ssd_mobilenet_v2_320", 6_103_999, 2034),
        ("ssd_mobilenet_v2_fpnlite_320", 2_667_002, 12_804),
        ("ssd_mobilenet_v2_fpnlite_640", 2_667_002, 51_150),
        ("ssd_mobilenet_v1_fpn_640", 12_125_178, 51_150),
        ("ssd_resnet50_fpn_640", 32_916_218, 51_150),
        ("point_nano", 1_399_946, 8400),
        ("point_small", 5_553_274, 8400),
        ("set_detector_atto", 517_631, 100),
        ("set_detector_n", 3_805_395, 300),
        ("set_detector_v2_n", 3_623_123, 300),
        ("set_detector_s", 10_362_859, 300),
    ],
)
def test_full_size_detector_makes_a_step(
    option: str, parameters: int, candidates: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On COCO's 90 classes; prints what the step took."""
    params = tmp_path / "params.yaml"
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    lines = [line if not line.startswith("model:") else f"model: {option}" for line in text.splitlines()]
    params.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-c", STEP, str(params), "90", str(BATCH)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    took = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        print(
            f"\n{option}: {took['parameters']:,} parameters; batch {BATCH}: {took['seconds']:.2f} s a step, "
            f"peak {took['peak'] / 1e6:,.0f} MB ({took['loaded'] / 1e6:,.0f} MB before the network), "
            f"{took['peak_predicting'] / 1e6:,.0f} MB after predicting"
        )
    assert (took["parameters"], took["candidates"]) == (parameters, candidates)
    assert all(0 < loss < 100 for loss in took["losses"].values()), took["losses"]
    if option.startswith("ssd"):
        assert took["found"] == [100] * BATCH  # every score is above 1e-8 at the start
