"""A sweep's overrides, on the command line or in a file, before Hydra makes configurations of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.config.compose.overrides import apply_overrides, parse_overrides, parse_values
from bakeoff.experiments.sweep.configurations import (
    SplitOverrides,
    load_overrides,
    require_few,
    select_fixed,
    set_or_add,
)
from bakeoff.experiments.sweep.search.space import parse_space
from bakeoff.foundation.errors import ConfigError
from support.imports import ROOT
from support.messages import missing_in


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (["seed=range(0,40)", "lr.peak=range(0,26)"], ("1,000", "40 x 26", "--yes")),
        (["seed=range(0,1000000000)"], ("1,000", "over 1,000")),
        (["seed=1,2", "lr.peak=interval(0,1)"], ("lr.peak=interval(0,1)", "no values")),
        (["seed=1,2", "seed=("], ("seed=(",)),
        (["seed"], ()),
        (["lr.peak=range(nan,1)"], ("lr.peak=range(nan,1)", "finite")),
        (["lr.peak=range(0,1,inf)"], ("lr.peak=range(0,1,inf)", "finite")),
    ],
)
def test_overrides_for_too_many_configurations_or_none_are_refused(
    overrides: list[str], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError, match=r"^command line: ") as caught:
        require_few(overrides)
    assert missing_in(str(caught.value), *parts) == []


@pytest.mark.parametrize(
    ("refuse", "word"),
    [
        (parse_values, f"lr.peak=1{',1' * 4000}"),
        (lambda words: apply_overrides({}, words, ["lr"]), f"~lr.peak='{'a' * 8000}'"),
        (lambda words: parse_space(words, ROOT / "conf"), f"nothing=glob('{'a' * 8000}')"),
        (lambda words: parse_space(words, ROOT / "conf"), f"lr.peak='{'a' * 8000}'"),
    ],
)
def test_of_a_long_override_a_message_has_the_beginning(refuse: Callable[[list[str]], object], word: str) -> None:
    with pytest.raises(ConfigError) as error:
        refuse([word])
    assert word[:20] in str(error.value) and len(str(error.value)) < 600


def test_one_who_is_sure_may_have_more() -> None:
    require_few(["seed=range(0,10000)", "lr=cosine,exponential", "model=glob(*)"], sure=True)
    with pytest.raises(ConfigError, match=r"^command line: (?!.*--yes).*\b100,000\b.*over 100,000"):
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
    ("text", "parts"),
    [
        ("{}\n", ("`lr: [cosine, exponential]`", "got nothing")),
        ("lr: {peak: 0.1}\n", ("lr:", "{'peak': 0.1}", "lr.peak")),
        ("lr: []\n", ("lr:", "[]")),
        ("~lr.floor: 1\n", ("~lr.floor:", "1")),
    ],
)
def test_a_file_that_says_no_sweep_is_refused(text: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_overrides(file)
    assert missing_in(str(caught.value), "rates.yaml: ", *parts) == []


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--from: no such file.* conf/sweep/x\.yaml"):
        load_overrides(Path("conf/sweep/x.yaml"))


def test_a_sweep_is_checked_without_listing_its_values() -> None:
    """A million million values, shuffled, would fill the memory."""
    [override] = parse_overrides(["seed=shuffle(range(0,1000000000000))"])
    assert override.is_sweep_override()
