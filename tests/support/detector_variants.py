"""Detection variants of this project, for the tests of what is written for the Object Detection API and read again."""

import copy
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import yaml

from bakeoff.config.compose.checks import Records
from bakeoff.config.compose.derive import resolve
from bakeoff.config.compose.network_facts import Facts, Variable
from bakeoff.config.compose.variant import parse_variant
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest, Shard, Split
from bakeoff.learning.run_file.parse import Problems
from support.imports import ROOT

Variant = Callable[..., Run]


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    """1,200 + 300 images with three classes of things, 50 kB each."""

    def split(name: str, examples: int, shards: int) -> Split:
        each = examples // shards
        files = [Shard(f"{name}-{n:05d}-of-{shards:05d}", each, each * 50_000, f"{n}") for n in range(shards)]
        return Split(examples, examples * 640 * 480 * 3, 1, {"ball": 2 * examples}, tuple(files))

    splits = {"train": split("train", 1200, 4), "validation": split("validation", 300, 2)}
    return Manifest("detection", ("ball", "cube", "duck"), splits)


@pytest.fixture(scope="session")
def variant(manifest: Manifest) -> Variant:
    """A resolved run; its groups are given as trees of conf/, `model` also as the name of an option."""
    parts = [
        Variable(f"{part}/kernel", (1,), True) for part in ("backbone.a", "head.a", "block_1_a", "conv_pw_1", "neck.a")
    ]
    groups: dict[str, Any] = {
        "variant": {},
        "seed": 0,
        "data": {"kind": "digit_scenes"},
        "model": "ssd_mobilenet_v2_fpnlite_320",
        "memory": {"budget": "100GB"},
        "lr": {"kind": "cosine", "peak": 0.08, "warmup_steps": 1000, "warmup_from": 0.02667},
        "optimizer": {"kind": "momentum", "nesterov": False},
        "train": {"batch_size": 32, "steps": 3000},
        "evaluate": {},
        "export": {},
        "track": {"kind": "none"},
    }

    def run(**changes: Any) -> Run:
        tree = copy.deepcopy(groups | changes)
        if isinstance(tree["model"], str):
            tree["model"] = option("model", tree["model"])
        problems = Problems(lambda key: "test")
        # A pipeline.config names checkpoints of the machine that it was written on.
        with patch("bakeoff.config.compose.checks._check_start"):
            resolved = resolve(
                parse_variant(tree, problems),
                Records(manifest),
                problems,
                facts_of=lambda network, classes: Facts(tuple(parts), 1000),
                set_by=lambda key: None,
            )
        problems.raise_any()
        assert resolved
        return resolved

    return run


def option(group: str, name: str) -> dict[str, Any]:
    """A file of conf/ with what it builds on."""
    tree = yaml.safe_load((ROOT / "conf" / group / f"{name}.yaml").read_text(encoding="utf-8"))
    for below in tree.pop("defaults", []):
        tree = option(group, below) | tree
    return tree


def preset(name: str) -> dict[str, dict[str, Any]]:
    """What a file of conf/experiment/ chooses of the groups that a pipeline.config holds."""
    tree = yaml.safe_load((ROOT / "conf/experiment" / f"{name}.yaml").read_text(encoding="utf-8"))
    chosen = {key.removeprefix("override /"): value for entry in tree["defaults"] for key, value in entry.items()}
    return {group: option(group, chosen[group]) for group in ("model", "lr", "optimizer", "train")}


DETECTORS = sorted(
    path.stem
    for path in (ROOT / "conf/model").glob("*.yaml")
    if option("model", path.stem)["kind"] in ("ssd", "ssd_fpn", "ssd_multibox")
)


def _is_detector(name: str) -> bool:
    return preset(name)["model"]["kind"] in ("ssd", "ssd_fpn", "ssd_multibox")


RECIPES = {
    path.stem: preset(path.stem)
    for path in sorted((ROOT / "conf/experiment").glob("*.yaml"))
    if _is_detector(path.stem)
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`detector` goes through every detection option of conf/model, `recipe` through every preset of one."""
    if "detector" in metafunc.fixturenames:
        metafunc.parametrize("detector", DETECTORS)
    if "recipe" in metafunc.fixturenames:
        metafunc.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
