"""Each task from its source to its metrics, through the stage functions, and back from the files."""

import functools
import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import tensorflow as tf
from PIL import Image

from bakeoff.config.compose.data_source import choose_source
from bakeoff.config.compose.whole_run import load
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.memory_use import BUILT, LOOKED, SHOWN, STEPPED
from bakeoff.experiments.runs.run_status import State
from bakeoff.export.flatbuffer import FlatTable
from bakeoff.export.settings import SAVED_MODEL
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, TryAgainLater
from bakeoff.learning.checkpoints.history import read_history
from bakeoff.learning.checkpoints.trained_state import TrainedState, read_state
from bakeoff.learning.plan.phases import plan_phases
from bakeoff.learning.run_file.read_write import fitting_manifest
from bakeoff.learning.training.setup import Setup
from bakeoff.stages.build_records import build_records
from bakeoff.stages.render_config import render_config
from support.imports import ROOT
from support.stage_calls import evaluate, export, train
from support.workspace_copy import TINY

pytestmark = pytest.mark.usefixtures("converts_here")

TWO_FILES = TINY | {"export": "export: {use: saved_model, formats: [saved_model, float32], latency_calls: 1}"}
VARIANTS = {
    "detection": TWO_FILES,
    "points": TWO_FILES  # detection, too
    | {
        "model": "model: {use: point_nano_128, input_size: 64, width: 0.0625}",
        "export": "export: {use: onnx, layout: yolov8, formats: [saved_model, float32], latency_calls: 1}",
    },
    "sets": TWO_FILES  # detection, too
    | {
        "model": "model: {use: set_detector_atto, input_size: 64, width: 0.25, channels: 32, queries: 20, layers: 2}",
        "optimizer": "optimizer: {use: adam, clip_norm: 0.1}",
        "lr": "lr: constant",
        "train": "train: {use: smoke, ema_decay: 0.9}",
    },
    "classification": TWO_FILES
    | {
        "data": "data: {use: digits_single, train_examples: 12, validation_examples: 6, side: 24}",
        "model": "model: {use: cnn_small, input_size: 24, width: 0.25}",
    },
    "video": TWO_FILES
    | {
        "data": "data: {use: digits_motion, train_examples: 8, validation_examples: 4, frames: 6, side: 32}",
        "model": "model: {use: clip_small, input_size: 32, frames: 4, width: 0.25}",
    },
}
OF_BOXES = ("points", "sets")
MARKS = {"video": pytest.mark.long} | dict.fromkeys(OF_BOXES, pytest.mark.slow)
HEADLINES = dict.fromkeys(("detection", *OF_BOXES), "mAP_50") | {"classification": "accuracy", "video": "accuracy"}
PLOTS = {
    "detection": {"precision_recall.tsv", "precision_recall_by_class", "threshold.tsv", "errors.tsv", "confusion.tsv"},
    "classification": {"confusion.tsv", "calibration.tsv"},
    "video": {"confusion.tsv", "calibration.tsv"},
}
PLOTS |= dict.fromkeys(OF_BOXES, PLOTS["detection"])
REST = (
    "memory: medium",
    "evaluate: {use: standard, pictures: 3}",
    "track: none",
)
PARAMS, RECORDS, RUN = Path("params.yaml"), Path("data/records"), Path("models/config/run.yaml")
Returned = tuple[dict[str, Any], dict[str, Any]]
Enter = Callable[[str], tuple[Path, Returned]]


@pytest.fixture(scope="module")
def train_once(tmp_path_factory: pytest.TempPathFactory) -> Enter:
    """Trains a task for all tests: the folder, to be copied, and what `train` returned."""

    @functools.cache
    def trained(task: str) -> tuple[Path, Returned]:
        folder = tmp_path_factory.mktemp(task)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            shutil.copytree(ROOT / "conf", "conf")
            render(task)
            return folder, train(load(RUN), RECORDS, folder / "trained")

    return trained


