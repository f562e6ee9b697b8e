"""Each task from its source to its metrics, through the stage functions, and back from the files."""

import json
import shutil
from pathlib import Path

import pytest

from bakeoff.config.run import load
from bakeoff.errors import DataError
from bakeoff.stages.build_records import build_records, chosen_source
from bakeoff.stages.evaluate import evaluate
from bakeoff.stages.render_config import render_config
from bakeoff.stages.train import train
from imports import ROOT
from workspace_copy import TINY

VARIANTS = {
    "detection": TINY,
    "classification": TINY
    | {
        "data": "data: {use: digits_single, train_examples: 12, validation_examples: 6, side: 24}",
        "model": "model: {use: cnn_small, input_size: 24, width: 0.25}",
    },
    "video": TINY
    | {
        "data": "data: {use: digits_motion, train_examples: 8, validation_examples: 4, frames: 6, side: 32}",
        "model": "model: {use: clip_small, input_size: 32, frames: 4, width: 0.25}",
    },
}
HEADLINES = {"detection": "mAP_50", "classification": "accuracy", "video": "accuracy"}
REST = ("memory: medium", "optimizer: adam", "evaluate: {use: standard, pictures: 3}", "track: none")
PARAMS, RECORDS, RUN = Path("params.yaml"), Path("data/records"), Path("models/config/run.yaml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "conf", "conf")
    return tmp_path


def render(task: str, seed: int = 0) -> None:
    PARAMS.write_text("\n".join([*VARIANTS[task].values(), *REST, f"seed: {seed}"]) + "\n", encoding="utf-8")
    if not RECORDS.exists():
        build_records(chosen_source(PARAMS, Path("conf")), RECORDS)
    render_config(PARAMS, Path("conf"), RECORDS, RUN)


@pytest.mark.parametrize("task", sorted(VARIANTS))
def test_a_task_runs_end_to_end_and_its_files_say_the_same(task: str, folder: Path) -> None:
    render(task)
    run, derived = load(RUN)
    state = train(run, derived, RECORDS, folder / "trained")
    returned = evaluate(run, derived, RECORDS, folder / "trained", folder / "judged")
    assert derived.task == task
    assert state == json.loads((folder / "trained/state.json").read_text(encoding="utf-8"))
    metrics = json.loads((folder / "judged/metrics.json").read_text(encoding="utf-8"))
    assert metrics == returned
    assert state["best_metric"] == next(iter(returned)) == HEADLINES[task]
    assert metrics[HEADLINES[task]] == state["best_value"]  # the best weights, restored into a network built anew
    examples = (folder / "judged/examples.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["example"] for line in examples] == list(range(derived.validation_examples))
    assert (folder / "judged/pictures.jpg").read_bytes().startswith(b"\xff\xd8")
    assert list((folder / "judged/plots").iterdir()) != []


def test_the_same_variant_gives_the_same_weights_and_another_seed_does_not(folder: Path) -> None:
    digests = []
    for seed in (0, 0, 1):
        render("classification", seed)
        digests.append(train(*load(RUN), RECORDS, folder / "trained")["weights_sha256"])
    assert digests[0] == digests[1] != digests[2]


def test_weights_are_asked_for_by_the_command_that_makes_them(folder: Path) -> None:
    render("classification")
    with pytest.raises(DataError, match=r"state.json: missing, so training never finished; run `dvc repro train`"):
        evaluate(*load(RUN), RECORDS, folder / "nothing", folder / "judged")


def test_a_failed_evaluation_leaves_the_old_results(folder: Path) -> None:
    render("classification")
    train(*load(RUN), RECORDS, folder / "trained")
    (folder / "judged").mkdir()
    (folder / "judged/metrics.json").write_text("old", encoding="utf-8")
    (folder / "trained/best.weights.h5").write_bytes(b"not weights")
    with pytest.raises(
        Exception, match=r"best.weights.h5: does not fit this network .*; run `dvc repro --force train`"
    ):
        evaluate(*load(RUN), RECORDS, folder / "trained", folder / "judged")
    assert (folder / "judged/metrics.json").read_text(encoding="utf-8") == "old"
