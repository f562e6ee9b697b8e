"""Hydra's words, on the command line or in a file, stand for the points that one would write down by hand."""

from pathlib import Path

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from bakeoff.errors import ConfigError
from bakeoff.sweep.points import Words, load_words, points_of
from imports import ROOT


def lines(*words: str, conf: Path = ROOT / "conf") -> list[str]:
    return [" ".join(point.overrides) for point in points_of(words, conf)]


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    for name in ("model/ssd_small", "model/ssd_tiny", "model/cnn_small", "experiment/demo", "experiment/demo_clips"):
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "points"),
    [
        (["lr=cosine,exponential"], ["lr=cosine", "lr=exponential"]),
        (["lr.peak=0.05,1e-1"], ["lr.peak=0.05", "lr.peak=0.1"]),
        (["seed=range(0,3)"], ["seed=0", "seed=1", "seed=2"]),
        (["seed=range(6,0,-2)"], ["seed=6", "seed=4", "seed=2"]),
        (["lr.peak=range(0.5,1.5,0.5)"], ["lr.peak=0.5", "lr.peak=1.0"]),
        (["lr=choice(cosine)"], ["lr=cosine"]),
        (["lr.peak=sort(3,1,2)"], ["lr.peak=1", "lr.peak=2", "lr.peak=3"]),
        (["experiment=demo,frc_cosine"], ["experiment=demo", "experiment=frc_cosine"]),
        (
            ["lr=cosine,exponential", "+lr.warmup_steps=0", "seed=1,2"],
            [
                "lr=cosine +lr.warmup_steps=0 seed=1",
                "lr=cosine +lr.warmup_steps=0 seed=2",
                "lr=exponential +lr.warmup_steps=0 seed=1",
                "lr=exponential +lr.warmup_steps=0 seed=2",
            ],
        ),
        (["track.uri='a, b',\"it's\""], ["track.uri='a, b'", 'track.uri="it\'s"']),
        (["+a.b=[1,2],[3]", "~lr.peak"], ["+a.b=[1,2] ~lr.peak", "+a.b=[3] ~lr.peak"]),
        (["train.epochs=null,3"], ["train.epochs=null", "train.epochs=3"]),
        (["seed=1,2", "seed=3"], ["seed=3"]),
    ],
)
def test_words_are_expanded_as_by_hand(words: list[str], points: list[str]) -> None:
    assert lines(*words) == points


def test_a_glob_is_the_options_that_it_matches(conf: Path) -> None:
    assert lines("model=glob(ssd*)", conf=conf) == ["model=ssd_small", "model=ssd_tiny"]
    assert lines("model=glob(*,exclude=*tiny)", conf=conf) == ["model=cnn_small", "model=ssd_small"]
    assert lines("experiment=glob([demo*])", conf=conf) == ["experiment=demo", "experiment=demo_clips"]


def test_a_point_is_named_by_what_varies() -> None:
    names = [point.name for point in points_of(["lr=cosine,constant", "seed=7", "lr.peak=1,2"], ROOT / "conf")]
    assert names == ["lr=cosine lr.peak=1", "lr=cosine lr.peak=2", "lr=constant lr.peak=1", "lr=constant lr.peak=2"]
    assert [point.name for point in points_of(["seed=7"], ROOT / "conf")] == ["seed=7"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["seed=range(3,3)"], r"command line: seed=range\(3,3\): must stand for one value or more, got none"),
        (
            ["lr.peak=interval(0,1)"],
            r"command line: lr.peak=interval\(0,1\): an interval has no points to run; write values",
        ),
        (["model=glob(sdd*)"], r"command line: model=glob\(sdd\*\): matches none of .*/model/: cnn_small, ssd_small,"),
        (["model.use=glob(ssd*)"], r"command line: model.use=glob\(ssd\*\): glob\(…\) is for options of a group; one"),
        (
            ["seed=range(0,40)", "lr.peak=range(0,26)"],
            "command line: must be at most 1,000 points, got 40 x 26; sweep",
        ),
        (["seed=range(0,1000000000)"], "command line: must be at most 1,000 points, got over 1,000; sweep"),
        (["seed"], "command line: .*"),
    ],
)
def test_words_that_stand_for_no_points_are_refused(words: list[str], message: str, conf: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        points_of(words, conf)


def test_one_who_is_sure_may_have_more(conf: Path) -> None:
    assert len(points_of(["seed=range(0,10000)"], conf, sure=True)) == 10_000
    with pytest.raises(
        ConfigError, match="^command line: must be at most 100,000 points, got over 100,000; sweep fewer values$"
    ):
        points_of(["seed=range(0,200000)"], conf, sure=True)


def test_points_are_those_of_hydras_own_sweeper_in_its_order() -> None:
    words = ["lr=cosine,exponential", "+lr.warmup_steps=0", "seed=range(0,3)", "lr.peak=sort(3,1,2,reverse=true)"]
    [batch] = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(words), None)
    assert lines(*words) == [" ".join(point) for point in batch]


def test_words_of_hydra_itself_are_told_from_those_of_variants() -> None:
    words = ("lr=cosine,exponential", "hydra/launcher=joblib", "+hydra.job.env_set.A=1", "hydra.launcher.n_jobs=2")
    assert Words.split(words) == Words((words[0],), words[1:])


def test_a_file_says_what_the_command_line_would(tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(
        "lr: [cosine, exponential]\nlr.peak: 0.002,0.005\nseed: range(0,2)\n+train.notes: ['a, b', null, true, 1e-3]\n"
        "train.steps: 7\nmodel.ratios: [[1, 2], [3]]\n~lr.floor:\n",
        encoding="utf-8",
    )
    words = [
        "lr=cosine,exponential", "lr.peak=0.002,0.005", "seed=range(0,2)", "+train.notes='a, b',null,true,0.001",
        "train.steps=7", "model.ratios=[1,2],[3]", "~lr.floor",
    ]  # fmt: skip
    assert load_words(file) == words
    assert len(points_of(load_words(file), tmp_path)) == 2 * 2 * 2 * 4 * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}\n", "must say what varies, such as `lr: .cosine, exponential.`, got nothing"),
        ("lr: {peak: 0.1}\n", "lr: must be values or Hydra's words, got {'peak': 0.1}; write lr.peak"),
        ("lr: []\n", r"lr: must be values or Hydra's words, got \[\]; write"),
        ("~lr.floor: 1\n", "~lr.floor: takes a value away, so nothing may stand behind it, got 1"),
    ],
)
def test_a_file_that_says_no_sweep_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"rates.yaml: {message}"):
        load_words(file)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="^--from: no such file, got conf/sweep/x.yaml; sweeps are kept in"):
        load_words(Path("conf/sweep/x.yaml"))