@pytest.fixture
def enter_trained(train_once: Enter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Makes a copy of the folder in which a task was trained the current one."""

    def entered(task: str) -> tuple[Path, Returned]:
        folder, returned = train_once(task)
        shutil.copytree(folder, tmp_path / "copy")
        monkeypatch.chdir(tmp_path / "copy")
        return tmp_path / "copy", returned

    return entered


def render(task: str, seed: int = 0) -> None:
    PARAMS.write_text("\n".join([*VARIANTS[task].values(), *REST, f"seed: {seed}"]) + "\n", encoding="utf-8")
    if not RECORDS.exists():
        chosen = choose_source(PARAMS, Path("conf"))
        build_records(chosen.source, RECORDS, source_digest=chosen.digest)
    render_config(PARAMS, Path("conf"), RECORDS, RUN, facts=Path("networks"))


@pytest.mark.parametrize("task", [pytest.param(task, marks=MARKS.get(task, ())) for task in sorted(VARIANTS)])
def test_a_task_runs_end_to_end_and_its_files_say_the_same(
    task: str, enter_trained: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (state, measured) = enter_trained(task)
    run = load(RUN)
    assert list(measured["memory_peaks"]) == [BUILT, STEPPED, LOOKED, SHOWN]
    returned = evaluate(run, RECORDS, folder / "trained", folder / "judged")
    assert run.derived.task == ("detection" if task in OF_BOXES else task)
    assert state == read_state(folder / "trained")
    assert state.as_text() == (folder / "trained/state.json").read_text(encoding="utf-8")
    metrics = json.loads((folder / "judged/metrics.json").read_text(encoding="utf-8"))
    assert metrics == returned
    short = json.loads((folder / "judged/headline.json").read_text(encoding="utf-8"))
    assert next(iter(short)) == HEADLINES[task] and short.items() <= metrics.items() and 5 <= len(short) <= 8
    assert state.best_metric == next(iter(returned)) == HEADLINES[task]
    assert metrics[HEADLINES[task]] == state.best_value  # the best weights, restored into a network built anew
    assert {"low", "high"} == metrics["interval"][HEADLINES[task]].keys()
    examples = pq.read_table(folder / "judged/examples.parquet").to_pylist()
    assert [row["example"] for row in examples] == list(range(run.derived.validation_examples))
    assert [row["file"] for row in examples] == [f"validation/{number:06d}" for number in range(len(examples))]
    weights = [max(row.get("loss_divisor", 1), 1) for row in examples]
    parts = [row["loss"] * weight for row, weight in zip(examples, weights, strict=True)]
    assert metrics["loss"] == pytest.approx(sum(parts) / sum(row.get("loss_divisor", 1) for row in examples))
    passes = [line for line in read_history(folder / "trained") if f"validation/{HEADLINES[task]}" in line]
    [best] = [line for line in passes if line["step"] == state.best_step]
    assert best["validation/loss"] == pytest.approx(metrics["loss"], rel=1e-4)  # in batches of another size
    assert (folder / "judged/pictures.jpg").read_bytes().startswith(b"\xff\xd8")
    page = (folder / "judged/report.html").read_text(encoding="utf-8")
    assert f"{HEADLINES[task]}</b><strong>{metrics[HEADLINES[task]]:.3f}" in page and "validation/000000" in page
    assert "Loss over steps" in page
    assert {path.name for path in (folder / "judged/plots").iterdir()} >= PLOTS[task]
    _, timing = export(run, RECORDS, folder / "trained", folder / "exported")
    assert timing["files"]["float32"]["latency_ms"] > 0 and timing["files"]["float32"]["threads"] == 1
    assert (folder / "exported/labels.txt").read_text() == (RECORDS / "labels.txt").read_text()
    assert_exported_model_answers_as_evaluation_did(folder)
    assert_files_are_worth_what_the_network_is(folder, metrics)
    if task == "classification":
        assert_a_file_that_lost_too_much_leaves_the_old_ones(folder, monkeypatch)


def assert_exported_model_answers_as_evaluation_did(folder: Path) -> None:
    """From the first validation example's raw pixels, decoded by another library, to its row in examples.parquet."""
    import tensorflow as tf

    expected = pq.read_table(folder / "judged/examples.parquet").to_pylist()[0]
    data = next(iter(tf.data.TFRecordDataset(str(RECORDS / "validation-00000-of-00001")))).numpy()
    feature = tf.train.Example.FromString(data).features.feature
    encoded = feature["image/encoded"].bytes_list.value or feature["clip/frames"].bytes_list.value
    frames = np.stack([np.asarray(Image.open(io.BytesIO(frame))) for frame in encoded])
    images = frames if feature["image/encoded"].bytes_list.value else frames[None]
    model = tf.saved_model.load(str(folder / "exported/saved_model")).signatures
    answer = {key: value.numpy() for key, value in model["serving_default"](images=tf.constant(images)).items()}
    files = tf.constant(encoded[0] if len(encoded) == 1 else list(encoded))[None]
    np.testing.assert_allclose(model["encoded"](encoded=files)["scores"], answer["scores"], atol=2e-3)
    labels = (folder / "exported/labels.txt").read_text(encoding="utf-8").split()
    assert [label.decode() for label in model["labels"]()["labels"].numpy()] == labels
    if "boxes" in answer:
        count = int(answer["count"][0])
        assert count == len(expected["prediction"])
        texts = [labels[number - 1] for number in answer["classes"][0, :count]]
        assert [text.decode() for text in answer["labels"][0]] == texts + [""] * (answer["labels"].shape[1] - count)
        scores = [row["score"] for row in expected["prediction"]]
        np.testing.assert_allclose(answer["scores"][0, :count], scores, atol=2e-3)
    else:
        assert labels[int(answer["classes"][0]) - 1] == expected["prediction"] == answer["labels"][0].decode()
        np.testing.assert_allclose(answer["scores"][0], expected["score"], atol=2e-3)


def assert_files_are_worth_what_the_network_is(folder: Path, metrics: dict) -> None:
    report = json.loads((folder / "exported/export.json").read_text(encoding="utf-8"))
    headline, files = report["headline"], report["files"]
    assert report["examples"] == report["of"] == len(pq.read_table(folder / "judged/examples.parquet"))
    assert report["network"][headline] == pytest.approx(metrics[headline], abs=1e-6)
    assert files["saved_model"][headline] == pytest.approx(metrics[headline], abs=1e-3)
    by_its_rule = report.get("network_as_a_file", report["network"])
    assert files["float32"][headline] == pytest.approx(by_its_rule[headline], abs=1e-3)
    assert files["float32"]["drop"] == pytest.approx(metrics[headline] - files["float32"][headline], abs=1e-6)
    assert files["float32"]["bytes"] == (folder / "exported/model.tflite").stat().st_size
    weights = {"model.tflite", "saved_model/saved_model.pb", "saved_model/variables/variables.data-00000-of-00001"}
    assert weights <= report["sha256"].keys()
    for name, digest in report["sha256"].items():
        assert hashlib.sha256((folder / "exported" / name).read_bytes()).hexdigest() == digest
    short = json.loads((folder / "exported/metrics.json").read_text(encoding="utf-8"))
    columns = (headline, "drop", "bytes")
    assert short == {form: {name: file[name] for name in columns} for form, file in files.items()}


def assert_a_file_that_lost_too_much_leaves_the_old_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "exported/export.json").read_bytes()
    monkeypatch.setattr("bakeoff.export.accuracy_report.count_drop", lambda reference, own: 0.2)
    printed = r"^export\.max_drop: .*0\.05 .*6 validation .*saved_model .*accuracy 0\.\d+, 0\.200 "
    run = load(RUN)
    one_file = replace(run, export=replace(run.export, formats=(SAVED_MODEL,)))
    with pytest.raises(DataError, match=printed):
        export(one_file, RECORDS, folder / "trained", folder / "exported")
    assert (folder / "exported/export.json").read_bytes() == before
    assert not (folder / "exported.partial").exists()


