"""`--on` refuses, before anything is read, a place that there is not, and an engine that is not installed."""

import importlib.util
import shutil

import pytest

from bakeoff.app.cli import backend_option
from bakeoff.app.cli.backend_option import choose_launcher, place_at, require_place
from bakeoff.experiments.sweep.backend import ThisMachine
from bakeoff.foundation.errors import BakeoffError
from support.messages import missing_in


@pytest.mark.parametrize(
    ("on", "parts"),
    [
        ("mars", ("--on: ", "local, ray, ray://HOST:PORT or slurm", "'mars'")),
        ("ray://nowhere", ("--on: ", "ray://HOST:PORT", "'ray://nowhere'")),
        ("ray", ("--on: ", "Ray", "`pip install 'bakeoff[ray]'`")),
        ("slurm", ("--on slurm: ", "`pip install hydra-submitit-launcher`")),
    ],
)
def test_a_place_that_cannot_be_used_is_refused(
    on: str, parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BakeoffError) as error:
        require_place(on)
    assert missing_in(str(error.value), *parts) == []


def test_slurm_needs_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_option.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BakeoffError, match="--on slurm: .*`sbatch`"):
        require_place("slurm")


def test_slurm_takes_all_points_at_once() -> None:
    with pytest.raises(BakeoffError, match="--on slurm: .*--search"):
        require_place("slurm", is_search=True)
    with pytest.raises(BakeoffError, match="--on slurm: .*`bakeoff queue start`"):
        require_place("slurm", is_queue=True)


def test_slurm_is_a_launcher_of_hydras() -> None:
    assert choose_launcher("slurm", ("seed=1,2",)) == ("hydra/launcher=submitit_slurm",)
    assert choose_launcher("slurm", ("hydra/launcher=submitit_slurm",)) == choose_launcher("ray", ()) == ()
    with pytest.raises(BakeoffError, match="--on slurm: .*hydra/launcher=joblib"):
        choose_launcher("slurm", ("hydra/launcher=joblib",))


def test_without_a_word_jobs_run_here() -> None:
    with place_at(None) as place:
        assert isinstance(place, ThisMachine)
