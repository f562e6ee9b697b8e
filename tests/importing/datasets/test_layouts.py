"""Each exporter's layout comes in by `bakeoff import`, and its source gives the boxes that the exporter wrote."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest
import yaml

from bakeoff.config.compose.data_source import choose_source
from bakeoff.dataset.records.record import TEST, TRAIN, VALIDATION
from bakeoff.dataset.sources.dataset import Dataset
from support.commands import run_bakeoff
from support.drawing import write
from support.exporters import BOXES, HEIGHT, WIDTH, WITH_SIDES, WITH_TEST, boxes_of, label_studio_yolo, picture, voc_xml
from support.imports import ROOT
from support.messages import missing_in


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "workspace"
    shutil.copytree(ROOT / "conf", place / "conf")
    (place / "dvc.yaml").write_text("", encoding="utf-8")
    monkeypatch.chdir(place)
    return place


def pack(folder: Path, into: Path, below: str = "") -> Path:
    """Zip a folder as file managers do, with entries for the folders themselves."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, below + path.relative_to(folder).as_posix())
    return into


def load(name: str) -> Dataset:
    Path("params.yaml").write_text(f"data: {{use: {name}}}\n", encoding="utf-8")
    source = choose_source(Path("params.yaml"), Path("conf")).source
    assert isinstance(source, Dataset)
    return source


def number_of(name: str) -> int:
    """Return the number of a picture, which is in its name."""
    return int(re.findall(r"\d+", name.split("_png.rf.")[0])[-1])


