"""Slices by what an example is: which are named, and that luck names none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.evaluation.evaluation_report import write_page
from bakeoff.evaluation.example_facts import describe_examples, match_rows, measure_picture, read_table, require_matches
from bakeoff.evaluation.settings import Slices
from bakeoff.evaluation.slice_significance import ExampleCounts, count_right, find_weak, find_worse
from bakeoff.evaluation.slices import cut_slices
from bakeoff.evaluation.weak_slices import FILE, judge_slices, read_statement, write_slices
from bakeoff.foundation.errors import DataError
from bakeoff.learning.input.record_reader import ExampleOrigin
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from support.coco_sets import given, true
from support.made_reports import BOX, FAR, answers, report_of
from support.messages import missing_in
from support.page_reading import defects_of

EXAMPLES = 200


def drawn_facts(draw: np.random.Generator, size: int = EXAMPLES) -> dict[str, np.ndarray]:
    """As of pictures: some facts go together, one has few values, one is a name."""
    light = draw.gamma(4, 25, size)
    return {
        "group": np.array([f"film_{number}" for number in draw.integers(0, 6, size)]),
        "brightness": light,
        "sharpness": draw.lognormal(0, 1, size) + light / 100,
        "aspect": draw.choice([0.75, 1.0, 1.33], size),
        "objects": draw.poisson(2.5, size).astype(float),
    }


def answered(right: np.ndarray) -> ClassificationScore:
    """Of two classes, right where it says so."""
    truth = np.arange(len(right)) % 2 + 1
    sure = np.where(right == (truth == 1), 0.9, 0.1)
    return ClassificationScore(("a", "b")).update(make_answers(truth, np.stack([sure, 1 - sure], axis=1)))


def judged(right: np.ndarray, facts: dict[str, np.ndarray], groups: list[str] | None = None) -> Any:
    score = answered(right)
    return judge_slices(score.columns(), score.count_weighted, facts, groups, "validation examples")


def test_a_slice_made_weak_is_named_first_with_its_numbers_and_what_was_counted() -> None:
    draw = np.random.default_rng(1)
    facts = drawn_facts(draw)
    dark = facts["brightness"] < np.quantile(facts["brightness"], 0.25)
    right = draw.random(EXAMPLES) < np.where(dark, 0.45, 0.85)
    report = judged(right, facts)
    first = report.weakest[0]
    assert first.fact == "brightness" and first.slice.startswith("under") and first.chance <= 0.05
    [quarter] = [row for row in report.rows if row.examples == dark.sum() and row.fact == "brightness"][:1]
    assert quarter.value == pytest.approx(right[dark].mean(), abs=1e-6)
    assert quarter.rest == pytest.approx(right[~dark].mean(), abs=1e-6)
    counted = f"{len(report.rows)} slices"
    assert missing_in(report.statement, "weak slices", counted, "5 facts", "brightness under") == []


def test_answers_that_know_nothing_of_the_facts_show_a_weak_slice_in_five_of_a_hundred_draws_at_most() -> None:
    """Of one label and of boxes, whose images have more or fewer of them; 200 draws by a rule of 5 % stay below 19."""
    draw, named = np.random.default_rng(2), 0
    facts = drawn_facts(draw, 100)
    objects = facts["objects"]
    slices = cut_slices(facts)
    members = np.stack([one.members for one in slices], axis=1)
    none = np.zeros(len(slices), bool)
    for number in range(200):
        if number % 2:
            tally = ExampleCounts("accuracy", (draw.random(100) < 0.8).astype(float), np.ones(100))
        else:
            hardness = draw.beta(8, 2, 100)
            right, wrong = draw.binomial(objects.astype(int), hardness), draw.poisson(0.2 * objects)
            tally = ExampleCounts("f1", 2.0 * right, right + wrong + objects)
        named += find_weak(tally, members, None, none).chance.min() <= 0.05
    assert named <= 18


def test_films_that_are_hard_as_a_whole_are_no_reason_to_call_the_dark_weak() -> None:
    """A fact that is the same in a film, as its light is: by single images it would be weak in half of the draws."""
    draw = np.random.default_rng(3)
    groups = np.repeat(np.arange(30), 10)
    alone = together = films = 0
    for _ in range(25):
        light = np.repeat(draw.random(30), 10)
        facts = {"group": np.array([f"film_{number}" for number in groups]), "brightness": light}
        right = (draw.random(300) < np.repeat(draw.beta(1, 0.6, 30), 10)).astype(float)
        slices = cut_slices(facts)
        members = np.stack([one.members for one in slices], axis=1)
        is_film = np.array([one.fact == "group" for one in slices])
        tally = ExampleCounts("accuracy", right, np.ones(300))
        alone += find_weak(tally, members, None, is_film).chance[~is_film].min() <= 0.05
        comparison = find_weak(tally, members, groups, is_film)
        together += comparison.chance[~is_film].min() <= 0.05
        films += comparison.chance[is_film].min() <= 0.05
    assert together <= 4 < alone and films >= 22


def test_few_examples_or_facts_that_do_not_differ_give_no_statement() -> None:
    few = judged(np.ones(12, bool), drawn_facts(np.random.default_rng(0), 12))
    assert missing_in(few.statement, "no statement", "12", "40") == []
    assert few.rows == []
    same = judged(np.ones(50, bool), {"brightness": np.full(50, 7.0)})
    assert missing_in(same.statement, "no statement", "50", "no fact") == []


def test_all_right_or_all_wrong_names_nothing() -> None:
    for right in (np.ones(60, bool), np.zeros(60, bool)):
        report = judged(right, drawn_facts(np.random.default_rng(0), 60))
        assert report.weakest == [] and "no slice is weaker" in report.statement


def test_a_number_is_cut_at_its_quantiles_a_name_at_its_values_and_nothing_twice() -> None:
    numbers = np.arange(100.0)
    slices = cut_slices({"light": numbers, "copy": numbers, "place": np.array(["in", "out", "", "in"] * 25)})
    names = [(one.name, int(one.members.sum())) for one in slices]
    assert names == [
        ("light under 24.8", 25), ("light under 9.9", 10), ("light 24.8 to 49.5", 25), ("light 49.5 to 74.2", 25),
        ("light from 74.2 on", 25), ("light from 89.1 on", 10), ("place in", 50), ("place out", 25),
    ]  # fmt: skip


def test_unknown_numbers_are_in_no_slice() -> None:
    slices = cut_slices({"light": np.array([1.0, 2.0, np.nan] * 20)})
    assert [(one.name, int(one.members.sum())) for one in slices] == [("light 1", 20), ("light 2", 20)]


def test_what_is_right_is_counted_of_every_kind_of_answer() -> None:
    boxes = DetectionScore(("ant", "bee"))
    boxes = boxes.update(true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9), (FAR, 1, 0.8)))  # 0.8 does not count
    boxes = boxes.update(true(), given()).update(true((BOX, 2)), given((BOX, 2, 0.95)))
    tally = count_right(boxes.columns())
    assert tally.metric == "f1" and tally.right.tolist() == [2, 0, 2] and tally.whole.tolist() == [3, 0, 2]
    assert tally.right.sum() / tally.whole.sum() == pytest.approx(boxes.result()["f1"])
    several = MultiLabelScore(("a", "b")).update([[True, False], [True, True]], [[0.9, 0.6], [0.2, 0.8]])
    tally = count_right(several.columns())
    assert tally.right.sum() / tally.whole.sum() == pytest.approx(several.result()["f1"])
    one = answered(np.array([True, False, True]))
    assert count_right(one.columns()).right.tolist() == [1, 0, 1]
    members = np.array([[True], [False], [False]])
    assert count_right(one.columns()).shares(members).tolist() == [1.0]


def test_where_b_is_worse_shows_though_it_is_better_on_the_whole_and_equal_runs_differ_nowhere() -> None:
    draw = np.random.default_rng(4)
    facts = drawn_facts(draw, 400)
    slices = cut_slices(facts)
    members, none = np.stack([one.members for one in slices], axis=1), np.zeros(len(slices), bool)
    dark = facts["brightness"] < np.quantile(facts["brightness"], 0.25)
    once = np.ones(400)
    a = ExampleCounts("accuracy", (draw.random(400) < 0.7).astype(float), once)
    b = ExampleCounts("accuracy", (draw.random(400) < np.where(dark, 0.4, 0.95)).astype(float), once)
    comparison = find_worse(a, b, members, None, none)
    worst = slices[int(np.argmax(comparison.weakness))]
    assert b.right.mean() > a.right.mean() and worst.fact == "brightness" and worst.range_text.startswith("under")
    assert comparison.chance.min() <= 0.05
    assert find_worse(a, a, members, None, none).chance.min() == 1.0
    named = 0
    for _ in range(100):
        one, other = ((draw.random(400) < 0.8).astype(float) for _ in range(2))
        named += (
            find_worse(ExampleCounts("", one, once), ExampleCounts("", other, once), members, None, none).chance.min()
            <= 0.05
        )
    assert named <= 11


def test_a_dark_picture_is_no_blurred_one() -> None:
    noise = np.random.default_rng(0).uniform(0, 255, (64, 48, 3)).astype(np.float32)
    light, sharp = measure_picture(noise)
    dark, still_sharp = measure_picture(noise / 4)
    soft = (noise + np.roll(noise, 1, 0) + np.roll(noise, 1, 1) + np.roll(noise, (1, 1), (0, 1))) / 4
    assert dark == pytest.approx(light / 4, abs=0.1) and still_sharp == pytest.approx(sharp, rel=0.02)
    assert measure_picture(soft)[1] < sharp / 3
    assert measure_picture(np.full((64, 48, 3), 9.0, np.float32)) == (9.0, 0.0)
    assert measure_picture(np.stack([noise * 0, noise, noise * 0])) == (light, sharp)  # a clip's middle frame


def test_sizes_come_from_the_records_and_boxes_from_the_truth() -> None:
    origins = [ExampleOrigin("film_2/1.png", 100, 400), ExampleOrigin("x.png", 100, 400)]
    score = DetectionScore(("ant",)).update(true(([0.0, 0.0, 20.0, 80.0], 1)), given()).update(true(), given())
    facts = describe_examples(origins, [(5, 1), (6, 2)], score.columns(), "^(film_.)/")
    assert facts["group"].tolist() == ["film_2", ""] and facts["brightness"].tolist() == [5, 6]
    assert facts["aspect"].tolist() == [4, 4] and facts["picture size"].tolist() == [200, 200]
    assert facts["objects"].tolist() == [1, 0]
    assert facts["box size"][0] == 20 and np.isnan(facts["box size"][1])  # 40 of 200 pixels


def test_a_table_gives_facts_by_full_names_or_by_names_that_are_one_alone(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_text("file,weather,height\na/1.png,rain,3\n2.png,sun,x\n3.png,fog,\n", encoding="utf-8")
    rows = read_table(Slices(str(file)))
    facts = match_rows(rows, ["a/1.png", "b/1.png", "c/2.png", "d/3.png", "e/3.png"])
    assert facts["weather"].tolist() == ["rain", "", "sun", "", ""]
    assert facts["height"].tolist() == ["3", "", "x", "", ""]
    file.write_text("file,height\n1.png,3\n2.png,\n", encoding="utf-8")
    [height] = match_rows(read_table(Slices(str(file))), ["1.png", "2.png"]).values()
    assert height[0] == 3 and np.isnan(height[1])
    assert read_table(Slices()) == {} and match_rows({}, ["1.png"]) == {}


@pytest.mark.parametrize(
    ("content", "column", "parts"),
    [
        (None, "file", ("No such file or directory", "data/raw/")),
        ("name,light\n1.png,3\n", "file", ("no column 'file'", "light, name")),
        ("", "file", ("no column 'file'", "empty")),
        ("file,light\n", "file", ("no row",)),
        ("file,light\n9.png,3\n", "file", ("column 'file'", "'9.png', …", "'1.png', …")),
        ("fil\xff,e".encode("latin-1"), "file", ("UTF-8",)),
    ],
)
def test_a_table_that_says_nothing_is_refused(
    content: Any, column: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "facts.csv"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    settings = Slices(str(file), column)
    with pytest.raises(DataError) as caught:
        require_matches(settings, read_table(settings), ["1.png"])
    text = str(caught.value)
    assert missing_in(text, f"evaluate.slices.table: {file}: ", *parts) == [] and "\n" not in text


def test_the_page_and_the_file_name_the_weak_slice(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    facts = drawn_facts(draw)
    facts["weather <b>"] = np.array(["rain", "sun", "fog", "snow"] * 50)
    right = draw.random(EXAMPLES) < np.where(facts["weather <b>"] == "fog", 0.3, 0.9)
    report = judged(right, facts)
    write_slices(tmp_path, report)
    tree = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    assert tree["comparisons"] == len(tree["slices"]) and tree["statement"] == read_statement(tmp_path)
    [weak] = [row for row in tree["slices"] if row["is_weak"]]
    assert (weak["fact"], weak["slice"], weak["examples"]) == ("weather <b>", "fog", 50)
    write_slices(tmp_path, judged(right, facts))
    assert json.loads((tmp_path / FILE).read_text(encoding="utf-8")) == tree
    page = report_of(answers(), "accuracy")
    write_page(tmp_path, type(page)(**{**vars(page), "slices": report}))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "weather &lt;b&gt; fog (accuracy 0." in text
    assert f"All {len(report.rows)} slices" in text and "a column of evaluate.slices.table" in text
    assert defects_of(text) == []
