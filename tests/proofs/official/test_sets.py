"""D-FINE's and DEIMv2's own code with random weights, read here without torch: the same answers, pairs, losses, steps.

    BAKEOFF_TORCH=folder/of/an/environment BAKEOFF_D_FINE=clone BAKEOFF_DEIM=clone \
        pytest -m slow tests/proofs/official/test_sets.py -rP

The environment has torch 2, SciPy, safetensors and transformers 5.24; the clones are of
github.com/Peterande/D-FINE and github.com/Intellindust-AI-Lab/DEIMv2. All stay outside of this project.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bakeoff.learning.networks.heads.set_head import SetHead
from bakeoff.learning.networks.heads.set_matching import Answers, Truth, match
from bakeoff.learning.networks.set_detector import SetDetector, SetLoss, SetMatching
from bakeoff.learning.networks.sets.denoising import Noise
from bakeoff.learning.networks.sets.set_graph import as_middles
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.load_report import load_first_weights
from bakeoff.learning.pretrained.weight_source import origin_of
from proofs.official.there import apart, targets_of

HERE, CLASSES, SIDE, RATE, QUERIES = Path(__file__).parent, 5, 128, 1e-5, 50
D_FINE, DEIM = "BAKEOFF_D_FINE", "BAKEOFF_DEIM"
MATCHED = SetLoss(classes="matched", background_weight=1.0, gamma=1.5)
N = SetDetector(input_size=SIDE, queries=QUERIES)
S = SetDetector(
    input_size=SIDE, queries=QUERIES, levels=3, channels=256, encoder_feedforward=1024, expansion=0.5, depth=0.34,
    feedforward=1024, points=(3, 6, 3),
)  # fmt: skip
SMALLEST: dict[str, Any] = {
    "levels": 2, "encoder": "lite", "version": "deim_v2", "points": (4, 2), "input_size": SIDE, "queries": QUERIES,
    "loss": SetLoss("matched", 1.0, 1.5, pairs="layer", distribution_weight=0.0, distillation_weight=0.0),
}  # fmt: skip
NETWORKS = {
    "n": (D_FINE, N), "s": (D_FINE, S),
    "atto": (DEIM, SetDetector(**SMALLEST, backbone="atto", channels=64, feedforward=160)),
    "femto": (DEIM, SetDetector(**SMALLEST, backbone="femto", channels=96, feedforward=256)),
    "pico": (DEIM, SetDetector(**SMALLEST, backbone="pico", channels=112, feedforward=320)),
    "v2 n": (DEIM, SetDetector(input_size=SIDE, queries=QUERIES, version="deim_v2", loss=MATCHED)),
}  # fmt: skip
WIDTHS = {"b0": [256, 512, 1024], "atto": [256]}  # of the maps of the backbone
pytestmark = pytest.mark.slow


def settings_there(model: SetDetector) -> dict[str, Any]:
    """Return what the published code calls the settings."""
    is_lite, widths = model.encoder == "lite", WIDTHS.get(model.backbone, [512])
    is_v2, strides = model.version == "deim_v2", list(model.strides)
    encoder = {
        "in_channels": widths[-1:] if is_lite else widths[-model.levels :],
        "feat_strides": strides[:1] if is_lite else strides,
        "hidden_dim": model.channels, "expansion": model.expansion, "depth_mult": model.depth,
    }  # fmt: skip
    if not is_lite:
        encoder |= {"use_encoder_idx": [model.levels - 1], "dim_feedforward": model.encoder_feedforward}
        encoder |= {"version": "dfine", "csp_type": "csp2", "fuse_op": "sum"} if is_v2 else {}
    decoder = {
        "feat_channels": [model.channels] * model.levels, "feat_strides": strides, "hidden_dim": model.channels,
        "dim_feedforward": model.feedforward, "num_levels": model.levels, "num_layers": model.layers,
        "num_points": list(model.points), "num_queries": model.queries,
    }  # fmt: skip
    if is_v2:
        decoder |= {"activation": "silu", "mlp_act": "silu", "use_gateway": not is_lite, "share_bbox_head": is_lite}
    losses = ["mal" if is_v2 else "vfl", "boxes", *(["local"] if model.loss.distribution_weight else [])]
    criterion = {"losses": losses, "gamma": model.loss.gamma}
    if is_v2:
        criterion["use_uni_set"] = model.loss.pairs == "union"
    maps = [2] if is_lite else list(range(4 - model.levels, 4))
    return {
        "side": SIDE, "backbone": {"name": model.backbone.capitalize(), "return_idx": maps}, "encoder": encoder,
        "encoder_kind": model.encoder, "decoder": decoder, "criterion": criterion,
    }  # fmt: skip


@pytest.fixture(scope="module", params=list(NETWORKS))
def there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SetDetector, Path, Any]:
    clone, model = NETWORKS[request.param]
    places = [os.environ.get(name) for name in ("BAKEOFF_TORCH", clone)]
    if not all(places):
        pytest.skip(f"needs BAKEOFF_TORCH and {clone}")
    torch, checkout = map(str, places)
    folder = tmp_path_factory.mktemp("there")
    return model, folder, run_there(torch, folder, "set_there.py", checkout, folder, json.dumps(settings_there(model)))


def run_there(torch: str, folder: Path, script: str, *arguments: object) -> Any:
    command = [str(Path(torch) / "bin/python"), str(HERE / script), *map(str, arguments)]
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr[-4000:]
    return np.load(folder / "numbers.npz")


def read(model: SetDetector, path: Path) -> Any:
    network, init = model.build(CLASSES), Init(str(path))
    report = load_first_weights(network, model, init, origin_of(init, Path))
    copies = [f"decoder.dec_bbox_head.{number}" for number in (1, 2)] if model.encoder == "lite" else ["none"]
    unused = [name for name in report["unused"] if not name.startswith(tuple(copies))]
    assert (report["left_random"], report["skipped"], unused) == ([], [], [])
    return network


def noise_of(numbers: Any, name: str, step: int) -> Noise:
    return Noise(*(tf.constant(numbers[f"{name}_{key}"][step], tf.float32) for key in Noise._fields))


def in_their_order(ours: tf.Tensor, theirs: np.ndarray) -> tuple[np.ndarray, int]:
    """Return our queries in their order, and how many moved: those whose first scores are equal but for rounding."""
    rows = []
    for here, there in zip(ours.numpy(), theirs, strict=True):
        order = np.abs(here[:, None] - there).max(axis=2).argmin(axis=0)
        assert sorted(order) == list(range(QUERIES))
        rows.append(order)
    moved = int((np.array(rows) != np.arange(QUERIES)).sum())
    return np.take_along_axis(ours.numpy(), np.array(rows)[..., None], axis=1), moved


def distances(network: Any, numbers: Any) -> dict[str, float]:
    """Return how far answers are from theirs, and how many queries were swapped."""
    answers = network(numbers["pixels"], training=False)
    theirs = np.concatenate([numbers["boxes"], numbers["logits"]], axis=2)
    ours, swapped = in_their_order(tf.concat([answers["boxes"], answers["classes"]], axis=2), theirs)
    boxes, logits = apart(ours[..., :4], theirs[..., :4]), apart(ours[..., 4:], theirs[..., 4:])
    return {"boxes": boxes, "logits": logits, "swapped": swapped}


def test_its_weights_give_its_answers_its_pairs_and_its_losses(there: tuple[SetDetector, Path, Any]) -> None:
    model, folder, numbers = there
    network, head = read(model, folder / "random.pth"), SetHead(model)
    far = distances(network, numbers)
    swapped, targets = far.pop("swapped"), targets_of(numbers["labels"])
    outputs = network(numbers["pixels"], training=True, targets=targets, noise=noise_of(numbers, "first", 0))
    beside = outputs["references"].shape[1] - model.queries
    layers = [
        Answers(outputs["layers.boxes"][number][:, beside:], outputs["layers.classes"][number][:, beside:])
        for number in (model.layers - 1, *range(model.layers - 1))
    ]
    layers.append(Answers(outputs["first.boxes"][:, beside:], outputs["first.classes"][:, beside:]))
    layers.append(Answers(outputs["encoder.boxes"], outputs["encoder.classes"]))
    truth = Truth(as_middles(targets["boxes"]), targets["classes"])
    rows, union = match(layers, truth, model.matching)
    elsewhere = int((rows.numpy() != numbers["pairs"]).sum()), int((union.numpy() != numbers["union"]).sum())
    late = match(layers[:1], truth, SetMatching(overlap_power=4.0))[0][0].numpy()
    assert model.version == "d_fine" or (late == numbers["late"]).all()
    parts, _ = head.losses(outputs, targets)
    far |= {f"loss of {name}": apart(parts[name].numpy(), numbers[f"of_{name}"]) for name in ("classes", "boxes")}
    print(
        f"{swapped} queries swapped, {elsewhere} pairs elsewhere", {name: f"{value:.1e}" for name, value in far.items()}
    )
    assert elsewhere == (0, 0)
    assert max(far.values()) < 1e-4


def test_training_goes_on_from_its_weights_as_there(there: tuple[SetDetector, Path, Any]) -> None:
    model, folder, numbers = there
    network, head = read(model, folder / "trained.safetensors"), SetHead(model)
    for ours, theirs in zip(network.weights, read(model, folder / "trained.pth").weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    targets, losses = targets_of(numbers["labels"]), []
    for step, _ in enumerate(numbers["later"]):
        with tf.GradientTape() as tape:
            outputs = network(numbers["pixels"], training=True, targets=targets, noise=noise_of(numbers, "later", step))
            loss = tf.add_n(list(head.losses(outputs, targets)[0].values()))
        weights = network.trainable_variables
        for weight, gradient in zip(weights, tape.gradient(loss, [one.value for one in weights]), strict=True):
            weight.assign_sub(RATE * tf.convert_to_tensor(gradient))
        losses.append(float(loss))
    print([f"{here:.4f} {other:.4f}" for here, other in zip(losses, numbers["later"], strict=True)])
    assert apart(losses, numbers["later"]) < 1e-2


def test_every_step_from_its_weights_costs_as_there(there: tuple[SetDetector, Path, Any]) -> None:
    """At a rate at which rounding grows tenfold a step: the published code leaves itself when last digits change."""
    model, folder, numbers = there
    if "fast" not in numbers:
        pytest.skip("keeps no weights of each step")
    network, head, targets, losses = model.build(CLASSES), SetHead(model), targets_of(numbers["labels"]), []
    for step, _ in enumerate(numbers["fast"]):
        init = Init(str(folder / f"fast_{step}.safetensors"))
        load_first_weights(network, model, init, origin_of(init, Path))
        outputs = network(numbers["pixels"], training=True, targets=targets, noise=noise_of(numbers, "fast", step))
        losses.append(float(tf.add_n(list(head.losses(outputs, targets)[0].values()))))
    far, itself = np.abs(losses - numbers["fast"]), np.abs(numbers["shaken"] - numbers["fast"])
    print(f"at most {far.max():.1e} from it; from other last digits it is {itself.max():.1e} from itself")
    assert far.max() < 1e-3


@pytest.mark.skipif(not os.environ.get("BAKEOFF_TORCH"), reason="needs BAKEOFF_TORCH")
def test_weights_of_transformers_give_its_answers(tmp_path: Path) -> None:
    """Its loss is another one than the published: boxes learn from each layer's own pairs, and are cut to the image."""
    torch = os.environ["BAKEOFF_TORCH"]
    numbers = run_there(torch, tmp_path, "transformers_there.py", tmp_path, SIDE, QUERIES, CLASSES)
    far = distances(read(N, tmp_path / "model.safetensors"), numbers)
    swapped = far.pop("swapped")
    print(f"{swapped} queries swapped", {name: f"{value:.1e}" for name, value in far.items()})
    assert max(far.values()) < 1e-4
