"""`bakeoff sweep --resume`, `list`, `show`, `best` and `prune` on started sweeps, and the table of results."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep import best, git_snapshot
from bakeoff.experiments.sweep.best import write_results
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_workspace import all_job_workspaces
from bakeoff.experiments.sweep.sweep_manifest import JobState, load_manifest
from bakeoff.tracking.results import git
from support.commands import run_bakeoff
from support.made_runs import NOBODY, made
from support.made_sweeps import ID, states, sweep, sweep_job
from support.messages import missing_in

DONE, FAILED, WAITING = JobState.DONE, JobState.FAILED, JobState.WAITING
Bakeoff = Callable[..., tuple[int, str, str]]
Instead = Callable[[Mapping[int, str]], None]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    monkeypatch.setattr(git, "experiments", list)
    return tmp_path


@pytest.fixture
def bakeoff(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakeoff:
    """Return a function that runs `bakeoff sweep …` and returns its exit code, output and errors."""

    def run(*arguments: str, changed: list[str] | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(git_snapshot, "changed_since", lambda commit: changed or [])
        return run_bakeoff(monkeypatch, capsys, "sweep", *arguments)

    return run


def judged(number: int, value: float, **more: Any) -> Any:
    more = {"state": DONE, "value": value, "fingerprint": f"f{number}"} | more
    return sweep_job(number, stages=("train", "evaluate"), **more)


def test_resume_runs_what_is_not_done_and_nothing_else(bakeoff: Bakeoff, instead: Instead) -> None:
    instead({2: "end(0)", 3: "end(3)"})
    manifest = sweep(sweep_job(1, state=DONE), sweep_job(2, state=FAILED), sweep_job(3))
    manifest.write()
    code, out, err = bakeoff("--resume")
    assert (code, err) == (1, "")
    assert out.startswith(f"{ID}: 1 of 3 jobs are done\n")
    assert out.endswith(f"`bakeoff sweep --resume {ID}` runs what is not done\n")
    assert states(load_manifest(manifest.folder)) == [DONE, DONE, FAILED]
    assert [len(job.attempts) for job in load_manifest(manifest.folder).jobs] == [0, 1, 1]
    instead({3: "end(0)"})
    assert bakeoff("--resume", ID[:10], "--quiet")[0] == 0
    assert bakeoff("--resume") == (0, f"{ID}: 3 of 3 jobs are done\n", "")


def test_what_has_changed_since_is_refused_unless_one_says_what_counts(bakeoff: Bakeoff, instead: Instead) -> None:
    instead({1: "end(0)"})
    manifest = sweep(sweep_job(1))
    manifest.write()
    files = [f"src/{name}.py" for name in "abcdefg"]
    code, _, err = bakeoff("--resume", changed=files)
    assert code == 2 and "src/f.py" not in err
    assert missing_in(err, ID, *files[:5], "2 more", "--as-begun", "--anew") == []
    assert states(load_manifest(manifest.folder)) == [WAITING]
    assert bakeoff("--resume", "--as-begun", changed=files)[0] == 0
    assert states(load_manifest(manifest.folder)) == [DONE]
    assert bakeoff("--resume", changed=files)[0] == 0  # nothing is left that could differ


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ("sweep:", "lr=cosine,exponential", "--resume")),
        (("--from", "conf/sweep/x.yaml"), ("--from:", "no such file", "conf/sweep/x.yaml")),
        (("--resume", ID, "seed=1"), ("--resume:", "overrides", "--until", "--search")),
        (("seed=1", "-j", "0"), ("--jobs:", "1", "0")),
        (("seed=1", "--retries", "-1"), ("--retries:", "0", "-1")),
        (("--resume",), ("no sweep", "`bakeoff sweep lr=cosine,exponential`")),
        (("bset",), ("bset:", "lr=cosine,exponential", "'best'", "best, list,")),
        (("best", "a", "b"), ("bakeoff sweep best:", "got b;", "`bakeoff sweep best --help`")),
        (("--yes", "prune"), ("prune:", "`sweep`", "`bakeoff sweep prune --help`")),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], parts: tuple[str, ...], bakeoff: Bakeoff) -> None:
    code, out, err = bakeoff(*arguments)
    assert (code, out) == (2, "") and err.startswith(parts[0]) and missing_in(err, *parts) == []


def test_list_and_show_say_how_far_sweeps_are(bakeoff: Bakeoff) -> None:
    code, out, err = bakeoff("list")
    assert (code, err) == (0, "") and out.startswith("no sweep")
    failed = sweep_job(2).begin(1.0).end(2.0, FAILED, "killed")
    sweep(judged(1, 0.25), failed, overrides=("seed=1,2",)).write()
    [_, line] = bakeoff("list")[1].splitlines()
    assert re.split("  +", line)[::3] == [ID, "seed=1,2"] and "1 done, 1 failed" in line
    rows = [re.split("  +", line.strip()) for line in bakeoff("show")[1].splitlines()]
    assert rows[2:] == [
        ["1", "seed=1", "mAP_50 0.250", "done", f"{ID}-1", "0"],
        ["2", "seed=2", "-", "failed", f"{ID}-2", "1", "killed"],
    ]


def test_the_best_is_the_first_of_those_with_the_highest_metric(bakeoff: Bakeoff) -> None:
    sweep(judged(1, 0.25), judged(2, 0.5), judged(3, 0.5), judged(4, 0.9, state=FAILED)).write()
    code, out, _ = bakeoff("best")
    assert code == 0 and missing_in(out.splitlines()[0], "seed=2: mAP_50 0.500", f"({ID}-2)", "1") == []
    sweep(sweep_job(1, state=DONE)).write()
    code, _, err = bakeoff("best", "--apply")
    assert code == 2 and missing_in(err, ID, "evaluated", "1 of 1") == []


def test_applying_would_not_take_edits_away(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    """`a` and `b` were edited since the sweep started, and `b` is as the experiment has it."""
    manifest = sweep(judged(1, 0.25))
    manifest.write()
    ref = f"refs/exps/ab/cd/{ID}-1"
    changed = {manifest.snapshot: ["a", "b"], ref: ["a", "c"]}
    monkeypatch.setattr(best, "changed_since", changed.__getitem__)
    monkeypatch.setattr(git_snapshot, "git", lambda *arguments, **more: ref)
    code, _, err = bakeoff("best", "--apply")
    assert code == 2 and err.startswith("a:") and missing_in(err, ID, "`git stash`") == []
    monkeypatch.setattr(git_snapshot, "git", lambda *arguments, **more: "")
    assert missing_in(bakeoff("best", "--apply")[2], f"{ID}-1:", "no such experiment") == []


def test_prune_takes_dead_workspaces_and_checkpoints_of_weak_configurations(bakeoff: Bakeoff, place: Path) -> None:
    """Checkpoints of the best and of an unfinished configuration stay, and the workspace of a job that runs."""
    manifest = sweep(judged(1, 0.5), judged(2, 0.25), judged(3, 0.1, state=FAILED), sweep_job(4))
    manifest.write()
    for number in (1, 2, 3):
        made(place / ".bakeoff/runs", f"f{number}", State.SUCCEEDED, process=NOBODY, checkpoint=True)
    for number in (3, 4):
        (all_job_workspaces() / f"{ID}-{number}").mkdir(parents=True)
    with JobFiles(manifest.folder, 4).lock:
        code, out, _ = bakeoff("prune")
        assert code == 0 and "nothing was removed; --yes removes 2 of 4" in out
        assert bakeoff("prune", "--yes")[0] == 0
    assert sorted(path.name for path in (place / ".bakeoff/runs").iterdir()) == ["f1", "f3"]
    assert [path.name for path in all_job_workspaces().iterdir()] == [f"{ID}-4"]
    assert bakeoff("prune", "--keep", "-1")[2] == "--keep: must be 0 or more, got -1\n"


def test_the_table_of_results_has_a_column_for_each_key(tmp_path: Path) -> None:
    job = (
        sweep_job(1, configurations=(("lr=cosine", "+lr.peak=0.1"),))
        .begin(5.0)
        .end(7.25, JobState.DONE, value=0.5, run_id="7f")
    )
    write_results(sweep(job, sweep_job(2, configurations=(("lr=constant", "+lr.peak=0.2"),))), tmp_path / "results.tsv")
    head, first, second = [line.split("\t") for line in (tmp_path / "results.tsv").read_text().splitlines()]
    assert dict(zip(head, first, strict=True)) == {
        "number": "1", "experiment": f"{ID}-1", "lr": "cosine", "lr.peak": "0.1", "variant": "ssd_tiny · cosine · low",
        "state": "done", "mAP_50": "0.5", "attempts": "1", "seconds": "2.2", "fingerprint": "", "run": "7f", "why": "",
    }  # fmt: skip
    assert dict(zip(head, second, strict=True))["state"] == "waiting"
