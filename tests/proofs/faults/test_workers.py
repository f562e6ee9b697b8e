"""Two workers of one training: equal weights, run after run and after kills. Minutes."""

import random
import signal
import sys
from pathlib import Path

import pytest

from proofs.faults.workers import anew, first_loss, rendered, trained, trained_until, trained_with_kills

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals"),
]


@pytest.mark.parametrize("eight_bits", [False, True])
def test_two_workers_train_as_one_and_go_on_after_any_of_them_is_killed(eight_bits: bool, tmp_path: Path) -> None:
    assert first_loss(tmp_path, 2) == pytest.approx(first_loss(tmp_path, 1), rel=1e-5)
    workspace = rendered(tmp_path / "two", 2, steps=60, eight_bits=eight_bits)
    digest, lines = trained(workspace)
    anew(workspace)
    new_digest, again, ranks = trained_with_kills(workspace, 2, random.Random(3))
    assert (new_digest, again, len(ranks)) == (digest, lines, 2)


def test_a_signal_to_the_worker_that_leads_ends_all_with_what_is_saved(tmp_path: Path) -> None:
    """TensorFlow takes SIGTERM for itself when it joins workers, unless it is taken back."""
    workspace = rendered(tmp_path / "two", 2, steps=60)
    digest, lines = trained(workspace)
    anew(workspace)
    for number in (signal.SIGTERM, signal.SIGUSR2):
        assert trained_until(workspace, number, 5) == 75
    assert trained(workspace) == (digest, lines)
    assert len(workspace.state()["resumed_at_steps"]) == 2
