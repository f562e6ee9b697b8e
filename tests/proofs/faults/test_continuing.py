"""A machine that is lost but for MLflow's server: another one ends in the same weights. Minutes each."""

import os
import random
import sys
from pathlib import Path

import pytest

from proofs.faults.continuing import lost_again_and_again, lost_and_gone_on
from proofs.faults.s3_store import Bucket

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]
KILLS = int(os.environ.get("BAKEOFF_KILLS", "3"))


def test_a_run_goes_on_from_nothing_but_mlflow_and_ends_in_the_same_weights(tmp_path: Path) -> None:
    assert lost_and_gone_on(tmp_path, KILLS, random.Random(0)) == []


def test_a_run_that_is_lost_ten_times_ends_in_the_same_weights(tmp_path: Path) -> None:
    assert lost_again_and_again(tmp_path, 10, random.Random(0)) == []


def test_a_run_goes_on_from_large_checkpoints_in_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket()
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    bucket.start()
    try:
        assert lost_and_gone_on(tmp_path, 2, random.Random(0), bucket=bucket) == []
    finally:
        bucket.kill()
