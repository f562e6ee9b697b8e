"""What `dvc exp run -S` makes of params.yaml is what the configuration asked for. DVC's own code is the judge."""

from pathlib import Path
from typing import Any

import pytest
from dvc.utils.hydra import apply_overrides as apply_by_dvc

from bakeoff.config.compose.overrides import apply_overrides
from bakeoff.experiments.sweep.params_diff import list_options
from bakeoff.foundation.errors import ConfigError
from bakeoff.learning.run_file.yaml_file import read_mapping
from support.messages import missing_in

GROUPS = ["data", "model", "lr", "train", "track", "optimizer"]
PARAMS = """\
experiment: demo   # a preset
data: {use: digits}
model: ssd_small
lr: {use: cosine, peak: 0.1, floor: null}
train: {phases: [{name: a, epochs: 1}, {name: b}], epochs: null}
seed: 0
"""


def through_dvc(folder: Path, text: str, options: list[str]) -> dict[str, Any]:
    params = folder / "params.yaml"
    params.write_text(text, encoding="utf-8")
    apply_by_dvc(params, options)
    return read_mapping(params)


@pytest.mark.parametrize(
    ("overrides", "options"),
    [
        (["lr=exponential"], ["++lr.use=exponential"]),
        (["lr.peak=0.05", "seed=3"], ["++lr.peak=0.05", "++seed=3"]),
        (["+lr.warmup_steps=0"], ["++lr.warmup_steps=0"]),
        (["lr.peak=1e-7"], ["++lr.peak=1e-07"]),
        (["model=ssd_tiny"], ["++model={use:ssd_tiny}"]),
        (["model.width=0.5"], ["++model={use:ssd_small,width:0.5}"]),
        (["model.anchors.aspect_ratios=[1,2.5]"], ["++model={use:ssd_small,anchors:{aspect_ratios:[1,2.5]}}"]),
        (["optimizer=sgd"], ["++optimizer={use:sgd}"]),
        (["experiment=frc_cosine"], ["++experiment=frc_cosine"]),
        (["~lr.peak"], ["~lr.peak"]),
        (["~lr.floor"], ["~lr", "++lr={use:cosine,peak:0.1}"]),
        (["~seed"], ["~seed"]),
        (["train.epochs=2"], ["++train.epochs=2"]),
        (["lr.peak=null"], ["++lr.peak=null"]),
        (["+train.deterministic=true"], ["++train.deterministic=true"]),
        (["train.phases=[{name:'c d',epochs:0.5}]"], ["++train.phases=[{name:'c d',epochs:0.5}]"]),
        (["+track.uri='http://localhost:1/a=b,c'"], ["++track={uri:'http://localhost:1/a=b,c'}"]),
        (["+track.note='it\\'s \"so\" \\\\'"], ["++track={note:'it\\'s \"so\" \\\\'}"]),
        (["+track.note='null'"], ["++track={note:'null'}"]),
        (["+track.note='1e-3'"], ["++track={note:'1e-3'}"]),
        (["+track.note=''"], ["++track={note:''}"]),
        (["seed=0"], []),
    ],
)
def test_dvc_makes_of_params_what_the_configuration_wants(
    overrides: list[str], options: list[str], tmp_path: Path
) -> None:
    params = tmp_path / "now.yaml"
    params.write_text(PARAMS, encoding="utf-8")
    now = read_mapping(params)
    wanted = apply_overrides(now, overrides, GROUPS)
    assert list_options(now, wanted) == options
    assert through_dvc(tmp_path, PARAMS, options) == wanted


def test_keys_that_are_no_names_travel_inside_of_their_mapping(tmp_path: Path) -> None:
    now = {"data": {"names": {"a.b": 1, "d": "x", "c": None}}}
    wanted = {"data": {"names": {"a.b": 2, "d": "x"}}}
    options = list_options(now, wanted)
    assert options == ["~data.names", "++data.names={a.b:2,d:x}"]
    assert through_dvc(tmp_path, "data: {names: {a.b: 1, d: x, c: null}}\n", options) == wanted


@pytest.mark.parametrize(
    ("wanted", "parts"),
    [
        ({"lr": {"peak": "${lr.floor}"}}, ("lr.peak:", "`dvc exp run -S`", "'${lr.floor}'")),
        ({"lr": {"peak": "???"}}, ("lr.peak:", "`dvc exp run -S`", "'???'")),
        ({"track": {"note": "yes"}}, ("track.note:", "'yes'", "quotes", "true or false")),
        ({"data": {"classes": ["a", "1:30"]}}, ("data.classes:", "'1:30'", "quotes", "1:30")),
        ({"track": {"a: b": 1}}, ("track:", "`dvc exp run -S`", "{'a: b': 1}")),
    ],
)
def test_what_dvc_would_change_on_the_way_is_refused(wanted: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=f"^{parts[0]}") as caught:
        list_options({}, wanted)
    assert missing_in(str(caught.value), *parts) == []
