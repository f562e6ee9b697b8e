"""The result of a far job whose node is gone: it is fetched again until it is here, or nothing is there."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.experiments.cluster import fetch_results, ray_job
from bakeoff.experiments.cluster.fetch_results import FAILED, NOTHING, FetchOrder
from bakeoff.experiments.cluster.ray_job import NODE_LOST, RayJob
from bakeoff.experiments.sweep.job import JobFiles


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def ended(executor: ThreadPoolExecutor, folder: Path, *codes: int) -> tuple[RayJob, int | None]:
    """Return a job without an actor whose fetches end so, once it is over, and its exit code."""
    order: Any = SimpleNamespace(run=iter(codes).__next__)
    job = RayJob(None, None, JobFiles(folder, 1), executor, order)
    while not job.is_over():
        time.sleep(0.01)
    return job, JobFiles(folder, 1).exit_code()


def test_a_fetch_that_fails_is_tried_again(executor: ThreadPoolExecutor, tmp_path: Path) -> None:
    job, code = ended(executor, tmp_path, FAILED, FAILED, 0)
    assert (job.lost, code) == (None, 0)


def test_a_job_without_a_result_is_lost_with_its_node(executor: ThreadPoolExecutor, tmp_path: Path) -> None:
    job, code = ended(executor, tmp_path, NOTHING)
    assert (job.lost, code) == (NODE_LOST, None)


def test_what_fails_too_long_has_failed(
    executor: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_job, "SECONDS_TO_FETCH", -1.0)
    job, code = ended(executor, tmp_path, FAILED, 0)
    assert (job.lost, code) == (NODE_LOST, None)


def test_an_order_that_cannot_be_obeyed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_results, "SECONDS_BETWEEN_TRIES", 0.0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "dvc.yaml").touch()
    assert FetchOrder(str(tmp_path / "sweep-1"), 1, 1, "r", str(tmp_path / "log")).run() == FAILED
    assert "sweep-1: manifest.json" in (tmp_path / "log").read_text()
