"""What is wrong with a candidate or its material, each said in one line before anything is opened or written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.building.build import build
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.dataset import Part
from bakeoff.experiments.compare.load_runs import gather
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.inference.evaluate.evaluation_data import Material, _describe_labels, open_material
from bakeoff.inference.evaluate.leakage import find_overlap
from bakeoff.inference.evaluate.models import EvaluatedModel, find_candidates
from bakeoff.inference.evaluate.split_usage import SplitUse, describe_uses, note_use, read_uses
from bakeoff.inference.predict.select_model import labels_of, trained_in_mlflow
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.tracking.results.run_id import Names
from support.drawing import write_images
from support.messages import missing_in

NO_RUN = Names("aaaa1111", variant="cnn · constant · low")


def build_three() -> None:
    for seed, side in enumerate(("train", "validation", "test")):
        write_images(Path("data/raw/set") / side, {"cat": 3}, first_seed=100 * seed)
    build([Part("", ImageFolders(path="data/raw/set"))], workspace.RECORDS, 1)


def test_where_nothing_was_trained_there_is_nothing_to_judge(here: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"^models/train: nothing .*`dvc repro`"):
        find_candidates([])


@pytest.mark.filterwarnings("ignore")  # of MLflow's libraries
def test_weights_that_are_nowhere(here: Path) -> None:
    message = r"^aaaa1111 \(cnn · constant · low\): .*DVC.*MLflow.*`dvc"
    with pytest.raises(WorkspaceError, match=message):
        trained_in_mlflow(NO_RUN, gather().target)
    with pytest.raises(WorkspaceError, match=r"MLflow.*config/run\.yaml"):
        trained_in_mlflow(replace(NO_RUN, mlflow_id="0" * 32), gather().target)
    with pytest.raises(DataError, match=r"train/state\.json: .*no classes"):
        labels_of(TrainedState())


def test_files_of_one_name_have_folders_of_their_own() -> None:
    first, second = (
        EvaluatedModel("a/best.weights.h5", Path("best.weights.h5")).name_folder(one) for one in ("12" * 9, "34" * 9)
    )
    assert (first, second) == ("best-12121212", "best-34343434")


def test_labels_in_another_order_are_reported_as_such() -> None:
    assert "another order" in _describe_labels(("b", "a"), ("a", "b"))


def test_records_of_another_task_or_without_the_split(here: Path) -> None:
    build_three()
    with pytest.raises(DataError, match="data/records: .*classification.*video"):
        open_material(None, "test", ["cat"], "video")
    assert open_material(None, "test", ["cat"], "classification").title == "test"


def test_a_damaged_shard_is_no_proof_that_a_test_is_apart(here: Path) -> None:
    build_three()
    manifest = read_manifest(workspace.RECORDS)
    material = Material(workspace.RECORDS, manifest, "test")
    assert find_overlap(material, manifest).examples == 0
    shard = workspace.RECORDS / manifest.splits["train"].shards[0].file
    content = bytearray(shard.read_bytes())
    content[200] ^= 255
    shard.write_bytes(content)
    assert find_overlap(material, manifest).examples == 0  # it was read before, and is known by its digest
    for kept in (workspace.judged_records() / "contents").iterdir():
        kept.write_bytes(np.zeros(3).tobytes())  # as a power cut leaves it
    with pytest.raises(DataError, match=r"train-00000-of-00001: damaged record: .*\b12\b"):
        find_overlap(material, manifest)


def test_uses_are_counted_by_what_was_judged(tmp_path: Path) -> None:
    use = SplitUse("aaaa1111", "aaaa1111 (cnn)", "w1", "data/records", "test", "77ab", "accuracy", 0.5, 0)
    note_use(tmp_path, use)
    note_use(tmp_path, use)
    assert describe_uses(read_uses(tmp_path)) == "looked at 2 times, by 1 model"
    note_use(tmp_path, replace(use, weights="w2", name="bbbb2222 (cnn)", value=None))
    with (tmp_path / "looks.jsonl").open("a") as file:
        file.write("<<<<<<< a merge\n")
    parts = ("3 times", "2 models", "aaaa1111 (cnn) 0.500", "bbbb2222 (cnn) none", "no test")
    assert missing_in(describe_uses(read_uses(tmp_path)), *parts) == []
