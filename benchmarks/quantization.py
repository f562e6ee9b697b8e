"""What eight bits cost after training, and what they cost a network that learnt in them.

    python benchmarks/quantization.py digits --seeds 0 1 2 3 4 --keep folder
    python benchmarks/quantization.py folder/of/pascal_voc --steps 1500 --seeds 0 1 2 3 4 --keep folder
    python benchmarks/quantization.py digits --seeds 0 --layers --keep folder

For each seed a network is trained in floats. From its weights go on, as many steps each, one run in floats and one in
eight bits. Both are exported, and each file answers the validation pictures by its own runtime. Printed is mAP_50 and
mAP of float32, dynamic and int8 of the first run, the last also with `export.ranges: means`, and of int8 of the second.
Then comes what each loses against float32, with Student's interval over the seeds, and how long a step of both runs
takes. With `--layers` the network of the first run is rounded without learning, all but one layer at a time, and
printed is what that layer alone carries of the loss.
"""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trials import OWN_DATA, describe_difference, make_workspace, run, write_params

ARMS = {  # the run, and its file
    "float32": ("floats", "model.tflite"),
    "dynamic": ("floats", "model_dynamic.tflite"),
    "int8 after training": ("floats", "model_int8.tflite"),
    "int8 by means": ("means", "model_int8.tflite"),
    "int8 learnt": ("eight_bits", "model_int8.tflite"),
}
METRICS = ("mAP_50", "mAP")
DIGITS = "digits"  # the demo's own pictures
START = "data/weights/start.weights.h5"


def params(seed: int, arguments: argparse.Namespace, kind: str | None = None) -> dict[str, Any]:
    """Of the training in floats, or of what goes on from it."""
    is_demo = arguments.data == DIGITS
    own = {"use": "pascal_voc", "path": OWN_DATA, "split": {"by": "fraction", "validation": 0.25}}
    steps = arguments.more if kind else arguments.steps
    return {
        "experiment": "demo" if is_demo else "photographs",
        "seed": seed,
        "data": {"use": "digits"} if is_demo else own,
        "model": {"use": arguments.model, **({"input_size": arguments.side} if arguments.side else {})},
        "lr": {"use": "cosine", "peak": arguments.peak / (10 if kind else 1), "warmup_steps": 0},
        "train": {
            "use": "demo", "steps": None, "epochs": None, "validate_every_steps": 0, "samples": 0,
            "checkpoint_every_steps": steps, "log_every_steps": 10,
            "phases": [{"name": kind or "start", "steps": steps, "quantize": kind == "eight_bits"}],
            **({"init": {"weights": START}} if kind else {}),
        },
        "export": {
            "use": "tflite", "formats": ["float32", "dynamic", "int8"], "weights": "final", "max_detections": 100,
            "sample": 8, "max_drop": 1.0, "latency_calls": 1,
        },
        "track": {"use": "none"},
    }  # fmt: skip


def train_all(folder: Path, seed: int, arguments: argparse.Namespace) -> None:
    """Train and export what is not there yet."""
    data = None if arguments.data == DIGITS else Path(arguments.data)
    start = folder / f"start_{seed}"
    weights = start / "models/train/final.weights.h5"
    if not weights.is_file():
        make_workspace(start, data, params(seed, arguments))
        for stage in ("render_config", "train"):
            run(start, stage)
    for kind in ("floats", "eight_bits"):
        place = folder / f"{kind}_{seed}"
        if (place / "models/export/export.json").is_file():
            continue
        shutil.copytree(start, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("models", ".bakeoff"))
        shutil.copy(weights, place / START)
        write_params(place, params(seed, arguments, kind))
        for stage in ("render_config", "train", "export"):
            run(place, stage)
    place = folder / f"means_{seed}"
    if not (place / "models/export/export.json").is_file():
        shutil.copytree(folder / f"floats_{seed}", place, dirs_exist_ok=True)
        shutil.rmtree(place / "models/export")
        tree = params(seed, arguments, "floats")
        write_params(place, tree | {"export": tree["export"] | {"ranges": "means"}})
        for stage in ("render_config", "export"):
            run(place, stage)


def judge_file(place: Path, name: str) -> dict[str, float]:
    """Return what the exported file scores on the validation pictures."""
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.dataset.records.record import VALIDATION
    from bakeoff.export.accuracy_report import answer_of
    from bakeoff.inference.predict.light_runtime import small_model, view_of
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import RecordReader
    from bakeoff.learning.input.view import Shape
    from bakeoff.learning.tasks.task import judge, make_judge

    records, file = place / "data/records", small_model(place / "models/export" / name)
    view = view_of(file)
    store = RecordReader(records, read_manifest(records).splits[VALIDATION], "error")
    shape = Shape("detection", view.size, 1, 8, 1, 1, fit=view.fit)
    judge_of_boxes = make_judge("detection", file.labels, multi_label=False)
    answers = {"file": answer_of(file, store, view)}
    result = judge(judge_of_boxes, answers, evaluation_batches(store, shape))["file"].result()
    return {metric: result[metric] for metric in METRICS}


