"""`bakeoff propose` with a real detector: its labels are what the model answers, and import reads them."""

from pathlib import Path

import numpy as np
import pytest

from support.commands import run_bakeoff
from support.exporters import HEIGHT, WIDTH, picture
from support.imports import ROOT
from support.messages import missing_in


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SavedModel of a detector with opinions."""
    from bakeoff.export.settings import Export
    from bakeoff.export.tflite_metadata import ModelMetadata
    from bakeoff.export.write_formats import write_files
    from support.lite_files import CLASSES, MODELS, opinionated

    network, task = opinionated("detection")
    folder = tmp_path_factory.mktemp("export")
    files = write_files(
        network, MODELS["detection"], task, CLASSES, Export(formats=("saved_model",)),
        about=ModelMetadata("test"), representative=lambda: iter(()), folder=folder,
    )  # fmt: skip
    assert list(files) == ["saved_model"]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["voc", "yolo", "coco"])
def test_labels_are_what_the_model_answers(
    kind: str, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bakeoff.importing.datasets.detect_format import make_source, survey_folder
    from bakeoff.inference.predict.model_interface import opened
    from bakeoff.inference.predict.read_images import read_image

    folder = tmp_path / "data/raw/set"
    for number in range(2):
        picture(folder / f"images/{number}.png", number)
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "dvc.yaml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    arguments = ["propose", str(exported), str(folder), "--as", kind, "--min-score"]
    code, output, errors = run_bakeoff(monkeypatch, capsys, *arguments, "0.2")
    assert (code, errors) == (0, "")
    model = opened(exported / "saved_model")
    expected = {}
    for number in range(2):
        predictions = model.answer(read_image(folder / f"images/{number}.png"))
        sides = np.array([HEIGHT, WIDTH, HEIGHT, WIDTH])
        chosen = [place for place, score in enumerate(predictions["scores"]) if round(float(score), 5) >= 0.2]
        corners = {place: (predictions["boxes"][place] * sides)[[1, 0, 3, 2]] for place in chosen}
        expected[f"images/{number}.png"] = [
            (model.labels[int(predictions["classes"][place]) - 1], *corners[place])
            for place in chosen
            if (corners[place][2:] - corners[place][:2]).min() >= 0.01
        ]
    assert min(map(len, expected.values())) > 1
    survey, _ = survey_folder(folder)
    items = {item.name: item for item in make_source(survey.layout, str(folder)).items(folder)}
    for name, boxes in expected.items():
        width, height = (WIDTH, HEIGHT) if items[name].in_shares else (1, 1)
        read = [(box[4], *np.multiply(box[:4], (width, height) * 2)) for box in items[name].boxes]
        assert [box[0] for box in read] == [box[0] for box in boxes]
        np.testing.assert_allclose([box[1:] for box in read], [box[1:] for box in boxes], atol=0.02)
    assert output.splitlines()[0].startswith(f"propose: {sum(map(len, expected.values()))} boxes in 2 pictures, by ")
    assert missing_in(run_bakeoff(monkeypatch, capsys, *arguments, "2")[2], "--min-score: ", "0", "1", "2\n") == []
