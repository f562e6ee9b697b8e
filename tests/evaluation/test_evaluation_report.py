"""The page is read as a browser reads it: by a parser, not by matching text."""

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bakeoff.evaluation.error_ranking import Mistake, describe_costliest
from bakeoff.evaluation.evaluation_report import FILE, EvaluationReport, write_page
from bakeoff.evaluation.header import ReportHeader, warn_of_end
from bakeoff.foundation.html.template import add_facts, embed_jpeg
from bakeoff.learning.checkpoints.trained_state import TrainedState
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from support.coco_sets import given, true
from support.made_reports import BOX, FAR, NASTY, answers, detections, jpeg, labels, report_of
from support.messages import missing_in
from support.page_reading import defects_of


class Page(HTMLParser):
    """Tags with their attributes, and the text outside of style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._open = tag
        self.tags.append((tag, dict(attributes)))

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        if self._open != "style":
            self.text += data.replace("\n", "")

    def all(self, tag: str, **having: str) -> list[dict[str, str | None]]:
        return [element for name, element in self.tags if name == tag and having.items() <= element.items()]


ALL = [(detections, "mAP_50"), (answers, "accuracy"), (labels, "mean_average_precision")]


def page_of(report: EvaluationReport, folder: Path) -> Page:
    write_page(folder, report)
    return Page((folder / FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("score", "headline"), ALL)
def test_page_needs_nothing_from_anywhere_and_runs_nothing(score: Any, headline: str, tmp_path: Path) -> None:
    page = page_of(report_of(score(), headline, shown=2), tmp_path)
    assert not page.all("script") and not page.all("link") and not page.all("iframe")
    addresses = [
        value for _, element in page.tags for key, value in element.items() if key in ("src", "href", "srcset")
    ]
    assert addresses and all(str(value).startswith(("data:image/jpeg;base64,", "#")) for value in addresses)
    assert not any(key.startswith("on") for _, element in page.tags for key in element)
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|https?:", text)
    [policy] = [
        element["content"] for element in page.all("meta") if element.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@pytest.mark.parametrize(("score", "headline"), ALL)
def test_labels_and_files_are_text_whatever_is_in_them(score: Any, headline: str, tmp_path: Path) -> None:
    page = page_of(report_of(score(), headline, shown=2), tmp_path)
    assert page.text.count(NASTY) >= 4  # the title, the class, two files
    assert not page.all("script")


def test_training_examples_are_on_the_page_if_they_were_changed(tmp_path: Path) -> None:
    report = report_of(detections(), "mAP_50")
    heading = "Training examples as the network got them"
    assert heading not in page_of(report, tmp_path).text
    sheet = embed_jpeg(Image.new("RGB", (40, 30), (200, 0, 0)))
    page = page_of(replace(report, augmented=sheet), tmp_path)
    assert heading in page.text
    assert [element["alt"] for element in page.all("img") if element["src"] == sheet] == [
        "Training examples with their boxes"
    ]


def test_headline_comes_first_with_its_interval(tmp_path: Path) -> None:
    report = report_of(detections(), "mAP_50")
    page = page_of(report, tmp_path)
    ends = report.intervals["mAP_50"]
    text = f"mAP_50{report.numbers['mAP_50']:.3f}{ends['low']:.3f} to {ends['high']:.3f}"
    assert page.text.index(text) < page.text.index("Worst examples" if "Worst" in page.text else "Curves")


HISTORY = [
    {"step": 10, "train/loss": 5.0, "train/loss_classes": 3.0, "train/loss_penalty": 1.0, "learning_rate": 0.1},
    {"step": 20, "train/loss": 3.0, "train/loss_penalty": 1.0},
    {"step": 20, "validation/loss": 3.0, "validation/mAP_50": 0.5},
    {"step": 40, "train/loss": 2.0, "train/loss_penalty": 1.0},
    {"step": 40, "validation/loss": 4.0, "validation/mAP_50": 0.25},
]


def parse_points(text: str | None) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in (text or "").split())]


def test_losses_of_training_and_validation_are_drawn_over_steps_without_penalties(tmp_path: Path) -> None:
    """40 steps take 384 pixels from 44 on, a loss of 4 takes 248 from 260 up."""
    page = page_of(replace(report_of(detections(), "mAP_50"), history=HISTORY), tmp_path)
    assert "Loss over steps" in page.text
    trained, judged = (parse_points(element["points"]) for element in page.all("polyline")[-2:])
    assert trained == [(140, 12), (236, 136), (428, 198)]  # 4, 2 and 1
    assert judged == [(236, 74), (428, 12)]  # 3 and 4


@pytest.mark.parametrize("history", [[], HISTORY[:2], HISTORY[2:3]])
def test_without_both_losses_none_is_drawn(history: list[dict[str, float]], tmp_path: Path) -> None:
    assert "Loss over" not in page_of(replace(report_of(detections(), "mAP_50"), history=history), tmp_path).text


def test_of_many_lines_means_are_drawn(tmp_path: Path) -> None:
    history = [{"step": step, "train/loss": 2.0 * (step % 2)} for step in range(1, 1201)]
    page = page_of(
        replace(report_of(detections(), "mAP_50"), history=[*history, {"step": 1200, "validation/loss": 4.0}]), tmp_path
    )
    trained = parse_points(page.all("polyline")[-2]["points"])
    assert len(trained) == 400 and {y for _, y in trained} == {177.3, 218.7}  # of threes: 4/3 and 2/3 of 4


def test_page_without_intervals_says_none(tmp_path: Path) -> None:
    page = page_of(replace(report_of(answers(), "accuracy"), intervals={}), tmp_path)
    assert "accuracy0.667" in page.text and " to " not in page.text and "95 % intervals" not in page.text


def test_class_without_truth_has_no_number_instead_of_a_zero(tmp_path: Path) -> None:
    page = page_of(report_of(detections(), "mAP_50"), tmp_path)
    classes = page.text[page.text.index("Classes") : page.text.index("Confusion matrix")]
    assert re.search(r"cow1nonenonenonenone", classes)


def test_boxes_stand_where_they_are_in_the_original_truth_left_and_model_right(tmp_path: Path) -> None:
    page = page_of(report_of(detections(), "mAP_50", shown=1), tmp_path)
    assert page.all("svg", viewbox="0 0 200 100")
    [matched], [missed] = page.all("rect", **{"class": "true"}), page.all("rect", **{"class": "missed"})
    assert (matched["x"], matched["y"], matched["width"], matched["height"]) == ("10", "10", "30", "50")
    assert (missed["x"], missed["y"]) == ("100", "70")
    # At the best threshold, 0.9, only the first detection of this image counts.
    assert len(page.all("rect", **{"class": "right"})) == 1 and not page.all("rect", **{"class": "wrong"})


def test_a_picture_is_in_the_page_once_and_small(tmp_path: Path) -> None:
    page = page_of(report_of(detections(), "mAP_50", shown=1, encoded=[jpeg(2000, 1000)]), tmp_path)
    [image], [use] = page.all("image"), page.all("use")
    assert use["href"] == f"#{image['id']}" and image["width"] == "2000"
    data = base64.b64decode(str(image["href"]).partition(",")[2])
    assert Image.open(io.BytesIO(data)).size == (320, 160)


def test_frames_of_a_clip_stand_in_a_row(tmp_path: Path) -> None:
    page = page_of(report_of(answers(), "accuracy", shown=1, encoded=[jpeg(64, 48)] * 4), tmp_path)
    [image] = page.all("image")
    assert (image["width"], image["height"]) == ("256", "48")
    assert page.all("figure", **{"class": "strip"})


def test_caption_says_what_was_given_and_what_it_is(tmp_path: Path) -> None:
    text = page_of(report_of(answers(), "accuracy", shown=2), tmp_path).text
    assert f"✓ truth {NASTY} · model {NASTY} 0.70{NASTY}/0.jpg" in text
    assert f"✗ truth {NASTY} · model bee 0.80" in text


def test_confusion_is_a_table_of_counts_with_what_is_no_class_last(tmp_path: Path) -> None:
    text = page_of(report_of(detections(), "mAP_50"), tmp_path).text
    table = text[text.index("true ↓ given") :]
    assert table.startswith(f"true ↓ given\N{NO-BREAK SPACE}→{NASTY}beecow(nothing){NASTY}1bee11cow")


def test_empty_evaluation_has_a_page_too(tmp_path: Path) -> None:
    for score in (DetectionScore(("a",)), ClassificationScore(("a",)), MultiLabelScore(("a",))):
        assert "All numbers" in page_of(report_of(score, "accuracy"), tmp_path).text


def test_many_classes_make_a_legend_that_can_be_read(tmp_path: Path) -> None:
    classes = tuple(f"class {number}" for number in range(40))
    score = DetectionScore(classes)
    for number in range(40):
        score = score.update(true((BOX, number + 1)), given((BOX, number + 1, 0.9)))
    page = page_of(report_of(score, "mAP_50"), tmp_path)
    assert "and 9 more" in page.text  # of twenty curves and the mean, twelve are named
    assert "true ↓ given →" not in page.text  # forty rows and columns are no help


def test_the_mistake_that_costs_most_is_named_with_its_cost_though_another_is_more_frequent(tmp_path: Path) -> None:
    """Of class a, one sure detection is on nothing, and two boxes of two are missed by a hair: by hand."""
    score = DetectionScore(("a",))
    score = score.update(true((BOX, 1)), given((FAR, 1, 0.95), (BOX, 1, 0.9)))  # precision 1/2 at its only recall
    score = score.update(true((FAR, 1)), given()).update(true((FAR, 1)), given())
    text = page_of(report_of(score, "mAP_50"), tmp_path).text
    before = 34 / 101 * 0.5  # recall 1/3 is reached: 34 of 101 recalls, at a precision of a half
    without_background = 34 / 101
    without_misses = 0.5  # one box is asked for, at a precision of a half
    assert max(without_background, without_misses) == without_misses
    cost = without_misses - before
    said = text.partition("costs most")[2][:250]
    without, now = f"{without_misses:.3f}", f"{before:.3f}"
    assert missing_in(said, "missed", "2 times", "67%", "mAP_50", without, now) == []
    assert f"missed Miss{cost:.3f}267 %" in text and "background Bkg0.168133 %" in text


def test_of_classifiers_the_costliest_mistake_is_named_by_its_share_of_the_errors(tmp_path: Path) -> None:
    probabilities = np.array([[0.1, 0.8, 0.1]] * 2 + [[0.2, 0.2, 0.6]] + [[0.9, 0.05, 0.05]] * 5)
    score = ClassificationScore(("a", "b", "c")).update(make_answers(np.array([1] * 8), probabilities))
    text = page_of(report_of(score, "accuracy"), tmp_path).text
    said = text.partition("costs most")[2][:250]
    assert missing_in(said, "a taken for b", "2 times", "67%", "accuracy", "0.875", "0.625") == []
    text = page_of(report_of(labels(), "mean_average_precision"), tmp_path).text
    # Of four decisions two are wrong: the first label is missed once, the second is given once wrongly.
    assert "50% of all errors" in text and "bee given wrongly0.250150 %" in text


def test_what_a_mistake_costs_is_explained_for_the_task(tmp_path: Path) -> None:
    accuracy = "how much higher the accuracy"
    explained = {detections: "how much higher mAP_50", answers: accuracy, labels: "of all decisions"}
    pages = {score: page_of(report_of(score(), headline), tmp_path).text for score, headline in ALL}
    told = {score: [words for words in explained.values() if words in text] for score, text in pages.items()}
    assert told == {score: [words] for score, words in explained.items()}


def test_the_most_frequent_mistake_is_named_too_if_it_is_another() -> None:
    rare = Mistake("wrong class", 1, 0.2, 0.1, "Cls", "well placed, wrongly named")
    frequent = Mistake("missed", 9, 0.1, 0.9)
    text = describe_costliest([rare, frequent], "mAP_50", 0.5)
    assert missing_in(text, "wrong class", "1 time,", "10%", "well placed, wrongly named") == []
    assert missing_in(text, "mAP_50", "0.700", "0.500", "missed", "9 times", "0.100") == []
    assert describe_costliest([], "mAP_50", 0.5) == ""


def test_a_picture_shows_the_ten_boxes_of_the_highest_scores_and_counts_all(tmp_path: Path) -> None:
    score = DetectionScore(("ant", "bee"))
    boxes = [([2.0 * at, 80.0, 2.0 * at + 9, 99.0], 2, 0.5 - at / 100) for at in range(30)]
    score = score.update(true((BOX, 1)), given((BOX, 1, 0.1), *boxes))  # the right one comes last
    page = page_of(report_of(score, "mAP_50", shown=1), tmp_path)
    assert len(page.all("rect", **{"class": "wrong"})) == 10 and not page.all("rect", **{"class": "right"})
    assert "1 of 1 found" in page.text and "30 background" in page.text
    assert "the 10 with the highest scores" in page.text


def test_a_model_of_which_nothing_is_right_shows_its_highest_scores(tmp_path: Path) -> None:
    boxes = [([2.0 * at, 80.0, 2.0 * at + 9, 99.0], 2, 0.5 - at / 100) for at in range(30)]
    score = DetectionScore(("ant", "bee")).update(true((BOX, 1)), given(*boxes))
    page = page_of(report_of(score, "mAP_50", shown=1), tmp_path)
    assert len(page.all("rect", **{"class": "unsure"})) == 10 and "none is right" in page.text


def test_of_labels_that_would_overlap_the_one_with_the_highest_score_is_written(tmp_path: Path) -> None:
    near = [10.0, 11.0, 60.0, 41.0]
    score = DetectionScore(("ant", "bee")).update(true((BOX, 1)), given((BOX, 1, 0.9), (near, 2, 0.95)))
    text = page_of(report_of(score, "mAP_50", shown=1), tmp_path).text
    assert "bee 0.95" in text and "ant 0.90" not in text


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (
            {"state": "STOPPED", "ended_by": "stop", "step": 40, "steps": 2000},
            "stopped after step 40 of 2,000",
        ),
        (
            {"state": "SUCCEEDED", "ended_by": "max_minutes", "step": 40, "steps": 90},
            "ended after step 40 of 90",
        ),
        ({"state": "SUCCEEDED", "ended_by": "early_stopping", "step": 40, "steps": 90}, ""),
        ({"state": "SUCCEEDED", "ended_by": "steps", "step": 90, "steps": 90}, ""),
        ({}, ""),
    ],
)
def test_a_run_that_was_cut_short_has_a_banner(state: dict[str, Any], text: str, tmp_path: Path) -> None:
    warning = warn_of_end(TrainedState.from_tree(state))
    assert text in warning and bool(text) == bool(warning)
    report = report_of(answers(), "accuracy")
    page = page_of(replace(report, about=replace(report.about, warning=warning)), tmp_path)
    assert bool(page.all("p", **{"class": "warning", "role": "note"})) == bool(text) and text in page.text


def test_facts_and_settings_are_on_the_page_and_a_copy_says_more(tmp_path: Path) -> None:
    report = report_of(answers(), "accuracy")
    about = ReportHeader("a", {"data": "digest 77ab"}, settings={"lr.peak": "0.003", "seed": NASTY})
    page = page_of(replace(report, about=about), tmp_path)
    assert "datadigest 77ab" in page.text and f"lr.peak0.003seed{NASTY}" in page.text
    copy = Page(add_facts((tmp_path / FILE).read_text(encoding="utf-8"), {"run": "3f9c", "commit": NASTY}))
    assert f"run3f9ccommit{NASTY}datadigest 77ab" in copy.text


@pytest.mark.parametrize(("score", "headline"), ALL)
def test_who_does_not_see_the_page_can_read_it(score: Any, headline: str, tmp_path: Path) -> None:
    page_of(report_of(score(), headline, shown=2), tmp_path)
    assert defects_of((tmp_path / FILE).read_text(encoding="utf-8")) == []


def test_pictures_say_what_is_in_them(tmp_path: Path) -> None:
    page = page_of(report_of(detections(), "mAP_50", shown=1), tmp_path)
    text = [element["aria-label"] for element in page.all("svg") if str(element.get("aria-label")).startswith(NASTY)]
    assert text == [f"{NASTY}/0.jpg, truth: {NASTY}, bee", f"{NASTY}/0.jpg, model: {NASTY}"]
