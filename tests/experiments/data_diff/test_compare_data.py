"""Edits of every kind, planted in drawn data: each is found and named rightly, and none that is not there."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bakeoff.experiments.data_diff import open_data as opening
from bakeoff.experiments.data_diff.diff_text import MARKER
from bakeoff.foundation import dvc
from bakeoff.foundation import git as own_git
from bakeoff.foundation.workspace import CODE
from support.commands import Bakeoff, CommandOutput
from support.drawing import saved
from support.messages import missing_in
from support.planted_edits import (
    Files,
    Planter,
    Scene,
    plant_boxes,
    plant_labels,
    plant_pictures,
    rename_class,
    start,
    write_files,
)
from support.workspace_copy import made_workspace

SIZE = (160, 120)


def draw_scene(seed: int) -> Scene:
    """A picture of details, like no other's, with a box."""
    draw = np.random.default_rng(seed)
    coarse = Image.fromarray(draw.integers(0, 256, (12, 16, 3), np.uint8))
    x0, y0 = (int(draw.integers(5, 40)) for _ in range(2))
    box = ("cat", x0, y0, x0 + int(draw.integers(40, 80)), y0 + int(draw.integers(30, 60)))
    return Scene(saved(coarse.resize(SIZE, Image.Resampling.BICUBIC), "JPEG", quality=95), (box,))


def scenes(count: int = 60) -> Files:
    return {f"{'train' if n % 4 else 'validation'}/images/{n}.jpg": draw_scene(n) for n in range(count)}


def folders(count: int = 60) -> Files:
    split = {0: "validation"}
    return {f"{split.get(n % 4, 'train')}/{'abc'[n % 3]}/{n}.jpg": Scene(draw_scene(n).picture) for n in range(count)}


def compare(bakeoff: Bakeoff, planter: Planter, *, has_boxes: bool) -> dict:
    for name, files in (("a", planter.before), ("b", planter.after)):
        shutil.rmtree(name, ignore_errors=True)
        write_files(Path(name), files, has_boxes=has_boxes)
    output = bakeoff("diff", "a", "b", "--json")
    assert (output.code, output.err) == (0, "")
    return json.loads(output.out)


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "cores", lambda: 1)


@pytest.mark.parametrize("has_boxes", [True, False])
@pytest.mark.parametrize("is_renamed", [True, False])
def test_planted_edits_are_found_and_no_others(bakeoff: Bakeoff, here: Path, has_boxes: bool, is_renamed: bool) -> None:
    planter = start(scenes() if has_boxes else folders(), seed=1)
    if has_boxes:
        plant_boxes(planter)
        planter.expect("class came", "fox")
    else:
        plant_labels(planter, "abc")
    plant_pictures(planter)
    if is_renamed:
        rename_class(planter, *(("cat", "lynx") if has_boxes else ("b", "bee")), has_boxes=has_boxes)
    tree = compare(bakeoff, planter, has_boxes=has_boxes)
    found = Counter((one["kind"], one["name"]) for one in tree["changes"])
    assert (found - planter.expected, planter.expected - found) == (Counter(), Counter())
    assert sum(tree["counts"].values()) == len(tree["changes"]) and tree["drift"] == []


