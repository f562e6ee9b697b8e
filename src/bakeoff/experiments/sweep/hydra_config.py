"""params.yaml + conf/ -> the primary configuration of the multirun, as Hydra's users know one.

Its defaults list has the options that params.yaml chooses, its body the values that params.yaml changes:

    defaults: [model: ???, lr: ???, experiment: demo, override lr: cosine, override hydra/launcher: dvc, _self_]
    lr: {peak: 0.1}
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from bakeoff.config.compose.hydra_versions import REPLACE
from bakeoff.config.compose.option_lookup import EXPERIMENT, MISSING, PRESET
from bakeoff.config.compose.overrides import USE
from bakeoff.config.compose.variant import KINDS
from bakeoff.learning.run_file.yaml_file import read_mapping

NAME = "params"
SWEEP = "sweep"  # the key under which a job finds its sweep and its number
GRID = "dvc"  # the sweeper in place of Hydra's basic one
OTHER_LAUNCHER = re.compile(r"hydra/launcher=(?!dvc$)")
HYDRA_SETTINGS = {
    "output_subdir": None,
    "run": {"dir": ".bakeoff/hydra/${now:%Y-%m-%d_%H-%M-%S}"},
    "sweep": {"dir": ".bakeoff/hydra/${now:%Y-%m-%d_%H-%M-%S}"},
    "help": {
        "app_name": "bakeoff.multirun",
        "header": "Each configuration of a multirun is a DVC experiment: "
        "`-m lr=cosine,exponential 'seed=range(0,3)'`.\n"
        "conf/ has the options, params.yaml chooses among them; docs/sweep.md says more.",
    },
}
QUIET = ("hydra/hydra_logging", "hydra/job_logging")  # the launcher prints everything itself


def store_primary(params: Path, whole: Mapping[str, Any] | None = None) -> None:
    """Put the primary configuration where Hydra finds it. If `whole` is given, it is that run.yaml."""
    chosen_values = read_mapping(params)
    chosen = {group: _option(chosen_values.get(group)) for group in KINDS}
    defaults = [
        *({group: MISSING} for group in KINDS),
        {EXPERIMENT: chosen_values.get(EXPERIMENT)},
        *({f"override {group}": option} for group, option in chosen.items() if option not in (None, PRESET)),
        *({f"override {group}": "none"} for group in QUIET),
        {"override hydra/launcher": "dvc"},
        {"override hydra/sweeper": GRID},
        "_self_",
    ]
    body = {key: value for key, value in chosen_values.items() if key not in (*KINDS, EXPERIMENT)}
    body = {"note": None, **body} if whole is None else body
    body |= {group: _changes(chosen_values.get(group)) for group in KINDS} | dict(whole or {})
    primary = OmegaConf.create({"defaults": defaults, **body, "hydra": HYDRA_SETTINGS})
    for group in KINDS:
        OmegaConf.set_struct(primary[group], False)  # a key that has its default so far needs no +
    ConfigStore.instance().store(NAME, primary, **REPLACE)


def move_launcher(argv: Sequence[str]) -> list[str]:
    """Return arguments by which another launcher of Hydra's begins the jobs of `hydra/launcher: dvc`.

    That one checks and enters all jobs before any other launcher gets them.
    """
    if not any(map(OTHER_LAUNCHER.match, argv)):
        return list(argv)
    moved = [OTHER_LAUNCHER.sub("+hydra/launcher@hydra.launcher.begun_by=", argument) for argument in argv]
    return [re.sub(r"^([+~]*)hydra\.launcher\.", r"\1hydra.launcher.begun_by.", argument) for argument in moved]


def _option(entry: Any) -> Any:
    return entry.get(USE) if isinstance(entry, dict) else entry


def _changes(entry: Any) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != USE} if isinstance(entry, dict) else {}
