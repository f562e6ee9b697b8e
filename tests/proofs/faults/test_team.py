"""A team's server is lost and restored, and each of its parts fails: what its users find and read. Ten minutes."""

import re
from pathlib import Path

import pytest

from proofs.faults.postgresql import why_not
from proofs.faults.team import lose_and_restore
from proofs.faults.team_refusals import messages
from support.messages import missing_in

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


def test_runs_checkpoints_and_records_are_there_again_after_a_restore(tmp_path: Path) -> None:
    assert lose_and_restore(tmp_path) == []


def test_what_fails_is_said_in_one_line_for_a_run_and_all_is_sent_later(tmp_path: Path) -> None:
    outputs = messages(tmp_path)
    whole, _ = outputs.pop("whole")
    reasons = {
        "wrong_password": ("$MLFLOW_TRACKING_USERNAME", "$MLFLOW_TRACKING_PASSWORD"),
        "keys_that_only_read": ("error 500", "log"),
        "full": ("error 500", "log"),
        "s3_down": ("error 500", "log"),
        "database_down": ("error 503", "log"),
    }
    for name, (printed, _) in outputs.items():
        *runs, count = printed.removeprefix("1: ").strip().splitlines()
        assert runs and all(missing_in(line, ": not sent to ", *reasons[name]) == [] for line in runs)
        known, whole_now = map(int, re.fullmatch(r"(\d+) runs, (\d+) sent whole", count).groups())
        # An earlier run may have had its files there already, and lack nothing but to be looked at.
        assert known - whole_now == len(runs) and any(line.startswith(f"{name}: ") for line in runs)
    assert whole == "0: 6 runs, 6 sent whole\n"
    assert "Access Denied" in outputs["keys_that_only_read"][1] and "internal error" in outputs["full"][1]
    assert "Could not connect to the endpoint" in outputs["s3_down"][1]
