"""Tables on terminals: nothing wider than they are, nothing lost without a word."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from bakeoff.app.cli import parse
from bakeoff.app.cli.run_table import hint
from bakeoff.app.cli.terminal_table import fit, fold
from bakeoff.experiments.runs.list_runs import read_run
from bakeoff.experiments.runs.run_status import Failure, State
from support.commands import run_bakeoff, show_on_terminal
from support.made_runs import made
from support.made_sweeps import sweep, sweep_job
from support.messages import missing_in

POSIX = pytest.mark.skipif(os.name != "posix", reason="there are no such terminals")
ROWS = [
    ("run", "variant", "metric", "trained", ""),
    ("5d1c9a3e", "ssd_tiny · cosine · low", "mAP 0.430", "1:02:05", "no word for 90 s"),
    ("77aa0000", "cnn", "", "0:00", ""),
]
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def test_a_table_that_fits_stays_as_it_is() -> None:
    assert fit(ROWS, 80, narrow="variant", is_cut=True) == fit(ROWS, None, narrow="variant", is_cut=True) == [
        "run       variant                  metric     trained",
        "5d1c9a3e  ssd_tiny · cosine · low  mAP 0.430  1:02:05  no word for 90 s",
        "77aa0000  cnn                                 0:00",
    ]  # fmt: skip


def test_a_remark_goes_below_then_columns_go_by_name_then_one_is_cut() -> None:
    assert fit(ROWS, 60, less=("trained",), narrow="variant", is_cut=True) == [
        "run       variant                  metric     trained",
        "5d1c9a3e  ssd_tiny · cosine · low  mAP 0.430  1:02:05",
        "    no word for 90 s",
        "77aa0000  cnn                                 0:00",
    ]
    assert fit(ROWS, 36, less=("trained",), narrow="variant", is_cut=True) == [
        "run       variant          metric",
        "5d1c9a3e  ssd_tiny · cos…  mAP 0.430",
        "    no word for 90 s",
        "77aa0000  cnn",
        "no room for: trained",
    ]


def test_what_must_be_read_whole_is_folded_in_its_column() -> None:
    """Two points of a sweep may differ in their last words."""
    head, rows = ("", "point", "state"), [("1", "lr.peak=0.1 seed=1", "done"), ("2", "lr.peak=0.1 seed=2", "failed")]
    assert fit([head, *rows], 23, narrow="point") == [
        "   point        state",
        "1  lr.peak=0.1  done",
        "   seed=1",
        "2  lr.peak=0.1  failed",
        "   seed=2",
    ]


def test_what_there_is_to_a_name_goes_on_below_itself() -> None:
    assert fold([("batch", "8"), ("stages", "train runs, evaluate runs")], 22) == [
        "batch   8", "stages  train runs,", "        evaluate runs",
    ]  # fmt: skip
    assert fold([("memory", "program 937 MB, weights 24.6 MB")], 30) == [
        "memory  program 937 MB,",
        "        weights 24.6 MB",
    ]
    assert fold([("a", "x" * 90)], None) == [f"a  {'x' * 90}"]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    runs, name = tmp_path / ".bakeoff/runs", "ssd_mobilenet_v2_fpnlite · exponential · medium"
    made(
        runs, "5d1c9a3e77", State.RUNNING, steps=2000, steps_done=1200, seconds_left=48.4, training_seconds=3725,
        examples_per_second=181.3, experiment="tall-kite", name=name,
        metrics={"train/loss": 0.5, "validation/mAP": 0.4, "validation/mAP_50": 0.7},
    )  # fmt: skip
    full = Failure("disk", "No space left on device: .bakeoff/runs/77aa000011/1-run/00000050.data-00000-of-00001")
    made(runs, "77aa000011", State.FAILED, ago=60, failure=full, name=name, checkpoint=True)
    return runs


@POSIX
@pytest.mark.parametrize("columns", [80, 200])
def test_status_fits_the_terminal_and_says_what_goes_on(runs: Path, columns: int) -> None:
    lines = [COLOUR.sub("", line) for line in show_on_terminal(runs.parents[1], columns, "status")]
    assert max(map(len, lines)) <= columns
    assert lines[1].startswith("5d1c9a3e  RUNNING  1,200 of 2,000  0:48  mAP_50 0.700  ")
    assert ("tall-kite" in lines[1], "1:02:05" in lines[1]) == (columns == 200, columns == 200)
    assert ("no room for: examples/s, trained" in lines) == (columns == 80)
    words = " ".join(" ".join(lines).split())
    assert "disk: No space left on device: .bakeoff/runs/77aa000011/1-run/00000050.data-00000-of-00001" in words
    assert missing_in(words, "00000-of-00001", "`bakeoff status --watch`", "`bakeoff stop`") == []


@POSIX
def test_states_have_colours_on_a_terminal_that_wants_them(runs: Path) -> None:
    folder = runs.parents[1]
    [running] = [line for line in show_on_terminal(folder, 80, "status") if "5d1c9a3e" in line]
    assert "\x1b[32mRUNNING\x1b[0m" in running
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert not COLOUR.search("".join(show_on_terminal(folder, 80, "status", **more)))


@pytest.mark.parametrize(
    ("state", "more", "parts"),
    [
        (State.SUCCEEDED, {}, ("`bakeoff compare`", "`dvc repro`")),
        (State.STOPPED, {"checkpoint": True}, ("`dvc repro`", "params.yaml", "resumes 5d1c9a3e")),
        (State.FAILED, {}, ("`dvc repro`", "params.yaml", "starts over 5d1c9a3e")),
        (State.STOPPED, {"checkpoint": True, "experiment": "tall-kite"}, ("`dvc exp run`", "resumes 5d1c9a3e")),
        (State.FAILED, {"experiment": "sweep-20260102-1"}, ("`bakeoff sweep --resume`", "starts over 5d1c9a3e")),
    ],
)
def test_what_ended_last_says_what_goes_on(
    tmp_path: Path, state: State, more: dict[str, object], parts: tuple[str, ...]
) -> None:
    assert missing_in(hint([read_run(made(tmp_path, "5d1c9a3e77", state, **more))]), *parts) == []


def test_sweep_show_folds_why_a_point_is_not_done(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(runs.parents[1])
    why = "models/train: no space left on the disk; free some and run the same command again, or ask for less"
    failed = sweep_job(1).begin(1.0).end(2.0, State.FAILED.value.lower(), why)
    sweep(failed, overrides=("seed=1,2",)).write()
    shown = {}
    for columns in ("80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        code, out, _ = run_bakeoff(monkeypatch, capsys, "sweep", "show")
        assert code == 0 and max(map(len, out.splitlines())) <= int(columns)
        assert why in " ".join(out.split())
        shown[columns] = out.splitlines()
    assert len(shown["200"]) < len(shown["80"])


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_commands_options_and_words_of_sweep(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # outside of any workspace
    code, script, err = run_bakeoff(monkeypatch, capsys, "completion", shell)
    assert (code, err) == (0, "") and "sweep list" not in script
    if shell == "zsh":
        assert script.startswith("#compdef bakeoff\n") and "prune:" in script
        return
    (tmp_path / "script").write_text(script, encoding="utf-8")
    for typed, words in {
        ("bakeoff", "comp"): {"compare", "completion"},
        ("bakeoff", "sweep", "pr"): {"prune"},
        ("bakeoff", "sweep", "best", "--ap"): {"--apply"},
        ("bakeoff", "queue", "add", "--dr"): {"--dry-run"},
    }.items():
        asked = f"COMP_WORDS=({' '.join(typed)}); COMP_CWORD={len(typed) - 1}; _shtab_bakeoff bakeoff {typed[-1]}"
        done = subprocess.run(
            ["bash", "-c", f'source ./script; {asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert set(done.stdout.split()) == words, typed


def test_the_version_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_bakeoff(monkeypatch, capsys, "--version")
    assert code == 0 and re.fullmatch(r"bakeoff \d+\.\d+\.\d+\S*\n", out)


@pytest.mark.parametrize("word", ["list", "show", "best", "prune"])
def test_each_word_of_sweep_has_help_of_its_own_with_an_example_that_it_takes(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run_bakeoff(monkeypatch, capsys, "sweep", word, "--help")
    assert code == 0 and out.startswith(f"usage: bakeoff sweep {word} [-h]") and "OVERRIDE" not in out
    [example] = re.findall(r"^example: bakeoff (.*)$", out, re.MULTILINE)
    assert callable(parse(example.split()).run)
