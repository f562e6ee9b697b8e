"""Which boxes are doubted, by predictions whose mistakes are known."""

from typing import Any

import numpy as np

from bakeoff.inference.label_errors.box_errors import find_wrong_boxes, measure_on_like
from bakeoff.inference.label_errors.suspect import LabelErrorFindings, Suspect, lower_end
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


def test_a_prediction_around_a_box_of_its_class_and_something_else_is_no_missing_box() -> None:
    rows = make_rows()
    rows[1]["prediction"].append(make_box("cat", 0, 0, 100, 0.9))
    assert find_suspects(rows) == []
    rows[1]["prediction"].append(make_box("dog", 0, 0, 100, 0.9))  # around a box of another class it may be one
    assert [(one.kind, one.proposal) for one in find_suspects(rows)] == [("missing box", "dog")]


def test_no_box_is_superfluous_where_the_network_finds_few() -> None:
    rows = make_rows()
    for row in rows[::3]:
        row["prediction"] = row["prediction"][:1]
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings) and findings.suspects == ()
    [silence] = findings.silences
    assert missing_in(silence, "20 boxes of dog", "superfluous") == []


def judge_with_small_boxes(label: str) -> LabelErrorFindings:
    """Judge rows with small boxes of this class that no prediction finds, and one superfluous cat."""
    rows = make_rows()
    for row in rows[::5]:
        row["truth"].append(make_box(label, 150, 20, 12))
    rows[3]["truth"].append(make_box("cat", 20, 150))
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings)
    return findings


def test_no_box_is_accused_of_a_class_that_the_network_never_finds() -> None:
    findings = judge_with_small_boxes("fly")
    assert [(one.file, one.kind, one.label) for one in findings.suspects] == [("03.jpg", "superfluous box", "cat")]
    assert missing_in(" ".join(findings.silences), "no prediction of fly", "12 boxes of fly", "superfluous") == []


def test_no_small_box_is_accused_by_a_network_that_misses_small_ones() -> None:
    findings = judge_with_small_boxes("cat")
    assert [(one.file, one.kind, one.true_box) for one in findings.suspects] == [("03.jpg", "superfluous box", 2)]
    assert missing_in(findings.silences[0], "12 boxes of cat", "superfluous") == []


def test_a_class_that_the_network_takes_for_another_is_not_accused() -> None:
    rows = make_rows()
    for row in rows[::15]:
        row["truth"].append(make_box("fox", 150, 20))
        row["prediction"].append(make_box("cat", 151, 21, 40, 0.95))
    rows[3]["truth"][1]["label"] = "cat"
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings)
    assert [(one.file, one.label, one.proposal) for one in findings.suspects] == [("03.jpg", "cat", "dog")]
    assert missing_in(findings.silences[-1], "4 boxes of fox", "another class") == []


def test_a_class_whose_predictions_are_seldom_right_accuses_no_box() -> None:
    rows = make_rows()
    for row in rows[::2]:
        row["prediction"].append(make_box("fly", 150, 20, 40, 0.95))
    for row in rows[::4]:
        row["truth"].append(make_box("fly", 150, 20))
    findings = find_wrong_boxes(rows)
    assert isinstance(findings, LabelErrorFindings) and findings.suspects == ()
    assert missing_in(findings.silences[0], "no prediction of fly") == []


def test_a_superfluous_box_comes_after_all_that_a_prediction_contradicts() -> None:
    rows = make_rows()
    for row in rows:
        for box in row["prediction"]:
            box["score"] *= 0.4
    rows[1]["truth"].append(make_box("cat", 20, 150))
    rows[2]["truth"].pop(1)
    rows[4]["truth"][0]["label"] = "dog"
    rows[6]["truth"][0] = make_box("cat", 44, 40)
    rows[7]["truth"].append(make_box("cat", 24, 22))
    suspects = find_suspects(rows)
    assert [one.kind == "superfluous box" for one in suspects] == [False] * 4 + [True]
    assert {one.kind for one in suspects[:4]} == {"missing box", "wrong class", "badly placed box", "doubled box"}


def test_a_prediction_beside_a_box_is_a_missing_one_only_if_the_box_has_a_prediction_of_its_own() -> None:
    rows = make_rows()
    rows[1]["prediction"][0]["score"] = 0.1
    rows[1]["prediction"].append(make_box("cat", 24, 48, 40, 0.95))
    rows[2]["prediction"].append(make_box("cat", 24, 48, 40, 0.95))
    assert [(one.file, one.kind, one.true_box) for one in find_suspects(rows)] == [("02.jpg", "missing box", None)]


def test_a_prediction_much_larger_than_a_box_does_not_call_it_badly_placed() -> None:
    rows = make_rows()
    rows[1]["prediction"][0] = make_box("cat", 10, 10, 80, 0.95)
    assert find_suspects(rows) == []


def test_boxes_are_compared_with_the_nearest_of_their_class_in_height_and_width() -> None:
    draw = np.random.default_rng(0)
    count = 400
    labels = draw.choice(np.array(["cat", "dog", "owl"], object), count, p=[0.6, 0.395, 0.005])
    starts, sizes = draw.uniform(0, 50, (count, 2)), np.exp(draw.uniform(2, 5, (count, 2)))
    is_good = draw.random(count) < 0.8
    shares = measure_on_like(labels, np.hstack((starts, starts + sizes)), is_good, 2.0)
    for one in range(count):
        unlike = np.exp(np.abs(np.log(sizes) - np.log(sizes[one])).max(axis=1))
        others = [at for at in np.argsort(unlike) if at != one and labels[at] == labels[one] and unlike[at] < 2][:100]
        expected = 1 if is_good[one] else lower_end(int(is_good[others].sum()), len(others))
        assert np.isclose(shares[one], expected)


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
