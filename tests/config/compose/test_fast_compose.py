"""What this code composes of plain options is what Hydra composes of them, and what is not plain is left to Hydra."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from bakeoff.config.compose.compose import compose
from bakeoff.config.compose.fast_compose import NotPlain, lists_groups_only, merge_option
from bakeoff.config.compose.option_lookup import Chooser
from bakeoff.learning.run_file.parse import Problems
from bakeoff.learning.run_file.yaml_file import read_document
from support.imports import ROOT
from support.workspace_copy import environment

CONF = ROOT / "conf"
GROUPS = [next(iter(entry)) for entry in read_document(CONF / "variant.yaml").values["defaults"][:-2]]
OPTIONS = sorted((path.parent.name, path.stem) for group in GROUPS for path in (CONF / group).glob("*.yaml"))
LEFT_TO_HYDRA = {("data", "merged")}  # it lacks a value that params.yaml must give


def compose_by_hydra(conf: Path, groups: list[str], group: str, option: str) -> Any:
    overrides = [f"{group}={option}", *(f"~{other}" for other in groups if other != group)]
    with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
        return OmegaConf.to_container(hydra_compose("variant", overrides), resolve=True)[group]


def compose_plainly(conf: Path, groups: list[str], group: str, option: str, params: Path) -> Any:
    problems = Problems(lambda key: key)
    choice = Chooser(params, conf, groups, problems, [f"{group}={option}"], {}).choice(group, None)
    assert choice is not None and problems.lines == []
    return merge_option(option, choice.documents)


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_every_option_is_what_hydra_makes_of_it(group: str, option: str) -> None:
    if (group, option) in LEFT_TO_HYDRA:
        with pytest.raises(NotPlain):
            compose_plainly(CONF, GROUPS, group, option, ROOT / "params.yaml")
        return
    by_hydra = compose_by_hydra(CONF, GROUPS, group, option)
    plainly = compose_plainly(CONF, GROUPS, group, option, ROOT / "params.yaml")
    assert yaml.safe_dump(plainly, sort_keys=False) == yaml.safe_dump(by_hydra, sort_keys=False)


TEXTS = st.sampled_from(
    ["a", "data/raw", "2GB", "1.5e3", "1e3", "-", "", "12", "true", "x: y", "null", "._5", "\\\\a", "$a"]
)
SCALARS = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e9, 1e9) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TREES = st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=4)


@given(trees=st.tuples(TREES, TREES, TREES), places=st.tuples(*[st.integers(-1, 2)] * 2))
@settings(
    deadline=None, max_examples=60, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_plain_options_that_build_on_each_other_are_what_hydra_makes_of_them(
    trees: tuple[dict[str, Any], ...], places: tuple[int, ...], tmp_path: Path
) -> None:
    """`third` builds on `first` and `second`, and `second` on `first` or on nothing; `_self_` stands anywhere."""
    first, second, third = trees
    write(tmp_path, "first", first)
    write(tmp_path, "second", second, with_self([], places[0]))
    write(tmp_path, "third", third, with_self(["first", "second"], places[1]))
    try:
        plainly = compose_plainly(tmp_path, ["lr"], "lr", "third", tmp_path / "params.yaml")
    except NotPlain:
        return
    assert yaml.safe_dump(plainly) == yaml.safe_dump(compose_by_hydra(tmp_path, ["lr"], "lr", "third"))


def with_self(bases: list[str], place: int) -> list[str]:
    return bases if place < 0 else [*bases[:place], "_self_", *bases[place:]]


def write(folder: Path, name: str, values: dict[str, Any], defaults: list[str] | None = None) -> None:
    (folder / "lr").mkdir(exist_ok=True)
    (folder / "params.yaml").write_text("seed: 0\n", encoding="utf-8")
    (folder / "variant.yaml").write_text("defaults:\n- lr: ???\n- experiment: null\n- _self_\n", encoding="utf-8")
    tree = {"defaults": defaults, **values} if defaults else values
    (folder / f"lr/{name}.yaml").write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    ["peak: ${lr.floor}\nfloor: 1.0\n", "peak: ???\n", "peak: 1.5e3\n", "peak: a${lr.floor}\nfloor: b\n"],
)
def test_what_is_more_than_a_value_is_left_to_hydra(text: str, tmp_path: Path) -> None:
    write(tmp_path, "odd", {})
    (tmp_path / "lr/odd.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(NotPlain):
        compose_plainly(tmp_path, ["lr"], "lr", "odd", tmp_path / "params.yaml")


def test_an_option_that_two_others_build_on_is_left_to_hydra(tmp_path: Path) -> None:
    write(tmp_path, "base", {"a": 1})
    write(tmp_path, "middle", {"a": 2}, ["base"])
    write(tmp_path, "top", {"c": 1}, ["base", "middle"])
    with pytest.raises(NotPlain):
        compose_plainly(tmp_path, ["lr"], "lr", "top", tmp_path / "params.yaml")
    composed = compose(tmp_path / "params.yaml", tmp_path, overrides=["lr=top"])
    assert composed.tree["lr"] == compose_by_hydra(tmp_path, ["lr"], "lr", "top") == {"a": 2, "c": 1}


def test_a_mapping_in_the_place_of_a_list_is_left_to_hydra_which_refuses_it(tmp_path: Path) -> None:
    write(tmp_path, "base", {"a": [1]})
    write(tmp_path, "top", {"a": {"b": 1}}, ["base"])
    composed = compose(tmp_path / "params.yaml", tmp_path, overrides=["lr=top"])
    assert len(composed.problems.lines) == 1 and "lr/top" in composed.problems.lines[0]


@pytest.mark.parametrize("name", ["true", "1", "a b", "1e3"])
def test_a_name_that_hydra_takes_for_a_value_is_left_to_hydra(name: str, tmp_path: Path) -> None:
    write(tmp_path, name, {"a": 1})
    with pytest.raises(NotPlain):
        merge_option(name, {name: read_document(tmp_path / f"lr/{name}.yaml")})


@pytest.mark.parametrize(
    "more",
    ["seed: 1\n", "- lr: ???\n", "- override /lr: cosine\n", "# @package lr\n"],
)
def test_a_list_of_groups_that_says_more_is_left_to_hydra(more: str, tmp_path: Path) -> None:
    write(tmp_path, "cosine", {"a": 1})
    variant = tmp_path / "variant.yaml"
    assert lists_groups_only(variant, ["lr"], "experiment")
    variant.write_text(variant.read_text(encoding="utf-8") + more, encoding="utf-8")
    assert not lists_groups_only(variant, ["lr"], "experiment")


def test_the_variant_of_this_workspace_is_composed_without_hydra() -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bakeoff.config.compose.compose import compose\n"
        "compose(Path('params.yaml'), Path('conf')).problems.raise_any()\n"
        "print(sorted({'hydra', 'omegaconf', 'antlr4'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
