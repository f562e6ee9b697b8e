import json
from pathlib import Path

import yaml

from bakeoff.evaluation.headline_json import FILE, write_headline
from support.imports import ROOT


def written(folder: Path, metrics: dict[str, object], headline: str) -> list[tuple[str, float]]:
    write_headline(folder, metrics, headline)
    return list(json.loads((folder / FILE).read_text(encoding="utf-8")).items())


def test_of_a_detector_eight_numbers_stay_the_headline_first(tmp_path: Path) -> None:
    metrics = json.loads((ROOT / "models/evaluation/metrics.json").read_text(encoding="utf-8"))
    numbers = written(tmp_path, metrics, "mAP_50")
    assert [name for name, _ in numbers] == ["mAP_50", "mAP", "mAP_75", "AR_100", "f1", "precision", "recall", "loss"]
    assert dict(numbers).items() <= metrics.items()


def test_of_a_classifier_numbers_of_a_class_are_left_out(tmp_path: Path) -> None:
    metrics = {"macro_f1": 0.4, "loss": 2, "accuracy": 0.5, "recall": {"cat": 1.0}, "own": 3.0, "bad_records": 1}
    assert written(tmp_path, metrics, "accuracy") == [("accuracy", 0.5), ("macro_f1", 0.4), ("loss", 2)]


def test_of_several_labels_their_headline_comes_before_f1(tmp_path: Path) -> None:
    metrics = {"f1": 0.25, "mean_average_precision": 0.75, "f1_of_classes": {"cat": 0.5}}
    numbers = written(tmp_path, metrics, "mean_average_precision")
    assert numbers == [("mean_average_precision", 0.75), ("f1", 0.25)]


def test_git_keeps_all_numbers_and_dvc_restores_them() -> None:
    """DVC restores no stage that has an output without a cache, unless that is a metric."""
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]["evaluate"]
    assert stage["metrics"] == [{f"models/evaluation/{name}": {"cache": False}} for name in (FILE, "metrics.json")]
    assert all(isinstance(out, str) for out in stage["outs"])
