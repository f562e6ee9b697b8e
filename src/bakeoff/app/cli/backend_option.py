"""`--on`: where the jobs of a sweep run. Here, on a Ray cluster, or on Slurm through Hydra's launcher for it."""

import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bakeoff.foundation.errors import ConfigError, WorkspaceError

if TYPE_CHECKING:
    from bakeoff.experiments.sweep.backend import Backend

HERE = (None, "local")
SLURM = "slurm"
LAUNCHER = "hydra/launcher="
SUBMITIT = "submitit_slurm"
PLUGIN = "hydra_plugins.hydra_submitit_launcher"


def require_place(on: str | None, *, is_search: bool = False, is_queue: bool = False) -> None:
    """Refuse a place that there is not, or whose engine is not installed. It is not asked yet."""
    from bakeoff.experiments.cluster.ray_connection import is_ray, require_ray

    if on in HERE:
        return
    if on == SLURM:
        if is_search or is_queue:
            what = "--search" if is_search else "`bakeoff queue start`"
            raise WorkspaceError(
                f"--on slurm: cannot be used with {what}, for its launcher takes all configurations at once; "
                "run the command itself as a job of Slurm's, as docs/slurm.md says, or on a Ray cluster"
            )
        _require_slurm()
    elif on is not None and is_ray(on):
        require_ray(on)
    else:
        raise ConfigError(f"--on: must be local, ray, ray://HOST:PORT or slurm, got {on!r}")


def _require_slurm() -> None:
    try:
        is_installed = importlib.util.find_spec(PLUGIN) is not None
    except ModuleNotFoundError:
        is_installed = False
    if not is_installed:
        raise WorkspaceError("--on slurm: its launcher is not installed; run `pip install hydra-submitit-launcher`")
    if shutil.which("sbatch") is None:
        raise WorkspaceError("--on slurm: must be used where `sbatch` is, such as a login node of the cluster")


def choose_launcher(on: str | None, overrides: Sequence[str]) -> tuple[str, ...]:
    """Return the override by which Hydra runs the jobs there, unless the user chose it already."""
    if on != SLURM:
        return ()
    chosen = [override for override in overrides if override.startswith(LAUNCHER)]
    if any(override != LAUNCHER + SUBMITIT for override in chosen):
        raise ConfigError(f"--on slurm: must stand without {chosen[0]}, for it is {LAUNCHER}{SUBMITIT}")
    return () if chosen else (LAUNCHER + SUBMITIT,)


@contextmanager
def place_at(on: str | None) -> Iterator["Backend"]:
    """Give the place where jobs run, connected as long as the block runs."""
    from bakeoff.experiments.sweep.backend import ThisMachine

    if on in HERE:
        yield ThisMachine()
        return
    require_place(on)
    if on == SLURM:
        raise ConfigError(f"hydra.launcher.on: must be local, ray or ray://HOST:PORT; {LAUNCHER}{SUBMITIT} is Slurm's")
    from bakeoff.experiments.cluster.ray_backend import ray_place

    with ray_place(str(on)) as place:
        yield place