def test_a_second_look_opens_nothing_and_sees_what_changed_since(
    bakeoff: Bakeoff, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planter = start(scenes(20), seed=1)
    assert compare(bakeoff, planter, has_boxes=True)["changes"] == []
    looked: list[str] = []
    examine = opening._examine
    monkeypatch.setattr(opening, "_examine", lambda *given: looked.append(given[1].path) or examine(*given))
    text = bakeoff("diff", "a", "b").out
    assert looked == [] and "nothing changed" in text
    for kept in Path(".bakeoff/diff").glob("*/catalogue.db*"):  # as a loss of power leaves it
        kept.write_bytes(b"")
    for name in ("a", "b"):
        refuse(bakeoff("diff", name, name), f"{name}: ", "run the same command again")
        assert "nothing changed" in bakeoff("diff", name, name).out
    looked.clear()
    file = next(Path("b").rglob("*.xml"))
    file.write_text(file.read_text("utf-8").replace("cat", "dog"), encoding="utf-8")
    tree = json.loads(bakeoff("diff", "a", "b", "--json").out)
    assert looked == ["b"] and tree["counts"] == {"class came": 1, "box re-classed": 1}


def test_what_is_distributed_otherwise_is_drift(bakeoff: Bakeoff, here: Path) -> None:
    planter = start(scenes(), seed=1)
    for number, (name, scene) in enumerate(planter.before.items()):
        planter.after[name] = Scene(scene.picture, tuple(("dog", *box[1:]) for box in scene.boxes) * (number % 3 > 0))
    tree = compare(bakeoff, planter, has_boxes=True)
    [classes] = [line for line in tree["drift"] if line.startswith("classes: ")]
    assert "cat → dog" in {one["text"] for one in tree["changes"]}  # so it is no drift that all have another name
    assert "dog" in classes
    assert not any(line.startswith(("brightness", "size")) for line in tree["drift"])


def test_a_page_and_a_comment(bakeoff: Bakeoff, here: Path) -> None:
    planter = start(scenes(24), seed=1)
    plant_boxes(planter)
    odd = planter.take()
    planter.after["train/images/`|<b>.jpg"] = planter.after.pop(odd)
    for name, files in (("a", planter.before), ("b", planter.after)):
        write_files(Path(name), files, has_boxes=True)
    output = bakeoff("diff", "a", "b", "--html", "diff.html", "--md", "diff.md")
    assert output.code == 0 and "box split: 1" in output.out
    comment = Path("diff.md").read_text(encoding="utf-8")
    assert comment.startswith(f"{MARKER}\n### bakeoff diff: ")
    [line] = [line for line in comment.splitlines() if line.startswith("| picture renamed | 1 |")]
    assert "`train/images/ <b>.jpg`" in line and line.count("|") == 4
    page = Path("diff.html").read_text(encoding="utf-8")
    assert page.count("<figure") == len(planter.expected) + 2  # a class that came, and the name
    assert "<b>.jpg" not in page and 'class="missed"' in page and 'class="right"' in page


def refuse(output: CommandOutput, *parts: str) -> None:
    assert (output.code, output.out, len(output.err.splitlines())) == (2, "", 1), output.err
    assert missing_in(output.err, *parts) == []


def test_bad_input_is_one_line(bakeoff: Bakeoff, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = scenes(24)
    write_files(Path("a"), dict([*some.items()][:12]), has_boxes=True)
    write_files(Path("b"), dict([*some.items()][12:]), has_boxes=True)
    write_files(Path("c"), folders(12), has_boxes=False)
    refuse(bakeoff("diff", "a", "b"), "a and b:", "no picture in common")
    refuse(bakeoff("diff", "a", "c"), "c:", "classification", "detection")
    refuse(bakeoff("diff", "a"), "data/records")
    refuse(bakeoff("diff", "a", "v7"), "v7:", "neither a folder nor a revision")
    monkeypatch.setattr(own_git, "is_shallow", lambda: True)
    refuse(bakeoff("diff", "v7", "a"), "v7:", "shallow", "fetch-depth: 0")


def test_records_of_two_commits_and_the_folder_that_they_are_of(
    bakeoff: Bakeoff, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = made_workspace(tmp_path / "w", {"data": "data: {use: pascal_voc, path: data/raw/set}"})
    (workspace.folder / "models").mkdir(exist_ok=True)
    (workspace.folder / CODE).write_text("build_records: some digest\n")
    planter = start(scenes(40), seed=1)
    plant_boxes(planter)
    plant_pictures(planter)
    planter.expect("class came", "fox")
    for name, files in (("a", planter.before), ("b", planter.after)):
        shutil.rmtree(workspace.folder / "data/raw/set", ignore_errors=True)
        write_files(workspace.folder / "data/raw/set", files, has_boxes=True)
        workspace.build()
        workspace.commit_stage("build_records")
        workspace.commit()
        workspace.run("git", "tag", name)
    monkeypatch.chdir(workspace.folder)
    capsys.readouterr()  # what DVC printed
    trees = [json.loads(bakeoff("diff", *words, "--json").out) for words in (("a", "b"), ("a",), ("a", "."))]
    for tree in trees:
        found = Counter((one["kind"], one["name"]) for one in tree["changes"])
        assert (found - planter.expected, planter.expected - found) == (Counter(), Counter())
    same = json.loads(bakeoff("diff", "b", "data/raw/set", "--json").out)
    assert [one for one in same["changes"] if one["kind"] != "picture re-encoded"] == []
    refuse(bakeoff("diff", "a~1", "b"), "a~1:", "dvc.lock", "dvc repro build_records")
    shutil.rmtree(dvc.cache())
    refuse(bakeoff("diff", "a", "b"), "a:", "DVC's cache", "no remote")
    workspace.run("dvc", "remote", "add", "--default", "shelf", str(tmp_path / "shelf"))
    refuse(bakeoff("diff", "a", "b"), "a:", "DVC's cache", "`dvc push`")
