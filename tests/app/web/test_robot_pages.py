"""The step Robot: which robots a finished model fits, and the zip for each."""

import io
import json
import shutil
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bakeoff.app.web import background_commands, robot_pages
from bakeoff.app.web.robot_sketch import SKETCHES, draw_sketch
from bakeoff.app.web.robots import ROBOTS
from bakeoff.app.web.training_progress import RunSource
from bakeoff.experiments.runs.run_status import State
from bakeoff.inference.device.run_export import EXPORTS
from support.asking import Page
from support.exported_run import write_export
from support.imports import ROOT
from support.made_runs import made
from support.messages import missing_in
from support.page_reading import defects_of

NAME, ID = "b" * 16, "4f2a91c0" + "0" * 24
FILES = {
    "photonvision_rk3588": ("rknn", "model.rknn"), "photonvision_rubik": ("int8", "model.tflite"),
    "limelight_coral": ("int8", "model.tflite"), "oak": ("onnx", "model.onnx"),
    "raspberry_pi": ("dynamic", "model.tflite"), "ftc_sdk": ("dynamic", "model.tflite"),
    "hailo8l": ("onnx", "model.onnx"), "hailo8": ("onnx", "model.onnx"),
}  # fmt: skip


@pytest.fixture
def run(folder: Path) -> Path:
    """The folder of a finished run of a network that PhotonVision does not take."""
    made(folder / ".bakeoff/runs", NAME, State.SUCCEEDED, run_id=ID)
    write_export(folder, NAME, ID, "ball\n")
    (folder / "models/config").mkdir()
    shutil.copy(ROOT / "models/config/run.yaml", folder / "models/config")
    return folder / ".bakeoff/runs" / NAME


def write_file(run: Path, option: str) -> None:
    form, name = FILES[option]
    made = run / EXPORTS / option
    (made / "saved_model").mkdir(parents=True)
    files = {"saved_model": {"file": "saved_model"}, form: {"file": name}}
    (made / "export.json").write_text(json.dumps({"device": option, "files": files}), encoding="utf-8")
    (made / ("photonvision.zip" if option.startswith("photonvision") else name)).write_bytes(option.encode())
    (made / "labels.txt").write_text("<ball>\ncube\n", encoding="utf-8")


def test_without_a_model_the_step_that_is_missing_is_the_one_button(page: Page) -> None:
    text = page.get("/robot").text
    assert text.count('class="button main"') == 1 and "Next step: Photos" in text


def test_robots_that_do_not_take_the_network_are_grey_and_lead_to_train(page: Page, run: Path) -> None:
    text = page.get("/robot").text
    cards = {option: text[text.index(f'id="{option}"') :].partition("</li>")[0] for option in ROBOTS}
    for option, card in cards.items():
        fits = not option.startswith("photonvision")
        assert (f'data-post="/runs/{NAME}/robots/{option}"' in card) == fits
        assert (f'href="/train?robot={option}"' in card) == (not fits)
        assert ("not trained for it" in card and "640" in card) == (not fits)
    assert text.index('id="photonvision_rubik"') > text.index('id="oak"')  # what does not fit comes last
    assert defects_of(text) == [] and text.count('main"') - text.count('"#main"') >= 1


def test_the_file_of_a_robot_is_made_by_the_command_once(page: Page, run: Path) -> None:
    first = page.send(f"/runs/{NAME}/robots/limelight_coral", key="123456").tree
    assert page.send(f"/runs/{NAME}/robots/limelight_coral", key="abcdef").tree == first  # a second tab
    [begun] = background_commands.list_recent()
    assert begun.commands == (("bakeoff", "export", ID, "--as", "limelight_coral"),)
    assert begun.after == f"/robot?run={NAME}#limelight_coral"
    answer = page.send(f"/runs/{NAME}/robots/photonvision_rubik", key="234567")
    assert answer.code == 404 and not missing_in(answer.tree["problem"], "640")
    assert page.send(f"/runs/{NAME}/robots/toaster", key="345678").code == 404
    end = time.monotonic() + 60
    while background_commands.load(begun.id).state == "runs":  # this is no workspace, so it fails
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "Its file was not made" in page.get("/robot").text


