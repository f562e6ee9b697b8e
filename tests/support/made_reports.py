"""Evaluations of a few made answers, as pages show them."""

import io
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.evaluation.evaluation_report import EvaluationReport
from bakeoff.evaluation.gallery import Shown
from bakeoff.evaluation.header import ReportHeader
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.detection import DetectionScore
from bakeoff.learning.metrics.multi_label import MultiLabelScore
from support.coco_sets import given, true
from support.score_rows import rows_of

NASTY = "<script>alert('1')</script> & \"ü\""
BOX, FAR = [10.0, 10.0, 60.0, 40.0], [70.0, 100.0, 90.0, 190.0]


def jpeg(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (90, 120, 30)).save(buffer, "JPEG")
    return buffer.getvalue()


def report_of(score: Any, headline: str, shown: int = 0, encoded: list[bytes] | None = None) -> EvaluationReport:
    rows = [row | {"file": f"{NASTY}/{row['example']}.jpg"} for row in rows_of(score)]
    groups = [str(number) for number in range(len(rows))]
    return EvaluationReport(
        ReportHeader(f"run {NASTY}", {"task": "test"}), headline, score.result(), score.intervals(groups, 100),
        "some examples", score.plots(), dict.fromkeys(score.classes, 1),
        worst=[Shown(row, encoded or [jpeg(200, 100)]) for row in rows[:shown]],
    )  # fmt: skip


def detections() -> DetectionScore:
    score = DetectionScore((NASTY, "bee", "cow"))
    score = score.update(true((BOX, 1), (FAR, 2)), given((BOX, 1, 0.9), (FAR, 1, 0.8), (BOX, 1, 0.7)))
    return score.update(true((BOX, 2)), given((BOX, 2, 0.95)))


def answers() -> ClassificationScore:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    return ClassificationScore((NASTY, "bee", "cow")).update(make_answers(np.array([1, 1, 3]), probabilities))


def labels() -> MultiLabelScore:
    return MultiLabelScore((NASTY, "bee")).update([[True, False], [True, True]], [[0.9, 0.6], [0.2, 0.8]])
