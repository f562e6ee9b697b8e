"""`bakeoff sweep --search`: started, resumed and listed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bakeoff.experiments.planning.estimate import Estimate
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep import git_snapshot, plan_jobs
from bakeoff.experiments.sweep.mlflow_parent import parent_run
from bakeoff.experiments.sweep.search import searching
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepManifest, load_manifest
from bakeoff.foundation.workspace import journals
from bakeoff.tracking.journal.journal import entries
from bakeoff.tracking.results import git
from support.commands import run_bakeoff
from support.imports import ROOT
from support.made_runs import NOBODY, made
from support.made_sweeps import ID, sweep, sweep_job
from support.messages import missing_in

Bakeoff = Callable[..., tuple[int, str, str]]
Instead = Callable[[Mapping[int, str]], None]
OVERRIDE = "lr.peak=interval(0.01,0.1)"
SEARCH = Search("tpe", 3, "loss", "min", stages=("train", "evaluate"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    monkeypatch.setattr(git, "experiments", list)
    monkeypatch.setattr(git_snapshot, "changed_since", lambda commit: [])
    return tmp_path


@pytest.fixture
def bakeoff(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakeoff:
    """Return a function that runs `bakeoff sweep …` and returns its exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        return run_bakeoff(monkeypatch, capsys, "sweep", *arguments)

    return run


