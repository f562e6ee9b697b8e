"""`bakeoff evaluate` on a test that nothing has read before, counted again by others."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    log_loss,
    recall_score,
    roc_auc_score,
)

from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.foundation import workspace
from bakeoff.inference.evaluate.models import find_candidates
from bakeoff.inference.evaluate.split_usage import read_uses
from bakeoff.inference.predict.model_interface import opened
from bakeoff.inference.predict.read_images import read_image
from bakeoff.inference.predict.select_model import find_model
from bakeoff.learning.checkpoints.trained_state import read_state
from bakeoff.tracking.results.measurements import run_id_of
from support.drawing import encoded, write
from support.messages import missing_in
from support.three_splits import COUNTS, LABELS, Enter, build, draw_clip, draw_image

SET = Path("data/raw/set")


def shelf() -> Path:
    """Of the workspace's own test."""
    digest = read_manifest(workspace.RECORDS).digest_of("test")
    return workspace.JUDGED / f"test-{digest[:12]}"


def read_metrics(folder: Path) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return tree


def own_folder() -> Path:
    return shelf() / str(run_id_of(read_state(workspace.TRAINED)))[:8]


@pytest.mark.long
def test_the_test_of_a_classifier_is_what_scikit_learn_counts(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    assert {name: split.examples for name, split in read_manifest(workspace.RECORDS).splits.items()} == COUNTS
    assert not workspace.JUDGED.exists()
    code, output, errors = bakeoff("evaluate", "--split", "test")
    assert (code, errors) == (0, "")
    model = opened(find_model(workspace.TRAINED))  # by the way of `bakeoff predict`, from the files of the dataset
    files = sorted((SET / "test").glob("*/*.png"))
    truth = [file.parent.name for file in files]
    answers = [model.answer(read_image(file))["probabilities"] for file in files]
    given = [LABELS[int(np.argmax(answer))] for answer in answers]
    metrics = read_metrics(own_folder())
    assert 0 < metrics["accuracy"] < 1
    assert metrics["accuracy"] == pytest.approx(accuracy_score(truth, given))
    assert metrics["macro_f1"] == pytest.approx(f1_score(truth, given, average="macro"))
    assert metrics["macro_recall"] == pytest.approx(recall_score(truth, given, average="macro"))
    *_, first, second, third = output.splitlines()  # after what training says
    assert f"10 test examples of data/records: accuracy {metrics['accuracy']:.3f}" in first
    assert missing_in(second, "once", "1 model") == []
    assert missing_in(third, f"{own_folder().as_posix()}/", "MLflow", "no such run") == []
    assert (own_folder() / "report.html").is_file()


def read_clip(folder: Path) -> np.ndarray:
    return np.stack([read_image(file) for file in sorted(folder.iterdir())])


@pytest.mark.long
def test_the_test_of_a_video_classifier_is_what_scikit_learn_counts(enter: Enter, bakeoff: Any) -> None:
    enter("video")
    code, output, errors = bakeoff("evaluate", "--split", "test")
    assert (code, errors) == (0, "") and "10 test examples of data/records: accuracy " in output
    model = opened(find_model(workspace.TRAINED))
    clips = sorted((SET / "test").glob("*/*/"))
    truth = [LABELS.index(clip.parent.name) for clip in clips]
    answers = np.array([model.answer(read_clip(clip))["probabilities"] for clip in clips])
    metrics = read_metrics(own_folder())
    assert len(clips) == 10 and 0 < metrics["accuracy"] < 1
    assert metrics["accuracy"] == pytest.approx(accuracy_score(truth, answers.argmax(axis=1)))
    assert metrics["macro_f1"] == pytest.approx(f1_score(truth, answers.argmax(axis=1), average="macro"))
    assert metrics["loss"] == pytest.approx(log_loss(truth, answers), rel=1e-4)


@pytest.mark.long
def test_the_test_of_several_labels_is_what_scikit_learn_counts(enter: Enter, bakeoff: Any) -> None:
    enter("several labels")
    code, output, errors = bakeoff("evaluate", "--split", "test")
    assert (code, errors) == (0, "") and "10 test examples of data/records: " in output
    model = opened(find_model(workspace.TRAINED))
    rows = list(csv.DictReader((SET / "clips.csv").read_text(encoding="utf-8").splitlines()))
    rows = [row for row in rows if row["split"] == "test"]
    truth = np.array([[label in row["labels"].split("|") for label in LABELS] for row in rows])
    scores = np.array([model.answer(read_clip(SET / row["path"]))["scores"] for row in rows])
    metrics = read_metrics(own_folder())
    assert len(rows) == 10 and 0 < truth.mean() < 1
    assert metrics["mean_average_precision"] == pytest.approx(average_precision_score(truth, scores))
    assert metrics["mean_auc"] == pytest.approx(roc_auc_score(truth, scores))
    given = scores >= 0.5
    assert metrics["f1"] == pytest.approx(f1_score(truth, given, average="micro", zero_division=0))
    assert metrics["recall"] == pytest.approx(recall_score(truth, given, average="micro"))


def test_a_dataset_without_labels_judges_nothing(
    enter: Enter, bakeoff: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    enter("several labels")
    for number in range(3):
        draw_clip(Path(f"data/raw/other/{number}"), ("test", 90 + number), ("grey",))
    Path("data/raw/other/clips.csv").write_text("path,labels,split\n0,,test\n1,,test\n2,,test\n")
    option = "kind: clips\npath: data/raw/other\ntable: clips.csv\nmulti_label: true\n"
    Path("conf/data/other.yaml").write_text(option)
    capsys.readouterr()  # of a training, where this test is the first to ask for one
    code, output, errors = bakeoff("evaluate", "--data", "other")
    assert (code, output) == (2, "")
    assert missing_in(errors, "data/raw/other: ", "no labels") == [] and errors.count("\n") == 1
    assert not workspace.JUDGED.exists()


@pytest.mark.long
def test_the_test_of_a_detector_is_what_pycocotools_counts(
    enter: Enter, bakeoff: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    enter("detection")
    assert {name: split.examples for name, split in read_manifest(workspace.RECORDS).splits.items()} == COUNTS
    assert bakeoff("evaluate")[0] == 0
    rows = list(csv.DictReader((SET / "test.csv").read_text(encoding="utf-8").splitlines()))
    model, detections = opened(find_model(workspace.TRAINED)), []
    for number, row in enumerate(rows):
        answer = model.answer(read_image(SET / "images/test" / row["filename"]))
        for (top, left, bottom, right), label, score in zip(
            answer["boxes"] * [48, 64, 48, 64], answer["classes"], answer["scores"], strict=True
        ):
            box = [float(left), float(top), float(right - left), float(bottom - top)]
            detections.append({"image_id": number, "category_id": int(label), "bbox": box, "score": float(score)})
    truth = COCO()
    truth.dataset = {
        "info": {},
        "images": [{"id": number, "width": 64, "height": 48} for number in range(len(rows))],
        "categories": [{"id": number, "name": label} for number, label in enumerate(LABELS, start=1)],
        "annotations": [
            {
                "id": number + 1, "image_id": number, "category_id": LABELS.index(row["class"]) + 1, "iscrowd": 0,
                "bbox": [12.0, 8.0, 40.0, 32.0], "area": 1280.0,
            }
            for number, row in enumerate(rows)
        ],
    }  # fmt: skip
    truth.createIndex()
    judged = COCOeval(truth, truth.loadRes(detections), "bbox")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    capsys.readouterr()
    metrics = read_metrics(own_folder())
    assert metrics["mAP_50"] > 0
    for place, name in enumerate(("mAP", "mAP_50", "mAP_75")):
        assert metrics[name] == pytest.approx(judged.stats[place], abs=1e-6)
    assert metrics["AR_100"] == pytest.approx(judged.stats[8], abs=1e-6)


@pytest.mark.long
def test_exported_files_are_judged_on_the_same_test(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    code, output, errors = bakeoff(
        "evaluate", "models/train", "models/export/saved_model", "models/export/model.tflite",
    )  # fmt: skip
    assert (code, list_unknown(errors)) == (0, [])  # state.json and export.json name the records
    folders = [next(shelf().glob(f"{name}-*/")) for name in ("train", "saved_model", "model.tflite")]
    first, saved, lite = map(read_metrics, folders)
    uses = read_uses(shelf())
    names = [f"models/{name}" for name in ("train", "export/saved_model", "export/model.tflite")]
    assert [use["name"] for use in uses] == names
    assert len({use["weights"] for use in uses}) == 3
    assert {use["value"] for use in uses} == {first["accuracy"], saved["accuracy"], lite["accuracy"]}
    assert abs(saved["accuracy"] - first["accuracy"]) <= 0.1
    assert missing_in(output.replace(" 1.000", " 0."), "3 times", "3 models: models/train 0.", "no test") == []


@pytest.mark.long
def test_what_a_model_was_trained_on_is_known_only_if_all_runs_before_it_had_these_records(
    enter: Enter, bakeoff: Any
) -> None:
    """The run that it started from may have seen the test, if its records were others."""
    enter("classification")
    own = read_manifest(workspace.RECORDS).digest
    for folder, file in ((workspace.TRAINED, "state.json"), (workspace.EXPORTED, "export.json")):
        tree = json.loads((folder / file).read_text())
        for records, is_known in ((own, True), ("0" * 64, False), (None, False), ([], False)):
            tree["lineage"]["starts"] = [{"run": "a" * 16, "data": "12 examples", "records": records}]
            (folder / file).write_text(json.dumps(tree))
            [candidate] = find_candidates([folder.as_posix()])
            assert candidate.records == (own if is_known else None)
    code, _, errors = bakeoff("evaluate")
    assert code == 0 and len(list_unknown(errors)) == 1


def list_unknown(errors: str) -> list[str]:
    return [line.split(": ")[1] for line in errors.splitlines() if "nobody knows" in line]


@pytest.mark.parametrize("command", [("evaluate",), ("predict", "data/raw/set/test"), ("evaluate", "models/train")])
def test_weights_of_which_one_bit_is_another_are_refused(command: tuple[str, ...], enter: Enter, bakeoff: Any) -> None:
    """Keras would read them without a word."""
    enter("classification")
    weights = workspace.TRAINED / "best.weights.h5"
    with h5py.File(weights) as file:
        kernels: list[h5py.Dataset] = []
        file.visititems(lambda _, one: kernels.append(one) if isinstance(one, h5py.Dataset) and one.size else None)
        offset = kernels[0].id.get_offset()
    data = bytearray(weights.read_bytes())
    data[offset + 3] ^= 0x40  # the highest bit of a float's exponent
    weights.write_bytes(data)
    more = ("--model", "models/train", "--out", "answers") if command[0] == "predict" else ()
    code, _, errors = bakeoff(*command, *more)
    assert code != 0 and missing_in(errors, "best.weights.h5: ", "damaged", "SHA-256", "dvc checkout") == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--split", "tset"], ("--split: ", "'tset'", "'test'", "test, train, validation")),
        (["nothing"], ("nothing: no run",)),
        (["--data", "flowers"], ("flowers",)),
        (["--data", "digits"], ("data option digits: ", "detection", "classification")),
        (["--data", "digits_single"], ("the drawn data: ", "lacks", "'0', '1', '2'")),
    ],
)
def test_what_does_not_fit_is_refused(arguments: list[str], parts: tuple[str, ...], enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    code, output, errors = bakeoff("evaluate", *arguments)
    assert (code, output) == (2, "")
    assert missing_in(errors, *parts) == [] and errors.count("\n") == 1
    assert not workspace.JUDGED.exists()


def test_a_set_without_a_test_says_what_it_has(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    shutil.rmtree(SET / "test")
    build()
    code, _, errors = bakeoff("evaluate")
    assert code == 2 and errors.count("\n") == 1
    assert missing_in(errors, "data/records: ", "no test", "12 train", "6 validation", "data.split.test") == []


def test_other_labels_are_named(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    for split in COUNTS:
        (SET / split / "dark").rename(SET / split / "gloomy")
    build()
    for arguments in ([], ["models/train"], ["models/export/saved_model"]):
        code, _, errors = bakeoff("evaluate", *arguments)
        assert code == 2 and errors.count("\n") == 1
        assert missing_in(errors, "data/records: ", "'gloomy'", "model", "'dark'") == []


def test_a_test_that_was_seen_in_training_is_refused_by_name(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    shutil.copy(next((SET / "train/dark").iterdir()), SET / "test/dark/copied.png")
    write(SET / "train/bright/plain.jpg", encoded(5, width=320, height=240))
    write(SET / "test/bright/lighter.jpg", encoded(5, width=320, height=240, quality=50))
    build()
    code, _, errors = bakeoff("evaluate")
    assert code == 2 and errors.count("\n") == 1
    assert missing_in(errors, "data/records: 2 of 12 test", "same bytes: test/dark/copied.png", "train/dark/") == []
    assert missing_in(errors, "alike: test/bright/lighter.jpg", "train/bright/plain.jpg", "--allow-overlap\n") == []
    assert not workspace.JUDGED.exists()
    code, output, errors = bakeoff("evaluate", "--allow-overlap")
    assert code == 0 and missing_in(errors, "warning: 2 ", "seen in training") == []
    assert "12 test examples" in output


def test_other_data_are_built_apart_with_the_labels_of_the_model(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    for number in range(4):
        draw_image(Path(f"data/raw/other/dark/{number}.png"), 100 + number, "dark")
    Path("conf/data/other.yaml").write_text("kind: image_folders\npath: data/raw/other\nsplit: {by: test}\n")
    before = {file.name: file.read_bytes() for file in workspace.RECORDS.iterdir()}
    code, output, errors = bakeoff("evaluate", "--data", "other", "--split", "test")
    assert code == 0 and missing_in(output, "4 test ", "data option other: accuracy ") == []
    assert {file.name: file.read_bytes() for file in workspace.RECORDS.iterdir()} == before
    [folder] = workspace.JUDGED.glob("other_test-*")
    [row] = read_uses(folder)
    assert (row["data"], row["split"]) == ("data option other", "test")
    [records] = [path for path in workspace.judged_records().iterdir() if (path / "manifest.json").is_file()]
    assert read_manifest(records).classes == LABELS  # though it has only one of them
    stamp = (records / "manifest.json").stat().st_mtime_ns
    assert bakeoff("evaluate", "--data", "other")[0] == 0
    assert (records / "manifest.json").stat().st_mtime_ns == stamp
    assert len(read_uses(folder)) == 2
    draw_image(Path("data/raw/other/gloomy/1.png"), 200, "dark")
    code, _, errors = bakeoff("evaluate", "--data", "other")
    assert code == 2 and missing_in(errors, "data/raw/other: ", "lacks: 'gloomy'", "'bright', 'dark'") == []


def test_training_is_judged_without_counting_it_as_a_use(enter: Enter, bakeoff: Any) -> None:
    enter("classification")
    code, output, _ = bakeoff("evaluate", "--split", "train")
    assert code == 0 and "12 train examples of data/records" in output and "looked at" not in output
    _, output, _ = bakeoff("evaluate", "--split", "validation")
    expected = json.loads((workspace.EVALUATION / "metrics.json").read_text(encoding="utf-8"))
    [folder] = workspace.JUDGED.glob("validation-*/*/")
    assert read_metrics(folder)["accuracy"] == expected["accuracy"]  # as the stage found