@pytest.mark.parametrize("name", sorted(BOXES))
def test_what_an_exporter_wrote_comes_in(
    name: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    export, kind, layout = BOXES[name]
    export(tmp_path / "exported")
    packed = pack(tmp_path / "exported", tmp_path / "Our Field.v3i.zip", "field/")
    code, output, errors = run_bakeoff(monkeypatch, capsys, "import", str(packed), "--name", "field")
    assert (code, errors) == (0, "")
    lines = [line for line in output.splitlines() if not line.startswith("warning: ")]
    assert lines[0] == f"import: data/raw/field/ from Our Field.v3i.zip: {layout}"
    written = Path("conf/data/field.yaml").read_text(encoding="utf-8")
    assert written.startswith(f"# From Our Field.v3i.zip ({layout}), by `bakeoff import`.\nkind: {kind}\n")
    sides = (
        [TRAIN, VALIDATION, TEST] if name in WITH_TEST else [TRAIN, VALIDATION] if name in WITH_SIDES else ["no side"]
    )
    numbers = {TRAIN: (0, 1, 2, 3), VALIDATION: (4, 5) if TEST in sides else (4, 5, 6), TEST: (6,), "no side": range(7)}
    assert lines[1].split() == " ".join(sides).split()
    table = {line.split()[0]: [int(cell) for cell in line.split()[1:]] for line in lines[2:5]}
    assert table["images"] == table["ball"] == [len(numbers[side]) for side in sides]
    assert table["cube"] == [sum(number % 2 == 0 for number in numbers[side]) for side in sides]
    assert lines[-4:] == [
        "written: conf/data/field.yaml",
        "next: params.yaml: data: {use: field}",
        "      dvc add data/raw/field",
        "      dvc repro build_records",
    ]
    source = load("field")
    items = [item for item in source.items(source.folder()) if not item.ignored]
    assert [item.problem for item in items] == [None] * 7
    assert source.declared_classes(source.folder()) in (["ball", "cube"], None)
    if not source.split.validation_list:
        assert {number_of(item.name): item.split or "no side" for item in items} == {
            number: side for side in sides for number in numbers[side]
        }
    for item in items:
        width, height = (WIDTH, HEIGHT) if item.in_shares else (1, 1)
        boxes = [(label, a * width, b * height, c * width, d * height) for a, b, c, d, label in item.boxes]
        expected = boxes_of(number_of(item.name))
        assert [box[0] for box in boxes] == [box[0] for box in expected]
        for box, wanted in zip(boxes, expected, strict=True):
            assert box[1:] == pytest.approx(wanted[1:], abs=1e-4)
    settings = yaml.safe_load(written)
    assert settings["path"] == "data/raw/field"
    assert not [path for path in Path("data/raw").rglob("*") if path.name.endswith((".partial", ".old", ".unpacked"))]


def test_unusable_files_and_other_layouts_are_reported(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    label_studio_yolo(tmp_path / "exported")
    for number in range(6):
        write(tmp_path / f"exported/images/page{number}.jpg", "<!DOCTYPE html>")
        write(tmp_path / f"exported/labels/page{number}.txt", "0 0.5 0.5 0.2 0.2\n")
    write(tmp_path / "exported/annotations/3f2a-frame_0.xml", voc_xml("", 0))
    write(tmp_path / "exported/proposals.csv", "image,class,score\n")
    write(tmp_path / "exported/classes.txt", "<script>\ncube\n")
    code, output, _ = run_bakeoff(monkeypatch, capsys, "import", str(tmp_path / "exported"), "--name", "field")
    assert code == 0
    lines = output.splitlines()
    assert lines[1:5] == ["            no side", "  images    7", "  <script>  7", "  cube      4"]
    named = [
        ("no split", "docs/records.md"), ("6 (46.2%)", "build_records"),
        *((f"images/page{number}.jpg: no image", "web page") for number in range(5)),
        ("1 more",), ("proposals.csv", "correct them"), ("1 examples", "--as pascal_voc", "--name"),
    ]  # fmt: skip
    assert [missing_in(line, *parts) for line, parts in zip(lines[5:15], named, strict=True)] == [[]] * 10


def write_repository(root: Path) -> None:
    """What a repository has beside its data."""
    for name in ("README.md", "LICENSE", "scripts/train.py", "requirements.txt"):
        write(root / name, "words\n")


def write_classes(root: Path, classes: dict[str, int]) -> None:
    for at, (label, count) in enumerate(classes.items()):
        for number in range(count):
            picture(root / f"{label}/{number}.png", 10 * at + number)


@pytest.mark.parametrize("depth", ["", "data/", "a/b/data/"])
def test_class_folders_of_a_repository_are_found_below_what_is_beside_them(
    depth: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_repository(tmp_path / "exported/field-main")
    write_classes(tmp_path / f"exported/field-main/{depth}dataset", {"cat": 12, "dog": 3})
    code, output, _ = run_bakeoff(monkeypatch, capsys, "import", str(tmp_path / "exported"), "--name", "field")
    assert code == 0 and "warning" not in output
    assert missing_in(output, f"data/raw/field/{depth}dataset/", "15", "12", "3", "LICENSE, README.md") == []
    assert "dvc add data/raw/field\n" in output and (workspace / "data/raw/field/LICENSE").is_file()
    source = load("field")
    assert {item.labels for item in source.items(source.folder())} == {("cat",), ("dog",)}


def test_the_split_of_a_repository_stays_that_of_its_publisher(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "exported"
    write_repository(root)
    picture(root / "example.png", 90)
    sides = {"train": range(12), "val": range(12, 18), "test": range(18, 20)}
    for side, numbers in sides.items():
        write(root / f"CELLS/ImageSets/Main/{side}.txt", "".join(f"cell_{number}\n" for number in numbers))
        for number in numbers:
            picture(root / f"CELLS/JPEGImages/cell_{number}.png", number)
            write(root / f"CELLS/Annotations/cell_{number}.xml", voc_xml(f"cell_{number}.png", number))
    code, output, _ = run_bakeoff(monkeypatch, capsys, "import", str(root), "--name", "field")
    assert code == 0 and "warning" not in output
    [counts] = re.findall(r"^  images +(\d+) +(\d+) +(\d+)$", output, re.MULTILINE)
    assert counts == ("12", "6", "2")
    assert load("field").split.test_list == "ImageSets/Main/test.txt"


def test_what_may_be_another_dataset_than_it_looks_like_is_a_warning(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_classes(tmp_path / "one/train", {"cat": 6})
    write_classes(tmp_path / "one/val", {"cat": 2})
    code, output, _ = run_bakeoff(monkeypatch, capsys, "import", str(tmp_path / "one"), "--name", "one")
    assert code == 0 and missing_in(output, "warning: ", "one class", "'cat'") == []
    write_classes(tmp_path / "two", {"cat": 6, "dog": 6})
    write(tmp_path / "two/lists/test.txt", "cat/0.png\ncat/1.png\n")
    code, output, _ = run_bakeoff(monkeypatch, capsys, "import", str(tmp_path / "two"), "--name", "two")
    assert code == 0 and missing_in(output, "warning: ", "lists/test.txt", "split", "not used", "data.split") == []


def test_a_mistake_in_the_arguments_is_reported(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run_bakeoff(monkeypatch, capsys, "import", str(tmp_path / "x.zip"), "--max-gb", "0")
    assert code == 2 and missing_in(errors, "--max-gb: ", "0", "got 0\n") == []
    code, _, errors = run_bakeoff(monkeypatch, capsys, "import", str(tmp_path / "x.zip"))
    assert code == 2 and errors.startswith(f"{tmp_path}/x.zip: no such file")
    code, _, errors = run_bakeoff(monkeypatch, capsys, "import", "x.zip", "--as", "vok")
    assert code == 2 and "invalid choice: 'vok'" in errors
    assert not list(Path("data").rglob("*.partial"))