@pytest.mark.slow
def test_a_detector_without_anchors_goes_on_in_the_same_weights_to_the_bit(enter_trained: Enter) -> None:
    """From the state after two of four steps, in a network that was built anew."""
    enter_trained("points")
    run, states = load(RUN), []
    [phase] = plan_phases(run)
    for first in (0, 2):
        setup = Setup.of(run, fitting_manifest(RECORDS, run.derived), RECORDS)
        step = setup.learner.begin((), "train.trainable")
        if first:
            setup.learner.restore(states[1])
        for batch in setup.feed().batches(phase, range(first, 4)):
            assert np.isfinite(step([batch], tf.constant(0.01))["train/loss"])
            states.append({name: np.array(value) for name, value in setup.learner.state().items()})
    uncut, cut = states[3], states[-1]
    assert len(states) == 6 and uncut.keys() == cut.keys()
    assert all(uncut[name].tobytes() == cut[name].tobytes() for name in uncut)
    assert any((states[1][name] != cut[name]).any() for name in cut)


BY_LOSS = "validate_every_steps: 1, best_by: loss, early_stopping: {patience: 1, min_change: 100}"
EVENTS = "tensorboard: true, gradient_histograms: true"


def train_detector(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str) -> TrainedState:
    monkeypatch.setitem(VARIANTS["detection"], "train", f"train: {{use: smoke, steps: 4, batch_size: 4, {more}}}")
    render("detection")
    shutil.rmtree(".bakeoff", ignore_errors=True)
    return train(load(RUN), RECORDS, folder)[0]


