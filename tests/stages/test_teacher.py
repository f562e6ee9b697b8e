"""A run that learns from another run's answers, and pictures that only the teacher labels."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.config.compose.data_source import choose_source
from bakeoff.config.compose.whole_run import load
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.dataset.records.wire import decode_features, frames_in
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.files import hash_file
from bakeoff.inference.evaluate import find_teacher
from bakeoff.inference.evaluate.find_teacher import FoundTeacher
from bakeoff.inference.predict.model_interface import TrainedModel
from bakeoff.inference.predict.read_images import decode_stored
from bakeoff.inference.predict.select_model import Trained, find_run
from bakeoff.learning.checkpoints.fingerprint import fingerprint
from bakeoff.learning.checkpoints.trained_state import read_state
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.run_file.settings import learning_tree
from bakeoff.learning.tasks.teacher_answers import TeacherAnswers
from bakeoff.stages.build_records import build_records
from bakeoff.stages.render_config import render_config
from bakeoff.stages.train import TEACHER
from support.imports import ROOT
from support.messages import missing_in
from support.stage_calls import train
from support.workspace_copy import TINY

pytestmark = pytest.mark.long

PARAMS, RECORDS, RUN = Path("params.yaml"), workspace.RECORDS, workspace.RUN
TAUGHT = "train: {use: smoke, steps: 2, batch_size: 4, teacher: {run: ../teacher}}"


def render(**changes: str) -> None:
    lines = [*(TINY | changes).values(), "memory: medium", "evaluate: standard", "track: none", "seed: 0"]
    PARAMS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    chosen = choose_source(PARAMS, workspace.CONF)
    build_records(chosen.source, RECORDS, source_digest=chosen.digest)
    render_config(PARAMS, workspace.CONF, RECORDS, RUN, facts=Path("networks"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the workspace of a teacher, and that of a student that it has taught."""
    folder = tmp_path_factory.mktemp("school")
    with pytest.MonkeyPatch.context() as patch:
        for name, changes in (("teacher", {}), ("student", {"train": TAUGHT, "model": TINY["model"]})):
            (folder / name).mkdir()
            patch.chdir(folder / name)
            shutil.copytree(ROOT / "conf", "conf")
            render(**changes)
            train(load(RUN), RECORDS, workspace.TRAINED)
        yield folder


@pytest.fixture
def student(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained / "student")
    return trained / "student"


def test_the_lineage_says_who_taught_and_the_answers_are_those_of_that_network(student: Path, trained: Path) -> None:
    state = json.loads((workspace.TRAINED / "state.json").read_text(encoding="utf-8"))
    teacher = json.loads((trained / "teacher/models/train/state.json").read_text(encoding="utf-8"))
    told = state["lineage"]["own"]["teacher"]
    assert told["weights"] == hash_file(trained / "teacher/models/train/best.weights.h5")
    assert told["run"] == teacher["lineage"]["fingerprint"][:8] and (told["weight"], told["starts"]) == (0.5, [])
    assert missing_in(state["lineage"]["trained_from"], "random weights", "taught by run", told["run"]) == []
    answers = TeacherAnswers.read(workspace.TRAINED / TEACHER)
    store = RecordReader(RECORDS, read_manifest(RECORDS).splits[TRAIN])
    model = TrainedModel(find_run("../teacher")[0])
    assert len(answers.counts) == store.examples == 12 and answers.counts.min() > 0
    for data, (boxes, scores, _) in zip(store.read(np.arange(3)), answers.each(), strict=False):
        given = model.answer(decode_stored(frames_in(decode_features(data or b""))[0]))
        assert scores.max() == pytest.approx(given["scores"].max(), abs=1e-5)  # alone, not in a batch
        np.testing.assert_allclose(boxes[0], given["boxes"][0], atol=1e-5)


def test_kept_answers_teach_the_same_and_without_them_another_is_learnt(student: Path, tmp_path: Path) -> None:
    run, before = load(RUN), read_state(workspace.TRAINED).weights_sha256
    [folder] = [one for one in workspace.answers().iterdir() if one.is_dir()]
    written = folder.stat().st_mtime_ns
    fresh = replace(run, train=replace(run.train, fresh=True))
    again, _ = train(fresh, RECORDS, tmp_path / "again")
    assert again.weights_sha256 == before
    assert folder.stat().st_mtime_ns == written
    alone = replace(run, train=replace(run.train, teacher=replace(run.train.teacher, run="none")))
    other, _ = train(alone, RECORDS, tmp_path / "alone")
    assert other.weights_sha256 != before
    assert not (tmp_path / "alone" / TEACHER).exists()


def test_a_fingerprint_has_the_teachers_weights_and_not_its_name(student: Path) -> None:
    run = load(RUN)
    renamed = replace(run, train=replace(run.train, teacher=replace(run.train.teacher, run="other name")))
    milder = replace(run, train=replace(run.train, teacher=replace(run.train.teacher, weight=0.4)))
    own, other, third = (fingerprint(learning_tree(one), teacher="digest") for one in (run, renamed, milder))
    assert own == other != third
    assert fingerprint(learning_tree(run), teacher="another") != own


def known(labels: tuple[str, ...], **changes: Any) -> Trained:
    own = find_run("../teacher")[0]
    return replace(own, labels=labels, **changes)


def test_a_teacher_that_cannot_know_is_refused(student: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, manifest = load(RUN), read_manifest(RECORDS)
    found = {
        "fewer classes": (known(manifest.classes[1:]), [repr(manifest.classes[0])]),
        "damaged weights": (known(manifest.classes, digest="0" * 64), ["best.weights.h5"]),
        "several labels": (known(manifest.classes, multi_label=True), ["several labels"]),
    }
    for trained, text in found.values():
        monkeypatch.setattr(find_teacher, "find_run", lambda name, trained=trained: (trained, name))
        with pytest.raises(ConfigError) as raised:
            FoundTeacher.of(run, manifest)
        assert missing_in(str(raised.value), "train.teacher.run", *text) == []
    other = replace(run, derived=replace(run.derived, task="classification"))
    with pytest.raises(ConfigError, match=r"train\.teacher\.run: must be for classification"):
        FoundTeacher.of(other, manifest)


def test_a_teacher_that_is_not_there_is_named(student: Path) -> None:
    run, manifest = load(RUN), read_manifest(RECORDS)
    gone = replace(run, train=replace(run.train, teacher=replace(run.train.teacher, run="../nobody")))
    with pytest.raises(ConfigError) as raised:
        FoundTeacher.of(gone, manifest)
    assert missing_in(str(raised.value), "train.teacher.run", "../nobody") == []
