"""A sweep in a file is the same as its words on the command line."""

from pathlib import Path

import pytest

from bakeoff.errors import ConfigError
from bakeoff.sweep.points import points_of
from bakeoff.sweep.question import words_in


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
    assert words_in(file) == words
    assert len(points_of(words_in(file), tmp_path)) == 2 * 2 * 2 * 4 * 2


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
        words_in(file)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="^--from: no such file, got conf/sweep/x.yaml; sweeps are kept in"):
        words_in(Path("conf/sweep/x.yaml"))
