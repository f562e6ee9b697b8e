"""Two evaluations' files -> a verdict, or why there is none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bakeoff.evaluation.examples_parquet import FILE, make_table, write_examples
from bakeoff.experiments.compare.comparison_verdict import ComparisonVerdict, judge, match_runs
from bakeoff.experiments.compare.examples import Judged, Score
from bakeoff.experiments.compare.run_row import Contender
from bakeoff.foundation.errors import BakeoffError
from bakeoff.learning.metrics.box_matching import Boxes
from bakeoff.learning.metrics.classification import ClassificationScore, make_answers
from bakeoff.learning.metrics.detection import DetectionScore, Loss
from bakeoff.learning.metrics.multi_label import MultiLabelScore

CLASSES = ("cat", "dog", "owl")
A = Contender("aaaaaaaa11", "ssd · cosine", "SUCCEEDED", {}, {})
B = Contender("bbbbbbbb22", "ssd · constant", "SUCCEEDED", {}, {})
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(
        name: str, score: Score, kind: str, files: Sequence[str] | None = None, classes: Sequence[str] = CLASSES
    ):
        (tmp_path / name).mkdir()
        numbers = range(len(score.worst_first()))
        names = files or [f"{number}.jpg" for number in numbers]
        write_examples(tmp_path / name, make_table(score.columns(), numbers, names, kind, classes))
        return tmp_path / name / FILE

    return written


def one_label(seed: int, examples: int = 30) -> ClassificationScore:
    draw = np.random.default_rng(seed)
    truth = np.arange(examples) % 2 + 1  # no owl
    return ClassificationScore(CLASSES).update(make_answers(truth, draw.dirichlet(np.ones(3), examples).round(2)))


def several_labels(seed: int, examples: int = 30) -> MultiLabelScore:
    draw, truth = np.random.default_rng(seed), np.random.default_rng(0).random((examples, 3)) < 0.4
    return MultiLabelScore(CLASSES).update(truth, draw.random((examples, 3)).round(1))


def boxes(seed: int, images: int = 30) -> DetectionScore:
    """Many equal scores, so that their order would show."""
    draw, score = np.random.default_rng(seed), DetectionScore(CLASSES)
    for number in range(images):
        truth = Boxes(np.array([[5.0, 5, 25, 30], [40, 40, 60, 70]])[: number % 3], np.array([1, 2])[: number % 3])
        corners = np.concatenate([truth.corners + draw.normal(0, 2, truth.corners.shape), [[1, 1, 9, 9]]])
        predictions = Boxes(corners, draw.integers(1, 4, len(corners)), draw.integers(1, 5, len(corners)) / 8)
        score = score.update(truth, predictions, Loss(*draw.random(3)))
    return score


def judged(a: Path, b: Path, one: Contender = A, other: Contender = B, **options) -> ComparisonVerdict:
    group = options.pop("group", None)
    matched = match_runs(one, other, (a, b), group)
    return judge(one, other, matched, **({"metric": None, "samples": 200} | options))


@pytest.mark.parametrize(
    ("score", "kind"), [(one_label(1), "one label"), (several_labels(1), "several labels"), (boxes(1), "boxes")]
)
def test_a_file_gives_the_score_back_that_wrote_it(score: Score, kind: str, write: Write) -> None:
    read = Judged.read(write("a", score, kind))
    assert (read.kind, read.classes) == (kind, CLASSES)
    again = read.score(list(read.rows), read.classes)
    assert again.result() == score.result()
    names = [str(number) for number in range(30)]
    assert again.intervals(names, 100) == score.intervals(names, 100)


@pytest.mark.parametrize(("make", "kind", "metric"), [
    (one_label, "one label", "accuracy"), (several_labels, "several labels", "mean_average_precision"),
    (boxes, "boxes", "mAP_50"),
])  # fmt: skip
def test_each_task_is_judged_by_its_own_metric(
    make: Callable[[int], Score], kind: str, metric: str, write: Write
) -> None:
    one, other = make(1), make(2)
    verdict = judged(write("a", one, kind), write("b", other, kind))
    assert verdict.metric == metric
    assert (verdict.difference.a, verdict.difference.b) == pytest.approx((one.result()[metric], other.result()[metric]))
    assert verdict.tree["numbers"][metric]["difference"] == pytest.approx(verdict.difference.b - verdict.difference.a)


def test_the_order_of_the_examples_does_not_matter(write: Write) -> None:
    score = one_label(1)
    turned = ClassificationScore(CLASSES, score.answers[::-1])
    files = [f"{number}.jpg" for number in range(30)]
    verdict = judged(write("a", score, "one label", files), write("b", turned, "one label", files[::-1]))
    assert verdict.difference.value == 0 and verdict.difference.better is None


def test_files_of_one_name_are_told_apart_by_their_order(write: Write) -> None:
    files = [f"{number // 2}.jpg" for number in range(30)]
    verdict = judged(write("a", one_label(1), "one label", files), write("b", one_label(1), "one label", files))
    assert (verdict.differences.examples, verdict.differences.groups, verdict.difference.value) == (30, 15, 0)


def test_a_class_with_few_examples_is_named_and_not_judged(write: Write) -> None:
    truth = np.array([1] * 25 + [3] * 5)
    draw = np.random.default_rng(0)
    a, b = (ClassificationScore(CLASSES).update(make_answers(truth, draw.dirichlet(np.ones(3), 30))) for _ in "ab")
    verdict = judged(write("a", a, "one label"), write("b", b, "one label"))
    assert list(verdict.by_class) == ["cat"] and verdict.too_few == ("owl",)


def test_groups_are_those_that_both_were_evaluated_with(write: Write) -> None:
    files = [f"match{number // 2}_{number}.png" for number in range(30)]
    a, b = (write(name, one_label(seed), "one label", files) for name, seed in (("a", 1), ("b", 2)))
    grouped = {"evaluate.group": "^(.+)_"}
    assert judged(a, b).differences.groups == 30
    assert judged(a, b, replace(A, params=grouped), replace(B, params=grouped)).differences.groups == 15
    assert judged(a, b, group="^(.+)_").differences.groups == 15
    message = r"evaluate\.group: .*'\^\(.\+\)_' of aaaa.* None of bbbb.*--group"
    with pytest.raises(BakeoffError, match=message):
        judged(a, b, replace(A, params=grouped))
    with pytest.raises(BakeoffError, match=r"--group: .*\(group\).*'\['"):
        judged(a, b, group="[")
    with pytest.raises(BakeoffError, match=r"\b10 groups\b.*\b1$"):
        judged(a, b, group="^(match)")


def test_other_examples_are_refused_with_what_differs(write: Write) -> None:
    a = write("a", one_label(1, 12), "one label")
    b = write("b", one_label(1, 12), "one label", [f"{number}.jpg" for number in (*range(2, 12), 90, 91)])
    other = ClassificationScore(CLASSES, tuple(replace(one, truth=3) for one in one_label(1, 12).answers))
    c = write("c", other, "one label")
    only = r"\b2 only in A \(0\.jpg, 1\.jpg\), 2 only in B \(90\.jpg, 91\.jpg\).*\b10\b"
    with pytest.raises(BakeoffError, match=only):
        judged(a, b)
    with pytest.raises(BakeoffError, match=r"\b12 with another truth \(0\.jpg, 1\.jpg, 2\.jpg, …\).*\b0\b"):
        judged(a, c)


def test_a_box_that_moved_is_another_truth_and_one_that_was_rounded_is_not(write: Write) -> None:
    score = boxes(1)
    nearly, moved = (
        replace(score, truth=tuple(Boxes(one.corners + by, one.classes) for one in score.truth)) for by in (1e-5, 1.0)
    )
    a = write("a", score, "boxes")
    assert judged(a, write("b", nearly, "boxes")).differences.examples == 30
    with pytest.raises(BakeoffError, match="20 with another truth"):
        judged(a, write("c", moved, "boxes"))


def test_runs_of_two_tasks_are_refused(write: Write) -> None:
    with pytest.raises(BakeoffError, match="one task.*boxes.*one label"):
        judged(write("a", boxes(1), "boxes"), write("b", one_label(1), "one label"))


def test_a_metric_that_examples_do_not_give_is_named_with_the_nearest(write: Write) -> None:
    a = write("a", one_label(1), "one label")
    with pytest.raises(BakeoffError, match="--metric: .*'acuracy'.*'acc"):
        judged(a, a, metric="acuracy")
    assert judged(a, a, metric="loss").metric == "loss"


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "examples.parquet").write_text("no table")
    with pytest.raises(BakeoffError, match=r"examples\.parquet: .*an evaluation"):
        Judged.read(tmp_path / "examples.parquet")
