import numpy as np
import pytest

from bakeoff.export.accuracy_report import latency, require_parity
from bakeoff.foundation.errors import DataError
from bakeoff.learning.tasks.tiled import stack_predictions
from bakeoff.stages.export import metrics


def detections(count: int) -> dict[str, np.ndarray]:
    return {
        "boxes": np.full((count, 4), 0.5, np.float32),
        "scores": np.linspace(0.9, 0.5, count, dtype=np.float32),
        "classes": np.arange(1, count + 1),
    }


def test_images_with_other_numbers_of_detections_are_one_batch() -> None:
    batch = {
        name: value.numpy() for name, value in stack_predictions([detections(1), detections(3), detections(0)]).items()
    }
    assert batch["count"].tolist() == [1, 3, 0]
    assert batch["boxes"].shape == (3, 3, 4)
    assert batch["classes"].tolist() == [[1, 0, 0], [1, 2, 3], [0, 0, 0]]


def report(**drops: float | None) -> dict:
    files = {form: {"accuracy": None if drop is None else 0.9 - drop, "drop": drop} for form, drop in drops.items()}
    return {"headline": "accuracy", "examples": 200, "files": files}


def test_a_file_that_loses_too_much_is_refused_by_name() -> None:
    printed = (
        r"^export\.max_drop:\D+0\.05\D+200\D+int8 has accuracy 0\.600, 0\.300\D+export\.formats\b.*export\.max_drop"
    )
    with pytest.raises(DataError, match=printed + "; .*export.ranges: means$"):
        require_parity(report(float32=0.0, int8=0.3), 0.05)
    with pytest.raises(DataError, match=printed + "$"):
        require_parity(report(float32=0.0, int8=0.3), 0.05, "means")


def test_what_lost_no_more_than_allowed_passes_also_where_nothing_could_be_counted() -> None:
    require_parity(report(float32=-0.01, dynamic=0.05, int8=None), 0.05)
    with pytest.raises(DataError, match="dynamic has accuracy 0.850"):
        require_parity(report(float32=-0.01, dynamic=0.05, int8=None), 0.0499)


def test_a_slow_call_does_not_move_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three calls warm up; then the clock says 2, 2, 100, 2, 2 ms."""
    taken = iter([0.002, 0.002, 0.1, 0.002, 0.002])
    now, called = [0.0], []

    def call() -> None:
        called.append(1)
        now[0] += next(taken) if len(called) > 3 else 5.0

    monkeypatch.setattr("bakeoff.export.accuracy_report.time.perf_counter", lambda: now[0])
    assert latency(call, 5) == (pytest.approx(2.0), 5)


def test_a_very_slow_network_is_timed_fewer_times(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def call() -> None:
        now[0] += 6.0

    monkeypatch.setattr("bakeoff.export.accuracy_report.time.perf_counter", lambda: now[0])
    assert latency(call, 50) == (pytest.approx(6000.0), 1)


def test_what_dvc_has_columns_for_leaves_out_what_could_not_be_counted() -> None:
    measured = {"file": "model.tflite", "bytes": 9, "latency_ms": 1.5, "calls": 20, "top_5": 1.0}
    files = {"int8": {"accuracy": 0.75, "drop": 0.25} | measured, "float32": {"drop": None} | measured}
    assert metrics({"headline": "accuracy", "files": files}) == {
        "int8": {"accuracy": 0.75, "drop": 0.25, "bytes": 9},
        "float32": {"bytes": 9},
    }
