"""Which boxes are doubted, by predictions whose mistakes are known."""

from typing import Any

import numpy as np

from bakeoff.inference.label_errors.box_errors import find_wrong_boxes
from bakeoff.inference.label_errors.suspect import LabelErrorFindings, Suspect
from support.messages import missing_in

PICTURES = 60


def make_box(label: str, top: float, left: float, side: float = 40, score: float | None = None) -> dict[str, Any]:
    corners = {"label": label, "ymin": top, "xmin": left, "ymax": top + side, "xmax": left + side}
    return corners if score is None else corners | {"score": score, "error": ""}


def make_rows(seed: int = 0) -> list[dict[str, Any]]:
    """Return rows with two boxes a picture, both predicted a little off, and now and then a faint mistake."""
    draw = np.random.default_rng(seed)
    rows = []
    for number in range(PICTURES):
        truth = [make_box("cat", 20, 20), make_box("dog", 120, 100)]
        given = [
            make_box(
                one["label"], one["ymin"] + draw.normal(0, 2), one["xmin"] + draw.normal(0, 2), 40, draw.uniform(0.6, 1)
            )
            for one in truth
        ]
        if number % 5 == 0:
            given.append(make_box("cat", 30, 150, 40, draw.uniform(0.05, 0.4)))
        rows.append({"file": f"{number:02d}.jpg", "truth": truth, "prediction": given})
    return rows


def find_suspects(rows: list[dict[str, Any]]) -> list[Suspect]:
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings) and len(findings.ranking) == PICTURES
    files = tuple(dict.fromkeys(one.file for one in findings.suspects))
    assert findings.ranking[: len(files)] == files
    return list(findings.suspects)


def test_boxes_that_are_right_are_not_doubted() -> None:
    assert find_suspects(make_rows()) == []


def test_every_kind_of_error_is_named() -> None:
    rows = make_rows()
    rows[1]["truth"][0]["label"] = "dog"
    rows[2]["truth"].pop(1)
    rows[3]["truth"].append(make_box("cat", 20, 150))
    rows[4]["truth"][0] = make_box("cat", 44, 40)
    rows[6]["truth"].append(make_box("cat", 24, 22))
    for one, label in zip(rows[7]["truth"], ("dog", "cat"), strict=True):
        one["label"] = label
    named = {(one.file, one.kind, one.label, one.proposal) for one in find_suspects(rows[:])}
    assert named == {
        ("01.jpg", "wrong class", "dog", "cat"),
        ("02.jpg", "missing box", "nothing", "dog"),
        ("03.jpg", "superfluous box", "cat", "nothing"),
        ("04.jpg", "badly placed box", "cat", "cat"),
        ("06.jpg", "doubled box", "cat", "nothing"),
        ("07.jpg", "swapped boxes", "dog", "cat"),
        ("07.jpg", "swapped boxes", "cat", "dog"),
    }


def test_a_part_of_a_thing_is_no_missing_box() -> None:
    rows = make_rows()
    rows[1]["prediction"].append(make_box("cat", 22, 22, 15, 0.9))
    assert find_suspects(rows) == []


def test_no_box_is_superfluous_where_the_network_finds_few() -> None:
    rows = make_rows()
    for row in rows[::3]:
        row["prediction"] = row["prediction"][:1]
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings) and findings.suspects == ()
    [silence] = findings.silences
    assert missing_in(silence, "superfluous", "100 of 120") == []


def test_no_box_is_doubled_where_things_lie_on_each_other() -> None:
    rows = make_rows()
    for row in rows[::2]:
        row["truth"].append(make_box("dog", 126, 104))
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings)
    assert missing_in(findings.silences[-1], "doubled", "30 pairs") == []
    assert "doubled box" not in {one.kind for one in findings.suspects}


def test_predictions_that_guess_allow_no_statement() -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        rows = make_rows()
        for row in rows:
            row["prediction"] = [
                make_box("cat", *draw.uniform(0, 160, 2), score=score) for score in draw.uniform(0.5, 1, 3).tolist()
            ]
        reason = find_wrong_boxes(rows)
        assert isinstance(reason, str) and missing_in(reason, "80 %", "chance") == []


def test_pictures_without_boxes_are_no_question() -> None:
    assert find_wrong_boxes([{"file": "a", "truth": [], "prediction": []}] * 40) == "no example has a box"