@pytest.fixture
def corners(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replace all corners of a search by one job."""
    train = SimpleNamespace(validate_every_steps=10, validate_every_epochs=None, max_minutes=None)
    job = SimpleNamespace(
        run=SimpleNamespace(train=train), derived=SimpleNamespace(task="detection", multi_label=False, steps=100),
        stages={"build_records": "unchanged", "train": "runs", "evaluate": "runs"}, warnings=(), fold=None,
    )  # fmt: skip
    monkeypatch.setattr(plan_jobs, "preflight", lambda configurations, until: [job])
    monkeypatch.setattr(Estimate, "of", lambda run, stages, cores: Estimate(30.0, 10, 5))
    return job


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("lr=a,b", "--trials", "3"), ("--trials:", "--search", "--search tpe, random or asha")),
        (("lr=a,b", "--no-pruning", "--metric", "mAP"), ("--metric, --no-pruning:", "--search", "--search tpe")),
        (("--search", "tpa", OVERRIDE), ("--search:", "'tpa'", "'tpe'", "asha, random, tpe")),
        (("--search", "tpe", OVERRIDE, "--trials", "0"), ("--trials:", "1", "0")),
        (("--search", "tpe", OVERRIDE, "--trials", "2000"), ("--trials:", "1,000", "2,000")),
        (("--search", "tpe", "lr.peak=0.1"), ("--search:", "got lr.peak=0.1", "'lr.peak=int")),
        ((OVERRIDE,), (f"command line: {OVERRIDE}:", "no values", "range(start,stop,step)")),
        (("--resume", "--search", "tpe"), ("--resume:", "overrides", "--until", "--search")),
        (("--resume", "--trials", "9"), ("--trials:", "--search", "--search tpe")),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], parts: tuple[str, ...], bakeoff: Bakeoff) -> None:
    code, out, err = bakeoff(*arguments)
    assert (code, out) == (2, "") and err.startswith(parts[0]) and missing_in(err, *parts) == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--metric", "mAP50"), ("--metric:", "'mAP50'", "'mAP_50'", "one of: AR_1, ")),
        (("--metric", "threshold"), ("--direction:", "threshold", "max or min")),
        (("--direction", "high"), ("--direction:", "max or min", "'high'")),
    ],
)
def test_a_metric_that_cannot_be_searched_by_is_refused(
    arguments: tuple[str, ...], parts: tuple[str, ...], bakeoff: Bakeoff, corners: SimpleNamespace
) -> None:
    code, out, err = bakeoff("--search", "tpe", OVERRIDE, *arguments)
    assert (code, out) == (2, "") and err.startswith(parts[0]) and missing_in(err, *parts) == []


def test_a_metric_must_be_written_by_a_stage_that_runs(bakeoff: Bakeoff, corners: SimpleNamespace) -> None:
    corners.stages = {"render_config": "runs", "train": "runs"}
    err = bakeoff("--search", "tpe", OVERRIDE, "--until", "train")[2]
    assert missing_in(err, "--until:", "evaluate", "mAP_50", "train") == []
    assert bakeoff("--search", "tpe", OVERRIDE, "--dry-run", "--until", "train", "--metric", "validation/mAP")[0] == 0


def test_successive_halving_needs_something_to_halve_by(bakeoff: Bakeoff, corners: SimpleNamespace) -> None:
    corners.run.train.validate_every_steps = 0
    err = bakeoff("--search", "asha", OVERRIDE)[2]
    parts = "--search asha:", "validation/mAP_50", "train.validate_every_steps", "--search random"
    assert missing_in(err, *parts) == []


def test_a_search_says_what_it_will_do(bakeoff: Bakeoff, corners: SimpleNamespace) -> None:
    arguments = ("--search", "tpe", "--dry-run", "seed=range(0,6)", "-j", "2", "--metric", "evaluation/loss")
    code, out, _ = bakeoff(*arguments)
    assert re.search(r"^search  tpe, 6 .* least loss, seed 0, median pruning$", out, re.MULTILINE)
    corners.run.train.validate_every_steps = 0
    code, out, _ = bakeoff(*arguments)
    seed, search, all_of_them, warning = out.splitlines()[:4]
    assert code == 0 and seed == "seed    0 to 5, 6 values"
    assert re.match(r"search  tpe, 6 .* least loss, seed 0$", search)
    assert missing_in(all_of_them, "6", "all", "20") == []
    assert missing_in(warning, "warning:", "nothing is pruned", "validation/loss") == []
    assert re.search(r"^time    about 90 s .*\b2 side by side", out, re.MULTILINE)  # 6 trials of 30 s, two at a time
    assert sorted(line.split("seed=")[1] for line in out.splitlines()[-6:]) == list("012345")
    corners.run.train.validate_every_steps = 10
    out = bakeoff("--search", "tpe", "--dry-run", OVERRIDE, "--search-seed", "4")[1]
    assert re.search(r"^search   tpe, 20 .* most mAP_50, seed 4, median pruning$", out, re.MULTILINE)
    again = bakeoff("--search", "tpe", "--dry-run", OVERRIDE, "--search-seed", "4")[1]
    other = bakeoff("--search", "tpe", "--dry-run", OVERRIDE, "--search-seed", "5")[1]
    assert out == again and out.splitlines()[-10:] != other.splitlines()[-10:]


def judged(number: int, value: float) -> Any:
    configuration = (f"lr.peak=0.0{number + 1}",)
    return sweep_job(
        number,
        configurations=(configuration,),
        stages=SEARCH.stages,
        state=JobState.DONE,
        headline="loss",
        value=value,
        steps=9,
    )


def searching_sweep(*jobs: Any) -> SweepManifest:
    manifest = sweep(*jobs, overrides=(OVERRIDE,), search=SEARCH)
    manifest.write()
    return manifest


def test_the_least_is_best_and_a_search_is_shown_with_its_metric(bakeoff: Bakeoff) -> None:
    manifest = searching_sweep(judged(1, 0.5), judged(2, 0.25))
    assert load_manifest(manifest.folder) == manifest
    assert bakeoff("best")[1].startswith(f"lr.peak=0.03: loss 0.250  ({ID}-2)\n")
    assert missing_in(bakeoff("show")[1].splitlines()[1], "tpe, 3", "least loss", "seed 0", "2 drawn") == []


def test_prune_keeps_the_checkpoints_of_the_least(bakeoff: Bakeoff, place: Path) -> None:
    searching_sweep(*(replace(judged(number, 1 / number), fingerprint=f"f{number}") for number in (1, 2, 3)))
    for number in (1, 2, 3):
        made(place / ".bakeoff/runs", f"f{number}", State.SUCCEEDED, process=NOBODY, checkpoint=True)
    assert bakeoff("prune", "--yes")[0] == 0
    assert [path.name for path in (place / ".bakeoff/runs").iterdir()] == ["f3"]


def test_resume_draws_what_is_left(
    bakeoff: Bakeoff, instead: Instead, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """The search draws one trial. It is refused, so nothing runs, and the sweep is no success."""
    manifest = searching_sweep(judged(1, 0.5), judged(2, 0.25))
    monkeypatch.setattr(searching, "restore_start_folder", lambda manifest: ROOT)

    def refused(*about: Any) -> Any:
        return sweep_job(3).begin(1.0).end(1.0, JobState.REFUSED, "too much")

    monkeypatch.setattr(searching, "make_trial", refused)
    instead({})
    code, out, err = bakeoff("--resume", "--quiet")
    assert (code, err) == (1, "")
    assert out.startswith(f"{ID}: 2 of 3 jobs are done\n") and "\n3 of 3 is refused: too much: seed=3\n" in out
    assert out.endswith("\nthe best is 2 of 3: lr.peak=0.03, loss 0.250\n")
    assert load_manifest(manifest.folder).job(3).state == JobState.REFUSED
    assert bakeoff("--resume") == (0, f"{ID}: 3 of 3 jobs are done\n", "")


def test_mlflow_gets_the_settings_of_a_search_and_that_it_is_not_over(place: Path) -> None:
    track = {"kind": "mlflow", "experiment": "ours", "uri": None, "artifacts": None}
    manifest = sweep(judged(1, 0.5), judged(2, 0.25), overrides=(OVERRIDE,), search=SEARCH, track=track)
    states = []
    for more in ([], [judged(3, 0.75)]):
        manifest = manifest.with_more(more)
        manifest.write()
        with parent_run(manifest):
            pass
        sent = [entry for entry, _ in entries(journals() / ID) if entry]
        states.append(sent[-1].state)
    tags: dict[str, str] = {}
    for entry in sent:
        tags |= entry.values if entry.kind == "tags" else {}
    assert states == ["KILLED", "FINISHED"]
    assert (tags["bakeoff.search"], tags["bakeoff.search_metric"], tags["bakeoff.search_direction"]) == (
        "tpe", "loss", "min"
    )  # fmt: skip
    assert (tags["bakeoff.best"], tags["bakeoff.best_loss"], tags["bakeoff.sweep_jobs"]) == (f"{ID}-2", "0.25", "3")
