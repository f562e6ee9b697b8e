"""`--on`: where the jobs of a sweep run. Here, on a Ray cluster, or on Slurm."""

import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from bakeoff.foundation.errors import ConfigError, WorkspaceError

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.backend import Backend

HERE = (None, "local")
SLURM = "slurm"
LAUNCHER, SETTING = "hydra/launcher", "hydra.launcher."
SUBMITIT = "submitit_slurm"  # Hydra's launcher for Slurm, which is no other one


def require_place(on: str | None) -> None:
    """Refuse a place that there is not, or whose engine is not installed. It is not asked yet."""
    from bakeoff.experiments.cluster.ray_connection import is_ray, require_ray

    if on in HERE:
        return
    if on == SLURM:
        if importlib.util.find_spec("submitit") is None:
            raise WorkspaceError("--on slurm: submitit is not installed; run `pip install 'submitit>=1.5'`")
        if shutil.which("sbatch") is None:
            raise WorkspaceError("--on slurm: must be used where `sbatch` is, such as a login node of the cluster")
    elif on is not None and is_ray(on):
        require_ray(on)
    else:
        raise ConfigError(f"--on: must be local, ray, ray://HOST:PORT or slurm, got {on!r}")


def without_slurm(on: str | None, overrides: Sequence[str]) -> tuple[str, ...]:
    """Return the overrides without those that say how jobs run on Slurm. All are for Hydra if jobs run elsewhere."""
    from bakeoff.config.compose.overrides import parse_overrides

    if on != SLURM:
        return tuple(overrides)
    keys = [override.key_or_group for override in parse_overrides(overrides)]
    for key, text in zip(keys, overrides, strict=True):
        if key == LAUNCHER and not text.endswith(f"={SUBMITIT}"):
            raise ConfigError(f"--on slurm: must stand without {text}, for Slurm starts the jobs")
    pairs = zip(keys, overrides, strict=True)
    return tuple(text for key, text in pairs if key != LAUNCHER and not key.startswith(SETTING))


def _read_settings(overrides: Sequence[str]) -> dict[str, Any]:
    """Return submitit's settings in overrides such as hydra.launcher.partition=gpu."""
    from bakeoff.config.compose.overrides import parse_overrides
    from bakeoff.experiments.sweep.launcher_settings import Settings

    own = {SETTING + field.name for field in fields(Settings)}
    parsed = (override for override in parse_overrides(overrides) if override.key_or_group.startswith(SETTING))
    return {
        override.key_or_group.removeprefix(SETTING): override.value()
        for override in parsed
        if override.key_or_group not in own
    }


@contextmanager
def place_at(on: str | None, overrides: Sequence[str] = ()) -> Iterator["Backend"]:
    """Give the place where jobs run, connected as long as the block runs. `overrides` are those of the sweep."""
    if on in HERE:
        from bakeoff.experiments.sweep.backend import LocalBackend

        yield LocalBackend()
        return
    require_place(on)
    if on == SLURM:
        from bakeoff.experiments.cluster.slurm_backend import SlurmBackend

        yield SlurmBackend(_read_settings(overrides))
        return
    from bakeoff.experiments.cluster.ray_backend import ray_place

    with ray_place(str(on)) as place:
        yield place
