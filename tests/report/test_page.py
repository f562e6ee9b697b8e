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

from bakeoff.metrics.classification import ClassificationScore, answers_of
from bakeoff.metrics.detection import DetectionScore
from bakeoff.metrics.multi_label import MultiLabelScore
from bakeoff.report.about import About
from bakeoff.report.gallery import Shown
from bakeoff.report.page import FILE, Report, write_page
from coco_sets import given, true
from score_rows import rows_of

NASTY = "<script>alert('1')</script> & \"ü\""
BOX, FAR = [10.0, 10.0, 60.0, 40.0], [70.0, 100.0, 90.0, 190.0]


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
        return [found for name, found in self.tags if name == tag and having.items() <= found.items()]


def jpeg(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (90, 120, 30)).save(buffer, "JPEG")
    return buffer.getvalue()


def report_of(score: Any, headline: str, shown: int = 0, encoded: list[bytes] | None = None) -> Report:
    rows = [row | {"file": f"{NASTY}/{row['example']}.jpg"} for row in rows_of(score)]
    groups = [str(number) for number in range(len(rows))]
    return Report(
        About(f"run {NASTY}", {"task": "test"}), headline, score.result(), score.intervals(groups, 100), "some examples",
        score.plots(), dict.fromkeys(score.classes, 1),
        worst=[Shown(row, encoded or [jpeg(200, 100)]) for row in rows[:shown]],
    )  # fmt: skip


def detections() -> DetectionScore:
    score = DetectionScore((NASTY, "bee", "cow"))
    score = score.update(true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9), (FAR, 1, 0.8), (BOX, 1, 0.7)))
    return score.update(true((BOX, 2)), given((BOX, 2, 0.95)))


def answers() -> ClassificationScore:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    return ClassificationScore((NASTY, "bee", "cow")).update(answers_of(np.array([1, 1, 3]), probabilities))


def labels() -> MultiLabelScore:
    return MultiLabelScore((NASTY, "bee")).update([[True, False], [True, True]], [[0.9, 0.6], [0.2, 0.8]])


ALL = [(detections, "mAP_50"), (answers, "accuracy"), (labels, "mean_average_precision")]


def page_of(report: Report, folder: Path) -> Page:
    write_page(folder, report)
    return Page((folder / FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("score", "headline"), ALL)
def test_page_needs_nothing_from_anywhere_and_runs_nothing(score: Any, headline: str, tmp_path: Path) -> None:
    page = page_of(report_of(score(), headline, shown=2), tmp_path)
    assert not page.all("script") and not page.all("link") and not page.all("iframe")
    addresses = [value for _, found in page.tags for key, value in found.items() if key in ("src", "href", "srcset")]
    assert addresses and all(str(value).startswith(("data:image/jpeg;base64,", "#")) for value in addresses)
    assert not any(key.startswith("on") for _, found in page.tags for key in found)
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import|https?:", text)
    [policy] = [found["content"] for found in page.all("meta") if found.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@pytest.mark.parametrize(("score", "headline"), ALL)
def test_labels_and_files_are_words_whatever_is_in_them(score: Any, headline: str, tmp_path: Path) -> None:
    page = page_of(report_of(score(), headline, shown=2), tmp_path)
    assert page.text.count(NASTY) >= 4  # the title, the class, two files
    assert not page.all("script")


def test_headline_comes_first_with_its_interval(tmp_path: Path) -> None:
    report = report_of(detections(), "mAP_50")
    page = page_of(report, tmp_path)
    ends = report.intervals["mAP_50"]
    said = f"mAP_50{report.numbers['mAP_50']:.3f}{ends['low']:.3f} to {ends['high']:.3f}"
    assert page.text.index(said) < page.text.index("Worst examples" if "Worst" in page.text else "Curves")


def test_page_without_intervals_says_none(tmp_path: Path) -> None:
    page = page_of(replace(report_of(answers(), "accuracy"), intervals={}), tmp_path)
    assert "accuracy0.667" in page.text and " to " not in page.text and "95 % intervals" not in page.text


def test_class_without_truth_has_no_number_instead_of_a_zero(tmp_path: Path) -> None:
    page = page_of(report_of(detections(), "mAP_50"), tmp_path)
    classes = page.text[page.text.index("Classes") : page.text.index("What was taken for what")]
    assert re.search(r"cow1nonenonenonenone", classes)


def test_boxes_stand_where_they_are_in_the_original_truth_left_and_model_right(tmp_path: Path) -> None:
    page = page_of(report_of(detections(), "mAP_50", shown=1), tmp_path)
    assert page.all("svg", viewbox="0 0 200 100")
    [found], [missed] = page.all("rect", **{"class": "true"}), page.all("rect", **{"class": "missed"})
    assert (found["x"], found["y"], found["width"], found["height"]) == ("10", "10", "30", "50")
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
    assert f"✓ {NASTY} 0.70{NASTY}/0.jpg" in text and f"✗ bee 0.80, is {NASTY}" in text


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
