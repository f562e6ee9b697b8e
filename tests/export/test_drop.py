"""A file is judged against the network as evaluation judges it, on scenes where boxes of several classes overlap."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bakeoff.dataset.records.manifest import Split
from bakeoff.dataset.records.record import Box, Record
from bakeoff.export.accuracy_report import compare_files, require_parity
from bakeoff.export.settings import Export
from bakeoff.export.tflite_metadata import ModelMetadata
from bakeoff.export.write_formats import write_files
from bakeoff.foundation.errors import DataError
from bakeoff.learning.input.record_reader import RecordReader
from bakeoff.learning.input.view import Shape
from bakeoff.stages.export import describe_export, metrics
from support.lite_files import CLASSES, MODELS, examples, opinionated
from support.messages import missing_in

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("converts_here")]

Judged = Callable[[Export], tuple[dict, dict]]


@pytest.fixture
def judged(
    tmp_path: Path,
    png: Callable[[np.ndarray], bytes],
    write_train: Callable[[Sequence[Record], Sequence[str]], Split],
    open_store: Callable[[Path, Split], RecordReader],
) -> Judged:
    """Exports a network, and compares the files with it. True is what it is surest of, ten boxes of a scene at most."""
    network, task = opinionated("detection")
    images, records = examples("detection", 5), []
    predictions = {name: value.numpy() for name, value in task.predict(network(images, training=False)).items()}
    unsure = predictions["scores"][:, 10].max()
    for number, image in enumerate(images):
        rows = np.flatnonzero(predictions["scores"][number] > unsure)
        pairs = zip(
            predictions["boxes"][number][rows].tolist(), predictions["classes"][number][rows].tolist(), strict=True
        )
        boxes = tuple(Box(*corners, CLASSES[label - 1]) for corners, label in pairs)
        records.append(Record(f"scene {number}", (png(image.astype(np.uint8)),), 64, 64, boxes, format="png"))
    store = open_store(tmp_path, write_train(records, CLASSES))

    def judge(settings: Export) -> tuple[dict, dict]:
        folder = tmp_path / "files"
        folder.mkdir()
        pixels = lambda: iter(())  # noqa: E731
        model = MODELS["detection"]
        for _ in write_files(
            network, model, task, CLASSES, settings, about=ModelMetadata("test"), representative=pixels, folder=folder
        ):
            pass
        shape = Shape("detection", 64, 1, 2, 2, 1)
        return compare_files(network, task, settings, store, shape, folder, lambda count: None)

    return judge


def test_what_a_file_hides_of_other_classes_is_lost_against_the_network(judged: Judged) -> None:
    report, timing = judged(Export(formats=("float32",), per_class_suppression=False, latency_calls=1))
    file, rule, network = report["files"]["float32"], report["network_as_a_file"], report["network"]
    assert network["mAP_50"] == pytest.approx(1.0)
    assert 0.1 < file["drop"] == pytest.approx(1.0 - file["mAP_50"])
    assert rule["mAP_50"] == pytest.approx(file["mAP_50"], abs=1e-3)  # the conversion has lost nothing
    assert metrics(report)["float32"]["drop"] == file["drop"]
    hides = "10 detections", "export.max_detections", "export.per_class_suppression", f"mAP_50 {rule['mAP_50']:.3f}"
    of_the_network, of_the_rule, of_the_file = describe_export(report, timing)
    assert missing_in(of_the_network, "best weights", "mAP_50 1.000", "5 of 5") == []
    assert missing_in(of_the_rule, *hides) == []
    assert f"mAP_50 {file['mAP_50']:.3f} (-{file['drop']:.3f})" in of_the_file
    with pytest.raises(DataError, match=r"^export\.max_drop: ") as refused:
        require_parity(report, 0.05)
    loses = "0.05", f"float32 has mAP_50 {file['mAP_50']:.3f}, {file['drop']:.3f}"
    assert missing_in(str(refused.value), *loses, *hides, "export.formats") == []


def test_a_file_that_suppresses_each_class_by_itself_loses_nothing_whatever_the_threads(judged: Judged) -> None:
    report, _ = judged(Export(formats=("float32",), threads=2, latency_calls=1))
    assert report["files"]["float32"]["drop"] == pytest.approx(0, abs=1e-3)
    assert report["files"]["float32"]["mAP"] == pytest.approx(report["network"]["mAP"], abs=0.01)
    require_parity(report, 0.05)
