"""The five steps: how far a workspace is with each, and which one is next."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.app.web.work_steps import PhotoCount, count_folder, count_photos, list_steps
from bakeoff.experiments.runs.run_status import State
from support.asking import Page
from support.made_runs import made


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def following(page: Page) -> str:
    return page.get("/").headers["location"]


def test_the_address_of_the_server_leads_to_the_next_step(page: Page, folder: Path) -> None:
    assert following(page) == "/photos"
    for number in range(50):
        touch(folder / f"data/raw/field/images/{number}.jpg")
    assert following(page) == "/labels"
    for number in range(39):
        touch(folder / f"data/raw/field/annotations/{number}.xml")
    assert following(page) == "/labels"
    touch(folder / "data/raw/field/annotations/39.xml")
    assert following(page) == "/train"
    made(folder / ".bakeoff/runs", "a" * 16, State.RUNNING)
    assert following(page) == "/models"
    shutil.rmtree(folder / ".bakeoff/runs" / ("a" * 16))
    made(folder / ".bakeoff/runs", "b" * 16, State.SUCCEEDED)
    assert following(page) == "/robot"
    text = page.get("/robot").text
    assert f"/runs/{'b' * 16}/download" in text and "40 of 50" in text and text.count("next step</span>") == 1


@pytest.mark.parametrize(
    ("files", "counted"),
    [
        (("1.jpg", "2.PNG", "1.xml", "ignored/3.jpg", ".hidden.jpg", "notes.txt"), PhotoCount(2, 1)),
        (("images/a/1.jpg", "images/2.jpg", "annotations/a/1.xml", "annotations/9.xml", "3.jpg"), PhotoCount(2, 1)),
        ((), PhotoCount()),
    ],
)
def test_photos_and_labels_are_counted_as_the_editor_lists_them(
    folder: Path, files: tuple[str, ...], counted: PhotoCount
) -> None:
    (folder / "data/raw/field").mkdir()
    for file in files:
        touch(folder / "data/raw/field" / file)
    assert replace(count_folder("field"), first=()) == counted


def test_a_count_is_made_again_when_a_file_comes_or_goes_at_any_depth(folder: Path) -> None:
    touch(folder / "data/raw/field/images/deep/1.jpg")
    assert count_folder("field").photos == 1
    time.sleep(0.02)  # a file system's clock has steps
    touch(folder / "data/raw/field/images/deep/2.jpg")
    assert count_folder("field").photos == 2
    time.sleep(0.02)
    os.remove(folder / "data/raw/field/images/deep/1.jpg")
    assert count_folder("field").photos == 1


def test_photos_whose_labels_came_with_them_are_labelled(folder: Path) -> None:
    touch(folder / "data/raw/field/images/1.jpg")
    option = folder / "conf/data/field.yaml"
    option.write_text("kind: coco\npath: data/raw/field\n", encoding="utf-8")
    assert count_photos() == PhotoCount(1, 1)
    option.write_text("kind: pascal_voc\npath: data/raw/field\n", encoding="utf-8")
    assert count_photos() == PhotoCount(1, 0)


def test_a_folder_that_went_away_counts_as_empty(folder: Path) -> None:
    assert count_folder("nothing") == PhotoCount()
    (folder / "data/raw").rmdir()
    assert [step.address for step in list_steps([]) if step.is_next] == ["/photos"]
