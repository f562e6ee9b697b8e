"""photonvision.zip, imported by a reader that was written from PhotonVision's source, and the statement of licences."""

import json
import zipfile
from pathlib import Path

import pytest

from bakeoff.export.devices import DeviceName
from bakeoff.export.licences import state_licences
from bakeoff.export.photonvision import ARCHIVE, BACKENDS, PROPERTIES, write_archive
from bakeoff.foundation.errors import DataError
from bakeoff.inference.device.device_check import check_file
from support.messages import missing_in
from support.photonvision_page import Page

LABELS = ["ball", "cube, red", "Kegel groß"]


def make(folder: Path, device: DeviceName = "photonvision_rk3588", labels: list[str] | None = None) -> Path:
    model = folder / "model.bin"
    model.write_bytes(b"RKNN weights")
    write_archive(device, model, "point_nano · long_1356d7d3", labels or LABELS, ["code: x"], folder / ARCHIVE)
    return folder / ARCHIVE


@pytest.mark.parametrize("release", [2026, 2027])
@pytest.mark.parametrize("device", BACKENDS)
def test_a_coprocessor_has_the_model_after_one_upload(device: DeviceName, release: int, tmp_path: Path) -> None:
    page = Page(BACKENDS[device].family, release)
    page.upload(make(tmp_path, device))
    [model] = page.find_models()
    assert (model.nickname, model.labels) == ("point_nano_long_1356d7d3", LABELS)
    assert (model.sides, model.version) == ((640, 640), "YOLOV8")
    assert page.files[model.path] == b"RKNN weights"


def test_an_orange_pi_with_another_folder_reads_the_name_and_the_labels_beside_it(tmp_path: Path) -> None:
    page = Page("RKNN", folder=Path("/home/pi/photonvision_config/models"))
    page.upload(make(tmp_path))
    [model] = page.find_models()
    assert (model.sides, model.version, model.labels) == ((640, 640), "YOLOV8", LABELS)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = make(tmp_path).read_bytes()
    assert make(tmp_path).read_bytes() == first


@pytest.mark.parametrize("name", ["· ·", "", "../..", "x" * 500])
def test_any_name_of_a_run_becomes_one_that_a_file_can_have(name: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"RKNN")
    write_archive("photonvision_rk3588", tmp_path / "m", name, LABELS, [], tmp_path / ARCHIVE)
    page = Page("RKNN", folder=Path("/elsewhere"))
    page.upload(tmp_path / ARCHIVE)
    assert len(page.find_models()) == 1


def test_measure_looks_into_an_archive(tmp_path: Path) -> None:
    holds, rest = check_file(make(tmp_path), "photonvision_rk3588")
    assert missing_in(holds, "point_nano_long_1356d7d3-640-640-yolov8.rknn", "3 labels") == []
    assert rest.startswith("no program")


def test_an_archive_with_labels_of_another_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("ball\ncube, red\ncone\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.txt: line 3 .*'cone'.*photonvision\.zip .*'Kegel groß'"):
        list(check_file(make(tmp_path), "photonvision_rk3588"))


def rewrite(path: Path, name: str, data: bytes | None) -> None:
    """Put other bytes into an archive, or take a file out of it."""
    with zipfile.ZipFile(path) as archive:
        files = {one: archive.read(one) for one in archive.namelist()}
    [inside] = [one for one in files if one.endswith(name)]
    files.pop(inside)
    if data is not None:
        files[inside] = data
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in files.items():
            archive.writestr(one, content)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (PROPERTIES, None, r"photonvision\.zip: holds no photonvision-object-detection-models\.json"),
        (".rknn", None, r"photonvision\.zip: holds no point_nano\S+\.rknn"),
        ("-labels.txt", b"ball\n", r"photonvision\.zip: \S+-labels\.txt .*other labels"),
        (PROPERTIES, b"{}", r"modelPathToProperties: .*one model"),
        (PROPERTIES, b"[1]", r"photonvision\.zip: is no archive that PhotonVision imports"),
        (PROPERTIES, b"\xff", r"photonvision\.zip: is no archive that PhotonVision imports"),
    ],
)
def test_a_broken_archive_is_refused_in_one_line(name: str, data: bytes | None, message: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    rewrite(path, name, data)
    with pytest.raises(DataError, match=message):
        list(check_file(path, "photonvision_rk3588"))


def test_what_is_no_zip_and_what_is_for_another_processor_are_refused(tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(DataError, match=r"family: .*'RUBIK'.*'RKNN'"):
        list(check_file(path, "photonvision_rubik"))
    with pytest.raises(DataError, match=r"oak takes \.onnx, got \.zip"):
        list(check_file(path, "oak"))
    path.write_bytes(b"PK nothing")
    with pytest.raises(DataError, match=r"photonvision\.zip: is no archive"):
        list(check_file(path, "photonvision_rk3588"))


def test_a_listed_model_may_lie_in_no_other_folder(tmp_path: Path) -> None:
    path = make(tmp_path)
    with zipfile.ZipFile(path) as archive:
        tree = json.loads(archive.read(PROPERTIES))
    [(place, row)] = tree["modelPathToProperties"].items()
    away = place.replace("models/", "models/../")
    tree = {"modelPathToProperties": {away: row | {"modelPath": away}}}
    rewrite(path, PROPERTIES, json.dumps(tree).encode())
    with pytest.raises(DataError, match=r"modelPath: .*NAME\.rknn"):
        list(check_file(path, "photonvision_rk3588"))


OWN = {"run": "1356d7d31e99a84a", "data": "600 examples of 10 classes"}
COCO = {"name": "ssd_coco", "licence": "Apache-2.0", "data": "COCO 2017", "verified": False}


@pytest.mark.parametrize(
    ("starts", "weights", "agpl"),
    [
        ([], ("weights: ", "random"), ("none",)),
        ([COCO], ("weights: ssd_coco", "Apache-2.0", "not verified", "COCO 2017"), ("none",)),
        ([COCO | {"licence": "AGPL-3.0"}], ("ssd_coco", "AGPL-3.0"), ("ssd_coco", "publish")),
        ([COCO | {"licence": None}], ("ssd_coco", "not known"), ("not known", "ssd_coco", "ask")),
    ],
)
def test_licences_are_stated_of_weights_code_and_data(
    starts: list[dict[str, object]], weights: tuple[str, ...], agpl: tuple[str, ...]
) -> None:
    first, code, data, last = state_licences(starts, OWN)
    assert missing_in(first, *weights) == [] and missing_in(code, "code: ", "Apache-2.0") == []
    assert missing_in(data, "data: 600 examples of 10 classes") == []
    assert missing_in(last, "AGPL: ", *agpl) == []


def test_a_run_that_went_on_from_another_names_the_data_of_both() -> None:
    data = state_licences([{"run": "a", "data": "70 examples of 2 classes"}], OWN)[2]
    assert missing_in(data, "70 examples of 2 classes", "600 examples of 10 classes") == []
    assert missing_in(state_licences((), None)[2], "data: not known") == []
