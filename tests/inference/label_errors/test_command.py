"""`bakeoff suspects` on records and runs of its own: what it prints, writes, remembers and refuses."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.dataset import SplitSettings
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.experiments.sweep.sweep_manifest import JobState
from support.commands import Bakeoff
from support.drawing import encoded, voc, write
from support.made_sweeps import ID, sweep, sweep_job
from support.messages import missing_in
from support.prediction_journals import make_records, write_box_run, write_class_run

CLASSES = ("cat", "dog & emu")
PICTURES = 40
SIZE = (32, 24)


def name(number: int) -> str:
    return f"{CLASSES[number % 2]}/{number:03d}.jpg"


def read_rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture
def images(here: Path) -> Path:
    """Make forty pictures of two classes, and a run that is right on all validation examples but two."""
    for number in range(2 * PICTURES):
        write(here / "set" / name(number), encoded(number))
    make_records(_halved(here))
    answers = {name(number): (CLASSES[number % 2], CLASSES[number % 2]) for number in range(PICTURES)}
    answers[name(4)] = ("cat", "dog & emu")
    answers[name(7)] = ("dog & emu", "cat")
    write_class_run("aaaa1111", answers, CLASSES)
    return here


def _halved(here: Path) -> ImageFolders:
    write(here / "set/val.txt", "".join(f"{number:03d}\n" for number in range(PICTURES)))
    return ImageFolders(path="set", split=SplitSettings(validation_list="val.txt"))


def test_suspects_are_printed_drawn_and_listed(images: Path, bakeoff: Bakeoff) -> None:
    result = bakeoff("suspects", "aaaa", "--html", "out/page.html", "--csv", "out/rows.csv")
    assert (result.code, result.err) == (0, "")
    [head] = result.rows[0]
    run = "aaaa1111 (ssd_small · cosine · low)"
    assert missing_in(head, "suspects: 2 in 40", run, "accuracy 0.950", "0.90", "95 %") == []
    assert ["1", "cat/004.jpg", "wrong class", "cat", "dog & emu"] in result.rows
    rows = read_rows(images / "out/rows.csv")
    assert [(row["name"], row["label"], row["proposal"]) for row in rows] == [
        ("cat/004.jpg", "cat", "dog & emu"), ("dog & emu/007.jpg", "dog & emu", "cat")
    ]  # fmt: skip
    assert missing_in(rows[0]["why"], "dog & emu 0.90", "cat 0.05") == []
    page = (images / "out/page.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 2 and page.count("data:image/jpeg;base64") == 2
    assert "dog &amp; emu" in page and "dog & emu" not in page
    assert 'src="http' not in page and "script-src" not in page
    assert bakeoff("suspects", "aaaa", "--html", "one.html", "--count", "1").code == 0
    assert "1 more are not shown" in (images / "one.html").read_text(encoding="utf-8")


def test_what_is_right_as_it_is_is_left_out_until_its_label_is_edited(images: Path, bakeoff: Bakeoff) -> None:
    result = bakeoff("suspects", "--right", name(4), name(7))
    assert missing_in(result.out, "data/right_labels.csv: 2 labels", "commit") == [] and result.out.count("\n") == 1
    lines = (images / "data/right_labels.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "name,digest" and [line.split(",")[0] for line in lines[1:]] == [name(4), name(7)]
    result = bakeoff("suspects", "aaaa")
    assert result.out.startswith("suspects: 0 in 40 examples")
    assert missing_in(result.out, "2 examples", "left out", "data/right_labels.csv") == []
    # The same name and label, another picture: nobody has looked at this one.
    write(images / "set" / name(4), encoded(900))
    make_records(_halved(images))
    result = bakeoff("suspects", "aaaa")
    assert result.out.startswith("suspects: 1 in 40 examples") and "1 example is left out" in result.out


def test_a_label_that_was_corrected_is_no_suspect(images: Path, bakeoff: Bakeoff) -> None:
    (images / "set" / name(4)).rename(images / "set" / CLASSES[1] / "004.jpg")
    make_records(_halved(images))
    result = bakeoff("suspects", "aaaa")
    assert result.out.startswith("suspects: 1 in 39 examples")
    assert missing_in(result.out, "1 examples", "not in data/records") == []


def test_the_same_picture_with_two_labels_is_one_suspect(images: Path, bakeoff: Bakeoff) -> None:
    write(images / "set" / CLASSES[1] / "900.jpg", encoded(50))  # a training picture of a cat
    write(images / "set" / CLASSES[1] / "901.jpg", encoded(4, quality=60))
    make_records(_halved(images))
    result = bakeoff("suspects", "aaaa", "--csv", "rows.csv")
    assert result.code == 0
    rows = [row for row in read_rows(images / "rows.csv") if row["kind"] == "alike, labelled differently"]
    assert {row["name"] for row in rows} == {name(4), name(50)} or rows[0]["name"].endswith("900.jpg")
    assert any(missing_in(row["why"], f"looks like {CLASSES[1]}/901.jpg", "dog & emu") == [] for row in rows)
    assert any("has the same bytes as" in row["why"] for row in rows)


def make_boxes(here: Path, spoiled: int = 3) -> dict[str, tuple[list, list]]:
    """Write pictures with a box each, and return boxes and predictions. One lacks a second box, one is badly placed."""
    box, other = (0.1, 0.1, 0.45, 0.5), (0.6, 0.5, 0.95, 0.9)
    answers = {}
    for number in range(PICTURES):
        true = [box]
        given = [box]
        if number == 0:
            given = [box, other]
        if number == spoiled:
            true = [(0.3, 0.3, 0.65, 0.7)]
        write(here / f"set/images/{number:02d}.jpg", encoded(number))
        pixels = [tuple(share * side for share, side in zip(one, SIZE * 2, strict=True)) for one in true]
        write(here / f"set/annotations/{number:02d}.xml", voc([("cat", *corners) for corners in pixels]))
        answers[f"images/{number:02d}.jpg"] = (true, given)
    return answers


@pytest.mark.parametrize("kind", ["voc", "coco"])
def test_boxes_are_written_as_the_models_propose_them(kind: str, here: Path, bakeoff: Bakeoff) -> None:
    answers = make_boxes(here)
    make_records(PascalVoc(path="set"))
    write_box_run("bbbb2222", answers, SIZE)
    result = bakeoff("suspects", "bbbb", "--html", "page.html", "--as", kind, "--out", "mended")
    assert (result.code, result.err) == (0, "")
    assert [row[1:3] for row in result.rows if row[0] in "12"] == [
        ["images/00.jpg", "missing box"], ["images/03.jpg", "badly placed box"]
    ]  # fmt: skip
    assert missing_in(result.rows[-1][0], "2 pictures", "mended") == []
    if kind == "voc":
        first, moved = (ElementTree.parse(here / f"mended/annotations/{stem}.xml").getroot() for stem in ("00", "03"))
        assert [node.text for node in first.iter("xmin")] == ["3.2", "19.2"]
        assert [float(node.text or 0) for node in moved.find("object/bndbox") or ()] == [3.2, 2.4, 14.4, 12.0]
    else:
        tree = json.loads((here / "mended/proposals.json").read_text())
        assert [one["bbox"] for one in tree["annotations"]] == [
            [3.2, 2.4, 11.2, 9.6], [19.2, 12.0, 11.2, 9.6], [3.2, 2.4, 11.2, 9.6]
        ]  # fmt: skip
    page = (here / "page.html").read_text(encoding="utf-8")
    assert page.count('class="pair"') == 2 and page.count('rect class="wrong"') == 2
    assert page.count('rect class="missed"') == 1  # the badly placed one
    assert "holds earlier proposals" in bakeoff("suspects", "bbbb", "--as", kind, "--out", "mended").err


def test_what_cannot_be_answered_is_one_line(images: Path, bakeoff: Bakeoff) -> None:
    few = {name(number): (CLASSES[number % 2], CLASSES[number % 2]) for number in range(12)}
    write_class_run("cccc3333", few, CLASSES)
    result = bakeoff("suspects", "cccc")
    assert result.code == 0
    [line] = result.out.splitlines()[1:]
    assert missing_in(line, "no statement", "12 validation", "30", "`--folds 5`") == []
    alone = {name(number): (CLASSES[0], CLASSES[0]) for number in range(0, PICTURES, 1) if number % 2 == 0}
    write_class_run("dddd4444", {**alone, **{name(n): (CLASSES[0], CLASSES[0]) for n in range(40, 80, 2)}}, CLASSES)
    assert "  no statement: one class only, 'cat'\n" in bakeoff("suspects", "dddd").out
    guesses = {name(n): (CLASSES[n % 2], CLASSES[n % 3 % 2]) for n in range(PICTURES)}
    write_class_run("eeee5555", guesses, CLASSES)
    assert missing_in(bakeoff("suspects", "eeee").out, "guessing", "0.500") == []
    write_box_run("ffff6666", {name(n): ([(0, 0, 1, 1)], []) for n in range(PICTURES)}, SIZE)
    write_class_run("abcd7777", {f"other/{n}": ("cat", "cat") for n in range(PICTURES)}, CLASSES)
    for arguments, parts in (
        (["ffff"], ("is for detection", "data/records", "classification")),
        (["abcd"], ("none of its 40", "data/records")),
        (["zzzz"], ("zzzz: ",)),
        ([], ("nothing", "`dvc repro`")),
        (["--right", "dog/004.jpg"], ("dog/004.jpg: ", "data/records", "cat/004.jpg")),
        (["aaaa", "--as", "voc", "--out", "x"], ("--as voc: ", "boxes", "labels", "--csv")),
        (["aaaa", "--as", "voc"], ("--as and --out: ", "together")),
        (["aaaa", "--count", "0"], ("--count: ", "1", "0")),
        (["--folds", "1"], ("--folds: ", "2 to 100", "1")),
        (["--folds", "5", "--sweep"], ("--sweep: ", "--folds")),
        (["aaaa", "--resume"], ("--resume: ", "aaaa")),
        (["aaaa", "--dry-run"], ("--dry-run: ", "--folds", "--resume")),
        (["--sweep"], ("no sweep",)),
        (["cccc", "eeee"], ("2 times", "data.split.fold")),
    ):
        result = bakeoff("suspects", *arguments)
        assert result.code != 0 and missing_in(result.err, *parts) == [], (arguments, result)
        assert len(result.err.splitlines()) == 1, (arguments, result)


def test_a_file_of_marks_that_was_spoiled_is_named_with_its_line(images: Path, bakeoff: Bakeoff) -> None:
    write(images / "data/right_labels.csv", "name,digest\ncat/004.jpg\n")
    assert "data/right_labels.csv:2: must be name,digest, got cat/004.jpg" in bakeoff("suspects", "aaaa").err


def test_a_sweep_must_be_over_folds_and_done(images: Path, bakeoff: Bakeoff) -> None:
    one, two = (sweep_job(number, configurations=((f"+data.split.fold={number}/2",),)) for number in (1, 2))
    sweep(one.in_state(JobState.DONE), two).write()
    error = bakeoff("suspects", "--sweep", ID).err
    assert missing_in(error, f"{ID}: ", "1 of 2 jobs", f"`bakeoff suspects --resume {ID}`") == []
    assert error.count("\n") == 1
    sweep(sweep_job(1, state=JobState.DONE)).write()
    error = bakeoff("suspects", "--sweep").err
    assert missing_in(error, f"{ID}: ", "data.split.fold", "seed=1", "`--folds 5`") == [] and error.count("\n") == 1
