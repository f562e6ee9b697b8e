"""Workers of a training are of this machine, of TF_CONFIG or of Ray's nodes."""

import importlib.util

import pytest

from bakeoff.experiments.cluster.ray_training import gather_workers
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.learning.training.workers import WorkerAddress

GIVEN = WorkerAddress(0, ("10.0.0.1:2222", "10.0.0.2:2222"))


@pytest.mark.parametrize("on", [None, "", "ray"])
def test_one_worker_and_those_of_tf_config_need_no_cluster(on: str | None) -> None:
    with gather_workers(1, None, on) as place:
        assert place is None
    with gather_workers(2, GIVEN, on) as place:
        assert place == GIVEN


def test_workers_are_not_led_from_outside_of_the_cluster() -> None:
    message = r"--on ray://head:10001: .*\bHOST:PORT\b"
    with pytest.raises(ConfigError, match=message):
        with gather_workers(2, None, "ray://head:10001"):
            pass


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_error_says_how_to_install_it() -> None:
    with pytest.raises(WorkspaceError, match=r"run `pip install 'ray>="):
        with gather_workers(2, None, "ray"):
            pass
