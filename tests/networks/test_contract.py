"""What every network promises the rest of the house; each option of conf/model/ is built and asked."""

import shutil
from functools import cache
from pathlib import Path

import pytest
import yaml

from bakeoff.config.compose import compose
from bakeoff.networks import NETWORKS, Network
from bakeoff.networks.selection import select
from bakeoff.run.parse import parse_kind
from imports import ROOT

OPTIONS = sorted(path.stem for path in (ROOT / "conf/model").glob("*.yaml"))
CLASSES = 3
every_option = pytest.mark.parametrize("option", OPTIONS)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(ROOT / "conf", folder / "conf")
    return folder


@cache
def settings_of(option: str, workspace: Path) -> Network:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    path = workspace / f"{option}.yaml"
    path.write_text(yaml.safe_dump(params | {"model": option}), encoding="utf-8")
    composed = compose(path, workspace / "conf")
    settings = parse_kind(NETWORKS, composed.tree["model"], "model", composed.problems)
    assert composed.problems.lines == []
    return settings


@cache
def built(option: str, workspace: Path) -> tuple[list[str], tuple[int | None, ...]]:
    """Paths of the variables, and the input's shape."""
    network = settings_of(option, workspace).build(CLASSES)
    return [weight.path for weight in network.weights if "seed_generator" not in weight.path], network.input_shape


def test_every_kind_has_an_option(workspace: Path) -> None:
    assert {type(settings_of(option, workspace)) for option in OPTIONS} == set(NETWORKS.values())


@every_option
def test_every_variable_is_in_one_of_the_coarse_groups(option: str, workspace: Path) -> None:
    parts = settings_of(option, workspace).parts
    every, _ = built(option, workspace)
    coarse = [name for name in parts if "." not in name]
    assert [path for path in every if not select([path], coarse, parts)] == []


@every_option
def test_every_pattern_of_a_group_names_something(option: str, workspace: Path) -> None:
    every, _ = built(option, workspace)
    patterns = {pattern for group in settings_of(option, workspace).parts.values() for pattern in group}
    assert [pattern for pattern in patterns if not select(every, [pattern], {})] == []


@every_option
def test_names_of_variables_are_unique(option: str, workspace: Path) -> None:
    every, _ = built(option, workspace)
    assert len(every) == len(set(every)) > 0


@every_option
def test_images_go_in_at_the_size_of_the_settings(option: str, workspace: Path) -> None:
    settings = settings_of(option, workspace)
    frames = (settings.frames,) if settings.frames > 1 else ()
    size = settings.input_size
    _, shape = built(option, workspace)
    assert shape == (None, *frames, size, size, 3)
    assert settings.smallest_input <= size