@pytest.mark.long
def test_a_detector_is_trained_by_its_loss_on_validation(enter_trained: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Best weights, early stopping, history, status, plots, events and samples."""
    folder, _ = enter_trained("detection")
    state = train_detector(folder / "by_loss", monkeypatch, f"{BY_LOSS}, {EVENTS}")
    passes = [line for line in read_history(folder / "by_loss") if "validation/loss" in line]
    losses = {line["step"]: line["validation/loss"] for line in passes}
    best = min(losses, key=lambda step: losses[step])
    assert (state.best_metric, state.best_step, state.ended_by) == ("loss", best, "early_stopping")
    assert state.best_value == pytest.approx(losses[best], rel=1e-5) and len(losses) == 2  # none is better by 100
    for line in passes:
        parts = line["validation/loss_classes"] + line["validation/loss_boxes"]
        assert line["validation/loss"] == pytest.approx(parts, rel=1e-5)
    [run] = known_runs()
    assert run.status and run.status.metrics["validation/loss"] == pytest.approx(losses[2], rel=1e-5)
    tags = {
        (value.tag.partition("/")[0] if value.HasField("histo") else value.tag)
        for file in run.folder.glob("tensorboard/*")
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
    }
    assert tags >= {"validation/loss", "validation/loss_boxes", "train/loss", "weights", "gradients", "samples"}
    assert {file.name for file in (folder / "by_loss/samples").iterdir()} == {"00000001.jpg", "00000002.jpg"}
    heading, *_ = (folder / "by_loss/plots/validation.tsv").read_text(encoding="utf-8").split("\n")
    assert {"loss", "loss_classes", "loss_boxes", "mAP_50"} <= set(heading.split("\t"))


@pytest.mark.slow
def test_events_with_gradients_change_no_bit_of_a_detector(
    enter_trained: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = enter_trained("detection")
    digests = {
        train_detector(folder / name, monkeypatch, f"validate_every_steps: 1{more}").weights_sha256
        for name, more in (("plain", ""), ("watched", f", {EVENTS}"))
    }
    assert len(digests) == 1


def test_the_same_variant_gives_the_same_weights_and_another_seed_does_not(enter_trained: Enter) -> None:
    folder, (state, _) = enter_trained("classification")
    shutil.rmtree(".bakeoff")  # or it would go on where it ended
    again, _ = train(load(RUN), RECORDS, folder / "trained")
    render("classification", seed=1)
    other, _ = train(load(RUN), RECORDS, folder / "trained")
    assert state.weights_sha256 == again.weights_sha256 != other.weights_sha256


def test_weights_are_asked_for_by_the_command_that_makes_them(enter_trained: Enter) -> None:
    folder, _ = enter_trained("classification")
    with pytest.raises(DataError, match=r"state.json: missing.*`dvc repro train`"):
        evaluate(load(RUN), RECORDS, folder / "nothing", folder / "judged")


def test_a_failed_evaluation_leaves_the_old_results(enter_trained: Enter) -> None:
    folder, _ = enter_trained("classification")
    (folder / "judged").mkdir()
    (folder / "judged/metrics.json").write_text("old", encoding="utf-8")
    (folder / "trained/best.weights.h5").write_bytes(b"not weights")
    with pytest.raises(Exception, match=r"best.weights.h5: damaged.*SHA-256.*`dvc repro --force train`"):
        evaluate(load(RUN), RECORDS, folder / "trained", folder / "judged")
    assert (folder / "judged/metrics.json").read_text(encoding="utf-8") == "old"


def test_a_training_leaves_word_of_how_it_ended(enter_trained: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = enter_trained("classification")
    [run] = known_runs()
    assert (run.state, run.can_resume()) == (State.SUCCEEDED, True)
    assert run.status and (run.status.steps_done, run.status.steps) == (2, 2)
    assert {"train/loss", "validation/accuracy"} <= run.status.metrics.keys()

    def too_much(*given: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("bakeoff.learning.networks.weights.save", too_much)
        with pytest.raises(MemoryError):
            train(load(RUN), RECORDS, folder / "trained")
        assert known_runs()[0].state == State.SUCCEEDED  # it took no step
        shutil.rmtree(workspace.runs())
        with pytest.raises(MemoryError):
            train(load(RUN), RECORDS, folder / "trained")
    run = known_runs()[0]
    assert (run.state, run.can_resume()) == (State.FAILED, True)
    assert run.failure and run.failure.kind == "out of memory"

    render("classification", seed=1)
    monkeypatch.setattr("bakeoff.experiments.planning.require_resources.available_memory", lambda: 10**6)
    with pytest.raises(TryAgainLater, match=r"^memory: 1 MB .*estimated at \d+ MB"):
        train(load(RUN), RECORDS, folder / "trained")
    run = known_runs()[0]
    assert (run.state, run.can_resume()) == (State.TRY_AGAIN_LATER, False)


CARD_THERE = "name: net\nlicence: CC-BY-4.0\ndata: COCO 2017\nverified: false\n"
PUBLISHED = "net, trained on COCO 2017, licence CC-BY-4.0, not verified"


def start_from(weights: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> TrainedState:
    line = f"train: {{use: smoke, steps: 1, batch_size: 4, init: {{weights: {weights}}}}}"
    monkeypatch.setitem(VARIANTS["classification"], "train", line)
    render("classification")
    return train(load(RUN), RECORDS, out)[0]


@pytest.mark.long
def test_whose_weights_a_run_starts_from_is_followed_through_runs(
    enter_trained: Enter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A published file, a run from it, a run from that run's folder, and one from its work in flight."""
    folder, (random, _) = enter_trained("classification")
    assert random.lineage.starts == ()
    zoo = Path("data/weights/zoo/net")  # as `bakeoff weights get` leaves it
    zoo.mkdir(parents=True)
    shutil.copy(folder / "trained/best.weights.h5", zoo / "weights.h5")
    (zoo / "about.yaml").write_text(CARD_THERE, encoding="utf-8")
    first = start_from("zoo/net", folder / "data/weights/first", monkeypatch)
    assert f"train:   {PUBLISHED}\n" in capsys.readouterr().out
    [published] = first.lineage.starts or ()
    assert (published["licence"], published["data"], published["verified"]) == ("CC-BY-4.0", "COCO 2017", False)
    second = start_from("data/weights/first", folder / "second", monkeypatch)
    name, own = first.lineage.fingerprint, first.lineage.own
    assert name and own
    own = {"run": name, "data": "12 examples of 10 classes", "records": own["records"]}
    assert second.lineage.starts == (published, own | {"steps": 1})
    shutil.copytree(folder / ".bakeoff/runs" / name, "data/weights/flight")
    third = start_from("data/weights/flight", folder / "third", monkeypatch)
    assert third.lineage.starts == (published, own)
    evaluate(load(RUN), RECORDS, folder / "second", folder / "judged")
    trained_from = f"{PUBLISHED}; then run {name[:8]}: 1 steps on 12 examples of 10 classes"
    assert trained_from in (folder / "judged/report.html").read_text(encoding="utf-8")
    report, _ = export(load(RUN), RECORDS, folder / "second", folder / "exported")
    assert report["lineage"]["starts"] == second.lineage.starts
    [model] = (folder / "exported").glob("*.tflite")
    assert texts_of_metadata(model) == (f"classification, float32; trained from {trained_from}", "CC-BY-4.0")


def texts_of_metadata(model: Path) -> tuple[str, str]:
    """Description and licence, by their numbers in the published schema."""
    from tensorflow.lite.python import schema_py_generated as schema

    read = schema.ModelT.InitFromPackedBuf(model.read_bytes())
    [buffer] = [entry.buffer for entry in read.metadata if entry.name == b"TFLITE_METADATA"]
    table = FlatTable.root(bytes(read.buffers[buffer].data))
    return table.text(1), table.text(5)