@pytest.mark.parametrize("option", sorted(FILES))
def test_a_zip_has_the_one_file_its_labels_a_page_to_read_and_the_reader(page: Page, run: Path, option: str) -> None:
    assert page.get(f"/runs/{NAME}/robots/{option}/zip").code == 400
    write_file(run, option)
    answer = page.get(f"/runs/{NAME}/robots/{option}/zip")
    folder = f"{option}-{ID[:8]}"
    assert answer.headers["content-disposition"] == f'attachment; filename="{folder}.zip"'
    archive = zipfile.ZipFile(io.BytesIO(answer.body))
    inside = {name.removeprefix(f"{folder}/"): archive.read(name).decode() for name in archive.namelist()}
    readme, reader = inside.pop("README.html"), inside.pop("reader.py")
    assert sorted(inside.values()) == sorted([option, "<ball>\ncube\n"])
    for name in inside:
        assert name in readme
    assert "&lt;ball&gt;" in readme and "<svg" in readme and "http-equiv" not in readme and "<img" not in readme
    compile(reader, "reader.py", "exec")
    assert "labels.txt" in inside and ("photonvision.zip" in inside) == option.startswith("photonvision")
    assert "AGPL" in readme  # the licences


def test_what_a_compiler_needs_beside_the_model_is_in_the_zip(page: Page, run: Path) -> None:
    write_file(run, "hailo8l")
    beside = run / EXPORTS / "hailo8l/hailo"
    beside.mkdir()
    (beside / "plan.json").write_text("{}", encoding="utf-8")
    archive = zipfile.ZipFile(io.BytesIO(page.get(f"/runs/{NAME}/robots/hailo8l/zip").body))
    folder = f"hailo8l-{ID[:8]}"
    names = {name.removeprefix(f"{folder}/") for name in archive.namelist()}
    assert names == {"model.onnx", "labels.txt", "hailo/plan.json", "README.html", "reader.py"}


def test_a_robot_of_the_training_itself_needs_no_second_export(page: Page, folder: Path, run: Path) -> None:
    file = folder / "models/config/run.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("device: null", "device: ftc_sdk"), encoding="utf-8")
    text = page.get(f"/robot?run={NAME}").text
    assert f'href="/runs/{NAME}/robots/ftc_sdk/zip"' in text and f'data-post="/runs/{NAME}/robots/ftc_sdk"' not in text


def test_a_run_that_did_not_end_well_cannot_be_taken_along(page: Page, run: Path, folder: Path) -> None:
    made(folder / ".bakeoff/runs", "c" * 16, State.STOPPED, run_id="2" * 32)
    assert page.get(f"/robot?run={'c' * 16}").code == 404
    assert page.get(f"/robot?run={ID[:8]}").code == 200  # the name that every list shows


def test_each_robot_has_a_sketch_whose_words_those_hear_who_do_not_see() -> None:
    assert {*SKETCHES} == {*ROBOTS}
    for option, sketch in SKETCHES.items():
        drawing = ElementTree.fromstring(str(draw_sketch(option, "model<1>.tflite", "labels.txt")))
        assert drawing.get("role") == "img" and sketch.button in str(drawing.get("aria-label"))
        assert "model<1>.tflite" in str(drawing.get("aria-label"))
        words = " ".join(text.text or "" for text in drawing.iter("text"))
        assert "FILE" not in words and "LABELS" not in words
        for box in drawing.iter("rect"):
            assert float(box.get("x")) + float(box.get("width")) <= 560
            assert float(box.get("y")) + float(box.get("height")) <= 250


def test_a_robot_whose_compiler_needs_more_photos_is_grey_and_leads_to_photos(
    page: Page, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robot_pages, "find_source", lambda run: RunSource(examples=32))
    text = page.get("/robot").text
    card = text[text.index('id="hailo8l"') :].partition("</li>")[0]
    assert missing_in(card, "64 photos", "32", 'href="/photos"') == [] and "data-post" not in card
    assert 'data-post="' in text[text.index('id="oak"') :].partition("</li>")[0]
    answer = page.send(f"/runs/{NAME}/robots/hailo8", key="123456")
    assert answer.code == 404 and missing_in(answer.tree["problem"], "64 photos", "32") == []