def seconds_of_a_step(place: Path) -> float:
    from bakeoff.config.compose.whole_run import load
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.experiments.planning.time_estimate import measure_pace
    from bakeoff.foundation import workspace

    with chdir(place):
        pace = measure_pace(load(workspace.RUN), read_manifest(workspace.RECORDS), workspace.RECORDS)
    return next(iter(pace.seconds_per_step.values()))


def judge_layers(place: Path) -> None:
    """Print what the network scores in eight bits without learning, and with one layer at a time in floats."""
    from bakeoff.config.compose.whole_run import load
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.foundation import workspace
    from bakeoff.learning.networks.quantized.quantizable import Quantizable
    from bakeoff.learning.networks.weights import restore
    from bakeoff.learning.plan.phases import plan_phases
    from bakeoff.learning.tasks.task import compile_answer
    from bakeoff.learning.training.setup import Setup

    with chdir(place):
        run_of_floats, manifest = load(workspace.RUN), read_manifest(workspace.RECORDS)
        setup = Setup.of(run_of_floats, manifest, workspace.RECORDS)
        plain = restore(run_of_floats.model, len(manifest.classes), workspace.TRAINED / "final.weights.h5")
        network, validation = Quantizable(plain), setup.validation()

        def score() -> float:
            validation._answer = compile_answer(network, setup.task)
            numbers = validation()
            assert numbers
            return numbers["mAP_50"]

        in_floats = score()
        network.activate(setup.feed().images(plan_phases(run_of_floats)[0], 128))
        rounded = score()
        print(f"| in floats {in_floats:.3f}, in eight bits without learning {rounded:.3f} | |\n|---|---|", flush=True)
        rows = []
        for name, layers in _layers_by_name(network):
            with _in_floats(layers):
                rows.append((score() - rounded, name))
        for gained, name in sorted(rows, reverse=True):
            print(f"| {name} in floats | {gained:+.4f} |", flush=True)


def _layers_by_name(network: Any) -> list[tuple[str, list[Any]]]:
    """Return each convolution with what rounds the map behind it, and each other rounding alone."""
    from bakeoff.learning.networks.quantized.folded import Folded
    from bakeoff.learning.networks.quantized.ranges import FakeQuantize

    named: dict[str, list[Any]] = {}
    for layer in network._eight().layers:
        if isinstance(layer, Folded | FakeQuantize):
            name = layer.name.replace(".folded", "").replace(".rounded", "").replace(".relu", "").replace(".norm", "")
            named.setdefault(name, []).append(layer)
    return list(named.items())


@contextmanager
def _in_floats(layers: list[Any]) -> Iterator[None]:
    from bakeoff.learning.networks.quantized import folded
    from bakeoff.learning.networks.quantized.ranges import FakeQuantize

    rounding = folded.round_straight
    kept = {id(layer) for layer in layers}
    calls = {layer: layer.weights_as_rounded for layer in layers if isinstance(layer, folded.Folded)}

    def without(layer: Any) -> Any:
        folded.round_straight = lambda values, scale: values
        try:
            return calls[layer]()
        finally:
            folded.round_straight = rounding

    for layer in layers:
        if isinstance(layer, FakeQuantize):
            layer.call = lambda inputs: inputs
        else:
            layer.weights_as_rounded = lambda layer=layer: without(layer)
    try:
        yield
    finally:
        for layer in layers:
            assert id(layer) in kept
            del layer.__dict__["call" if isinstance(layer, FakeQuantize) else "weights_as_rounded"]


def measure(folder: Path, arguments: argparse.Namespace) -> None:
    scores: dict[str, list[dict[str, float]]] = {arm: [] for arm in ARMS}
    print(f"| seed | file | {' | '.join(METRICS)} |\n|---|---|---|---|", flush=True)
    for seed in arguments.seeds:
        train_all(folder, seed, arguments)
        for arm, (kind, name) in ARMS.items():
            scores[arm].append(judge_file(folder / f"{kind}_{seed}", name))
            values = " | ".join(f"{scores[arm][-1][metric]:.4f}" for metric in METRICS)
            print(f"| {seed} | {arm} | {values} |", flush=True)
    for arm in [*ARMS][1:]:
        for metric in METRICS:
            pairs = zip(scores[arm], scores["float32"], strict=True)
            change = describe_difference([one[metric] - other[metric] for one, other in pairs])
            print(f"| all {len(arguments.seeds)} | {arm} against float32: {metric} | {change} | |", flush=True)
    paces = {kind: seconds_of_a_step(folder / f"{kind}_{arguments.seeds[0]}") for kind in ("floats", "eight_bits")}
    print("seconds of a step:", ", ".join(f"{kind} {pace:.4f}" for kind, pace in paces.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help=f"a folder of Pascal VOC, or {DIGITS}")
    parser.add_argument("--model", default="ssd_small")
    parser.add_argument("--side", type=int, help="pixels of the network's input, if not its own")
    parser.add_argument("--steps", type=int, default=1400)
    parser.add_argument("--more", type=int, default=300, help="steps that go on from there")
    parser.add_argument("--peak", type=float, default=0.004, help="the highest rate; a tenth of it when going on")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder that keeps data and models")
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        if not arguments.layers:
            return measure(folder, arguments)
        train_all(folder, arguments.seeds[0], arguments)
        judge_layers(folder / f"floats_{arguments.seeds[0]}")


if __name__ == "__main__":
    main()
