"""YOLOX's own code with random weights, read here without torch: the same answers, assignment, losses and next steps.

    BAKEOFF_TORCH=folder/of/an/environment BAKEOFF_YOLOX=clone pytest -m slow tests/proofs/official/test_yolox.py -rP

The environment has torch 2, NumPy below 2, loguru and opencv-python-headless; the clone is of
github.com/Megvii-BaseDetection/YOLOX. Both stay outside of this project.
"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.heads.yolox_head import YoloxHead
from bakeoff.learning.networks.yolox import Yolox, YoloxLoss
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from proofs.official.there import apart, targets_of

HERE, CLASSES, SIDE, RATE = Path(__file__).parent, 5, 128, 1e-4
NETWORKS = {
    "nano": Yolox(input_size=SIDE),
    "tiny": Yolox(input_size=SIDE, width=0.375, depthwise=False),
    "relu": Yolox(input_size=SIDE, depthwise=False, activation="relu"),
}
NAMES = ("BAKEOFF_TORCH", "BAKEOFF_YOLOX")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(os.environ.get, NAMES)), reason=f"needs {' and '.join(NAMES)}"),
]


@pytest.fixture(scope="module", params=list(NETWORKS))
def there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Yolox, Path, Any]:
    folder, model = tmp_path_factory.mktemp(request.param), NETWORKS[request.param]
    torch, checkout = (os.environ[name] for name in NAMES)
    settings = (str(model.width), str(model.depth), "yes" if model.depthwise else "no", model.activation)
    command = [str(Path(torch) / "bin/python"), str(HERE / "yolox_there.py"), checkout, str(folder), *settings]
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr[-4000:]
    return model, folder, np.load(folder / "numbers.npz")


def read(model: Yolox, path: Path) -> Any:
    network, init = model.build(CLASSES), Init(str(path))
    report = load_first_weights(network, model, init, origin_of(init, Path))
    assert (report["left_random"], report["skipped"], report["unused"]) == ([], [], [])
    return network


def test_its_weights_give_its_answers_its_assignment_and_its_losses(there: tuple[Yolox, Path, Any]) -> None:
    model, folder, numbers = there
    network, head = read(model, folder / "random.pth"), YoloxHead(model)
    outputs = network(numbers["pixels"], training=False)
    boxes, scores = head.boxes(outputs).numpy() * SIDE, head.scores(outputs).numpy()
    centres, sizes = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    answers = numbers["answers"]
    far = {
        "middles": apart(centres[..., ::-1], answers[..., :2]),
        "sizes": apart(sizes[..., ::-1], answers[..., 2:4]),
        "scores": apart(scores, answers[..., 4:5] * answers[..., 5:]),
    }
    targets = targets_of(numbers["labels"], SIDE)
    asked = head.assign(outputs["classes"], head.boxes(outputs), targets)
    elsewhere = 0
    for image, (rows, shares) in enumerate(zip(numbers["rows"], numbers["shares"], strict=True)):
        own, given = asked.classes[image].numpy() > 0, asked.overlaps[image].numpy()
        elsewhere += int((own & (rows < 0)).sum())  # two points cost the same, and here the first one counts
        for box, (corners, label) in enumerate(zip(targets["boxes"][image], targets["classes"][image], strict=True)):
            here = own & (asked.boxes[image].numpy() == corners.numpy()).all(axis=1)
            assert here.sum() == (rows == box).sum() and set(asked.classes[image].numpy()[here]) <= {int(label)}
            overlaps = np.sort(given[here]) - np.sort(shares[rows == box])
            far[f"overlaps of {image}"] = max(far.get(f"overlaps of {image}", 0), *np.abs(overlaps), 0.0)
    assert elsewhere <= 1
    parts, count = head.losses(outputs, targets)
    assert count.numpy() == (numbers["rows"] >= 0).sum()
    far |= {f"loss of {name}": apart(parts[name].numpy(), numbers[name]) for name in ("boxes", "classes")}
    if not elsewhere:
        whole = YoloxHead(replace(model, loss=YoloxLoss(coordinate_weight=1.0))).losses(outputs, targets)[0]
        far["loss of boxes with coordinates"] = apart(whole["boxes"].numpy(), numbers["with coordinates"])
    print(f"{elsewhere} points elsewhere", {name: f"{value:.1e}" for name, value in far.items()})
    assert max(far.values()) < 1e-4


def test_training_goes_on_from_its_weights_as_there(there: tuple[Yolox, Path, Any]) -> None:
    model, folder, numbers = there
    network, head = read(model, folder / "trained.pth"), YoloxHead(model)
    targets, losses = targets_of(numbers["labels"], SIDE), []
    for _ in numbers["later"]:
        with tf.GradientTape() as tape:
            parts, _ = head.losses(network(numbers["pixels"], training=True), targets)
            loss = tf.add_n(list(parts.values()))
        weights = network.trainable_variables
        for weight, gradient in zip(weights, tape.gradient(loss, [one.value for one in weights]), strict=True):
            weight.assign_sub(RATE * gradient)
        losses.append(float(loss))
    print([f"{here:.4f} {other:.4f}" for here, other in zip(losses, numbers["later"], strict=True)])
    assert apart(losses, numbers["later"]) < 1e-2
