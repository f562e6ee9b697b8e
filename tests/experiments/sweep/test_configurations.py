"""A sweep's overrides, on the command line or in a file, before Hydra makes configurations of them."""

from pathlib import Path

import pytest

from bakeoff.experiments.sweep.configurations import (
    SplitOverrides,
    load_overrides,
    require_few,
    select_fixed,
    set_or_add,
)
from bakeoff.foundation.errors import ConfigError


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["seed=range(0,40)", "lr.peak=range(0,26)"],
            "command line: must be at most 1,000 configurations, got 40 x 26; sweep fewer values, or --yes for up to ",
        ),
        (["seed=range(0,1000000000)"], "command line: must be at most 1,000 configurations, got over 1,000; sweep"),
        (
            ["seed=1,2", "lr.peak=interval(0,1)"],
            r"command line: lr.peak=interval\(0,1\): an interval has no values to run; write values or range",
        ),
        (["seed=1,2", "seed=("], r"command line: seed=\(: .*"),
        (["seed"], "command line: .*"),
    ],
)
def test_overrides_for_too_many_configurations_or_none_are_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        require_few(overrides)


def test_one_who_is_sure_may_have_more() -> None:
    require_few(["seed=range(0,10000)", "lr=cosine,exponential", "model=glob(*)"], sure=True)
    with pytest.raises(
        ConfigError,
        match="^command line: must be at most 100,000 configurations, got over 100,000; sweep fewer values$",
    ):
        require_few(["seed=range(0,200000)"], sure=True)


def test_intervals_are_for_a_sweeper_that_draws() -> None:
    require_few(["lr.peak=interval(0,1)", "hydra/sweeper=optuna"])


def test_overrides_of_one_value_are_fixed_whatever_stands_before_their_key() -> None:
    overrides = ["lr=cosine,exponential", "+lr.warmup_steps=0", "seed=7", "~lr.floor", "lr.peak=choice(1)"]
    fixed = {"lr.warmup_steps": "+lr.warmup_steps=0", "seed": "seed=7", "lr.floor": "~lr.floor"}
    assert select_fixed(overrides) == fixed


def test_one_plus_is_as_good_as_two_for_those_who_type_less() -> None:
    overrides = ["+lr.peak=1", "++lr.peak=1", "lr.peak=1", "~lr.peak"]
    assert [set_or_add(override) for override in overrides] == ["++lr.peak=1", "++lr.peak=1", "lr.peak=1", "~lr.peak"]


def test_overrides_of_hydra_itself_are_split_from_those_of_variants() -> None:
    overrides = ("lr=cosine,exponential", "hydra/launcher=joblib", "+hydra.job.env_set.A=1", "hydra.launcher.n_jobs=2")
    assert SplitOverrides.split(overrides) == SplitOverrides((overrides[0],), overrides[1:])


def test_a_file_says_what_the_command_line_would(tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(
        "lr: [cosine, exponential]\nlr.peak: 0.002,0.005\nseed: range(0,2)\n+train.notes: ['a, b', null, true, 1e-3]\n"
        "train.steps: 7\nmodel.ratios: [[1, 2], [3]]\n~lr.floor:\n",
        encoding="utf-8",
    )
    overrides = [
        "lr=cosine,exponential", "lr.peak=0.002,0.005", "seed=range(0,2)", "+train.notes='a, b',null,true,0.001",
        "train.steps=7", "model.ratios=[1,2],[3]", "~lr.floor",
    ]  # fmt: skip
    assert load_overrides(file) == overrides


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}\n", "must say what varies, such as `lr: .cosine, exponential.`, got nothing"),
        ("lr: {peak: 0.1}\n", "lr: must be values or in Hydra's notation, got {'peak': 0.1}; write lr.peak"),
        ("lr: []\n", r"lr: must be values or in Hydra's notation, got \[\]; write"),
        ("~lr.floor: 1\n", "~lr.floor: takes a value away, so nothing may stand behind it, got 1"),
    ],
)
def test_a_file_that_says_no_sweep_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"rates.yaml: {message}"):
        load_overrides(file)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="^--from: no such file, got conf/sweep/x.yaml; sweeps are kept in"):
        load_overrides(Path("conf/sweep/x.yaml"))
