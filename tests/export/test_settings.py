"""Exported files are compared with what export.json says of them before they are used."""

import json
from pathlib import Path

import pytest

from bakeoff.export.settings import DIGESTS, REPORT, require_exported
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import hash_file
from support.messages import missing_in

FILES = ("model.tflite", "saved_model/saved_model.pb", "saved_model/variables/variables.data-00000-of-00001")


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / REPORT).write_text(json.dumps({DIGESTS: {name: hash_file(tmp_path / name) for name in FILES}}))
    return tmp_path


def test_whole_files_pass(exported: Path) -> None:
    for path in (exported, exported / "model.tflite", exported / "saved_model"):
        require_exported(path)


@pytest.mark.parametrize(
    ("opened", "damaged"), [("model.tflite", FILES[0]), ("saved_model", FILES[2]), (".", FILES[1])]
)
def test_a_file_of_which_one_bit_is_another_is_refused(opened: str, damaged: str, exported: Path) -> None:
    file = exported / damaged
    file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    with pytest.raises(DataError) as caught:
        require_exported(exported / opened)
    assert missing_in(str(caught.value), damaged, "SHA-256", "dvc checkout", "dvc repro --force export") == []
    others = {"model.tflite", "saved_model"} - {opened, damaged.partition("/")[0]}
    for other in others:
        require_exported(exported / other)


def test_a_saved_model_without_its_variables_is_refused(exported: Path) -> None:
    (exported / FILES[2]).unlink()
    with pytest.raises(DataError, match=r"variables\.data-00000-of-00001: missing; .*dvc repro --force export"):
        require_exported(exported / "saved_model")


@pytest.mark.parametrize("report", ["", "[]", "{", '{"sha256": 3}', "{}"])
def test_without_digests_nothing_is_compared(report: str, exported: Path) -> None:
    (exported / REPORT).write_text(report)
    require_exported(exported / "model.tflite")
