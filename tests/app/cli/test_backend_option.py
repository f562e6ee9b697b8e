"""`--on` refuses, before anything is read, a place that there is not, and an engine that is not installed."""

import importlib.util
import shutil

import pytest

from bakeoff.app.cli import backend_option
from bakeoff.app.cli.backend_option import _read_settings, place_at, require_place, without_slurm
from bakeoff.experiments.sweep.backend import LocalBackend
from bakeoff.foundation.errors import BakeoffError
from support.messages import missing_in


@pytest.mark.parametrize(
    ("on", "parts"),
    [
        ("mars", ("--on: ", "local, ray, ray://HOST:PORT or slurm", "'mars'")),
        ("ray://nowhere", ("--on: ", "ray://HOST:PORT", "'ray://nowhere'")),
        ("ray", ("--on: ", "Ray", "`pip install 'ray>=2.60'`")),
        ("slurm", ("--on slurm: ", "`pip install 'submitit>=1.5'`")),
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


def test_settings_of_slurm_are_kept_from_hydra_which_knows_none_of_them() -> None:
    overrides = ("seed=1,2", "hydra.launcher.partition=gpu", "+hydra.launcher.timeout_min=600", "hydra/sweeper=basic")
    assert without_slurm("slurm", overrides) == ("seed=1,2", "hydra/sweeper=basic")
    assert without_slurm("slurm", ("hydra/launcher=submitit_slurm",)) == ()
    assert without_slurm("ray", overrides) == overrides
    own = (*overrides, "hydra.launcher.on=slurm", "hydra.launcher.setup=[a,b]")
    assert _read_settings(own) == {"partition": "gpu", "timeout_min": 600, "setup": ["a", "b"]}
    with pytest.raises(BakeoffError, match="--on slurm: .*hydra/launcher=joblib"):
        without_slurm("slurm", ("hydra/launcher=joblib",))


def test_without_a_word_jobs_run_here() -> None:
    with place_at(None) as place:
        assert isinstance(place, LocalBackend)
