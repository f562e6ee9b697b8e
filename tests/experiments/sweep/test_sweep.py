"""`bakeoff sweep` on a workspace: it renders the same run.yaml, and reports all mistakes before anything runs."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bakeoff.experiments.sweep import git_snapshot
from bakeoff.experiments.sweep.configurations import Configuration
from bakeoff.experiments.sweep.plan_jobs import headline_name
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.search.searching import make_trial
from bakeoff.experiments.sweep.sweep_manifest import JobState, SweepJob
from support.commands import run_bakeoff
from support.made_sweeps import sweep
from support.messages import missing_in
from support.workspace_copy import Workspace

RUN = "models/config/run.yaml"
PlanSweep = Callable[..., tuple[int, str, str]]
SWEEP = ("python", "-m", "bakeoff", "sweep")


def state(workspace: Workspace) -> tuple[str, str, str]:
    files = (workspace.folder / name for name in ("params.yaml", "dvc.lock"))
    return (workspace.run("git", "status", "--porcelain").stdout, *(file.read_text(encoding="utf-8") for file in files))


@pytest.fixture
def plan_sweep(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> PlanSweep:
    """Return a function that runs `bakeoff sweep …`, where no job may start, and returns code, output and errors."""

    def answer(workspace: Workspace, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(workspace.folder)
        return run_bakeoff(monkeypatch, capsys, "sweep", *arguments)

    return answer


def but_progress(text: str) -> list[str]:
    """Return the lines without those on progress, which slow machines show."""
    return [line for line in text.splitlines() if not line.startswith("sweep: reading")]


def matches_each(patterns: list[str], lines: list[str]) -> bool:
    return len(patterns) == len(lines) and all(map(re.match, patterns, lines))


@pytest.mark.long
def test_each_configuration_commits_the_run_yaml_that_params_yaml_would_render(
    built: Workspace, tmp_path: Path
) -> None:
    workspace = built.copy(tmp_path / "clone")
    workspace.edit("params.yaml", "memory: {use: preset}", "memory: medium")  # the bare form takes changes, too
    before = state(workspace)
    arguments = ("lr=exponential,constant", "lr.peak=1e-2", "memory.decode_threads=1", "seed=3")
    done = workspace.run(*SWEEP, "--until", "render_config", "-j", "2", "--follow", *arguments)
    assert state(workspace) == before and list((workspace.folder / ".dvc/tmp/exps/bakeoff").iterdir()) == []

    rows = re.findall(r"^lr=(\w+) +(sweep-[\d-]+) +- +done$", done.stdout, re.MULTILINE)
    assert [option for option, _ in rows] == ["exponential", "constant"]
    assert {f"{number}: Running stage 'render_config':" for number in (1, 2)} <= set(done.stdout.splitlines())
    assert "1 of 2 done in " in done.stdout and "2 of 2 done in " in done.stdout
    for option, experiment in rows:
        [ref] = workspace.run("git", "for-each-ref", "--format=%(refname)", f"refs/exps/**/{experiment}").stdout.split()
        swept = workspace.run("git", "show", f"{ref}:{RUN}").stdout
        by_hand = built.copy(tmp_path / option)
        by_hand.edit("params.yaml", "lr: {use: cosine, ", f"lr: {{use: {option}, peak: 0.01, ")
        by_hand.edit("params.yaml", "memory: {use: preset}", "memory: {use: medium, decode_threads: 1}")
        by_hand.edit("params.yaml", "seed: 0", "seed: 3")
        by_hand.render()
        assert swept == (by_hand.folder / RUN).read_text(encoding="utf-8")
        assert f"kind: {option}\n  peak: 0.01\n" in swept
    assert sorted(workspace.dvc("exp", "list", "--name-only").split()) == sorted(dict(rows).values())
    assert "exponential" in workspace.dvc("params", "diff", "HEAD", rows[0][1])


def test_a_dry_run_shows_the_configurations_and_what_each_stage_would_do(
    built: Workspace, plan_sweep: PlanSweep
) -> None:
    before = state(built)
    _, output, _ = plan_sweep(built, "--dry-run", "lr.peak=0.003,0.01,1e-2", "train.steps=2,4")
    assert state(built) == before
    table = [line for line in output.splitlines() if "lr.peak=" in line]
    stages = "build_records unchanged, render_config {}, train runs, evaluate runs, export runs"
    rows = [re.split("  +", re.sub(r"over \d+ s", "over", line.strip())) for line in table]
    assert rows == [
        ["1", "lr.peak=0.003 train.steps=2", "ssd_tiny · cosine · medium", "2", "over", stages.format("runs")],
        ["2", "lr.peak=0.003 train.steps=4", "ssd_tiny · cosine · medium", "4", "over", stages.format("runs")],
        ["3", "lr.peak=0.01 train.steps=2", "ssd_tiny · cosine · medium", "2", "over", stages.format("runs")],
        ["lr.peak=0.01 train.steps=2", "the same variant as 3"],
        ["4", "lr.peak=0.01 train.steps=4", "ssd_tiny · cosine · medium", "4", "over", stages.format("runs")],
        ["lr.peak=0.01 train.steps=4", "the same variant as 4"],
    ]
    jobs, time, memory, disk = output.splitlines()[-4:]
    assert jobs == "4 jobs of 6 configurations"
    assert re.match(r"time    at least \d+ (s|minutes) .*\b4\b.* not known .*\(.*\)$", time)
    assert re.search(r"(job itself |\()by rule of thumb", time)
    assert memory.startswith("memory  up to ") and disk.startswith("disk    about ")


def test_what_an_earlier_job_makes_comes_from_the_cache(built: Workspace, plan_sweep: PlanSweep) -> None:
    _, output, _ = plan_sweep(built, "--dry-run", "lr.peak=0.003,0.01", "evaluate.pictures=3,5", "-j", "2")
    table = [line for line in output.splitlines() if "lr.peak=" in line]
    first = "build_records unchanged, render_config runs, train runs, evaluate runs, export runs"
    second = "build_records unchanged, render_config runs, train from the cache, evaluate runs, export from the cache"
    assert [re.split("  +", line)[-1] for line in table] == [first, second, first, second]
    assert re.search(r", 2 side by side; .*\b2\b.* not known", output)


def test_every_mistake_of_every_configuration_is_reported_before_anything_runs(
    built: Workspace, plan_sweep: PlanSweep
) -> None:
    code, output, errors = plan_sweep(built, "lr=cosine,manual", "lr.peak=0.1,high", "train.steps=0")
    assert (code, but_progress(output)) == (2, [])
    expected = [
        r"command line: train\.steps: .*\b1\b.*\b0\b",
        r"lr=cosine lr\.peak=high: command line: lr\.peak: .*'high'",
        r"lr=manual lr\.peak=0\.1 and 1 more: params\.yaml:7: lr\.warmup_steps: no such key",
        r"lr=manual lr\.peak=0\.1 and 1 more: command line: lr\.peak: no such key",
    ]
    assert matches_each(expected, errors.splitlines())


def test_drawn_data_have_no_folds(
    built: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(built.folder)
    code, _, errors = run_bakeoff(monkeypatch, capsys, "suspects", "--folds", "2", "--dry-run")
    assert code == 2 and missing_in(errors, "--folds:", "data.split", "digit_scenes") == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["data=digits,digits_single", "--dry-run"], ("data=digits_single: data: ", "digits_single", "dry run")),
        (["seed=1,2", "--until", "render"], ("--until: ", "'render'", "'render_config'", "one of: ")),
        (["lr=cosine,cosin"], ("command line: ", "'params'", "'lr/cosin'", "'lr'")),
        (["lr.peak=range(0,1,0)"], ("command line: lr.peak=range(0,1,0): ", "zero")),
        (["lr=choice(1,2),choice(3,4)"], ("command line: lr=choice(1,2),choice(3,4): ", "within a sweep", "commas")),
        (["seed=1,2", "hydra.sweep.dir=${no}"], ("command line: ", "'no'", "not found")),
        (["~lr.floor", "seed=1,2"], ("command line: ", "delete", "'lr.floor'")),
        (["+track.uri='yes'", "seed=1,2"], ("track.uri: ", "'yes'", "quotes")),
    ],
)
def test_what_a_sweep_cannot_do_is_refused(
    arguments: list[str], parts: tuple[str, ...], built: Workspace, plan_sweep: PlanSweep
) -> None:
    code, _, errors = plan_sweep(built, *arguments)
    assert code == 2
    [line] = errors.splitlines()
    assert line.startswith(parts[0]) and missing_in(line, *parts) == []


def test_a_search_shows_its_space_and_what_it_would_try_first(built: Workspace, plan_sweep: PlanSweep) -> None:
    before = state(built)
    arguments = ("--search", "tpe", "--trials", "3", "lr.peak=interval(0.001,0.3)", "lr=cosine,exponential", "seed=4")
    _, output, _ = plan_sweep(built, "--dry-run", *arguments)
    assert state(built) == before
    head, *_, first = "\n".join(but_progress(output)).split("\n   configuration\n")
    lines = [re.split("  +", line, maxsplit=1) for line in head.splitlines()]
    peak, lr, search = [line for line in lines if line[0] != "warning"][:3]
    assert [peak, lr] == [["lr.peak", "0.001 to 0.3"], ["lr", "cosine, exponential"]]
    assert search[0] == "search" and missing_in(search[1], "tpe", "3", "most mAP_50", "seed 0") == []
    assert re.search(r"^warning: nothing is pruned.*validation/mAP_50\b", head, re.MULTILINE)
    assert re.search(r"\ntime    at least .*\b3\b.* not known", head)
    configurations = [
        re.fullmatch(r"\d  lr\.peak=(0\.\d+) lr=(cosine|exponential)", line) for line in first.splitlines()
    ]
    assert len(configurations) == 3 and all(
        configuration and 0.001 <= float(configuration[1]) <= 0.3 for configuration in configurations
    )


def test_corners_of_a_search_are_read_before_anything_runs(built: Workspace, plan_sweep: PlanSweep) -> None:
    arguments = (
        "--search",
        "random",
        "lr.peak=interval(-0.1,0.3)",
        "lr=cosine,cosin",
        "train.steps=int(interval(0,9))",
    )
    code, output, errors = plan_sweep(built, *arguments)
    assert (code, but_progress(output)) == (2, [])
    expected = [
        r"lr\.peak=-0\.1 lr=cosine train\.steps=4: command line: lr\.peak: .*\b0\b.*-0\.1",
        r"lr\.peak=0\.1 lr=cosin train\.steps=4: command line: lr\.use: .*'cosin'.*conf/lr/",
        r"lr\.peak=0\.1 lr=cosine train\.steps=0: command line: train\.steps: .*\b1\b.*\b0\b",
    ]
    assert matches_each(expected, errors.splitlines())


def test_a_trial_is_read_with_the_files_that_its_search_began_with(
    built: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = built.copy(tmp_path / "clone")
    monkeypatch.chdir(workspace.folder)
    search = Search("tpe", 9, "mAP", stages=("render_config", "train", "evaluate"))
    manifest = sweep(search=search, snapshot=git_snapshot.take_snapshot("sweep-1").commit)
    manifest.folder.mkdir(parents=True)
    workspace.edit("params.yaml", "seed: 0", "seed: 77")
    (workspace.folder / "conf/lr/exponential.yaml").unlink()

    def trial(*overrides: str) -> SweepJob:
        return make_trial(Configuration(overrides, overrides), manifest, search)

    first = trial("lr=exponential", "lr.peak=0.01")
    assert (first.number, first.state, first.headline, first.steps) == (1, JobState.WAITING, "mAP", 2)
    assert first.options == ("++lr.use=exponential", "++lr.peak=0.01") and first.stages == search.stages
    manifest = manifest.with_more([first])
    again = trial("lr=exponential", "lr.peak=1e-2")
    assert (again.state, again.training, again.rendered) == (JobState.WAITING, first.training, first.rendered)
    other = trial("lr=exponential", "lr.peak=0.02")
    assert other.rendered != first.rendered and other.training != first.training
    manifest = manifest.with_job(first.begin(1.0).end(2.0, JobState.DONE, value=0.5, fingerprint="ab12"))
    again = trial("lr=exponential", "lr.peak=1e-2")
    assert (again.number, again.state, again.value, again.fingerprint) == (2, JobState.DONE, 0.5, "ab12")
    assert again.attempts[-1].why == "the same run.yaml as 1"
    refused = trial("train.steps=0", "lr.peak=-1")
    assert refused.state == JobState.REFUSED and refused.name == "train.steps=0 lr.peak=-1"
    expected = [r"command line: lr\.peak: .*\b0\b.*-1\.0$", r"command line: train\.steps: .*\b1\b.*\b0$"]
    assert matches_each(expected, (refused.attempts[-1].why or "").split("; ")[:2])


def test_files_and_records_that_an_experiment_would_not_have_are_named(
    built: Workspace, tmp_path: Path, plan_sweep: PlanSweep
) -> None:
    workspace = built.copy(tmp_path / "clone")
    (workspace.folder / "conf/lr/mine.yaml").write_text("kind: constant\npeak: 0.1\n", encoding="utf-8")
    code, _, errors = plan_sweep(workspace, "lr=mine,cosine")
    assert code == 2 and missing_in(errors, "conf/lr/mine.yaml:", "git", "`git add`") == []
    workspace.run("git", "add", "conf")
    workspace.edit("params.yaml", "train_examples: 12", "train_examples: 16")
    code, _, errors = plan_sweep(workspace, "lr=mine,cosine")
    assert code == 2 and missing_in(errors, "data/records/:", "params.yaml", "`dvc repro build_records`") == []


@pytest.mark.parametrize(
    ("task", "multi_label", "headline"),
    [
        ("detection", False, "mAP_50"),
        ("classification", False, "accuracy"),
        ("video", True, "mean_average_precision"),
    ],
)
def test_the_headline_metric_is_the_one_that_the_task_says(task: str, multi_label: bool, headline: str) -> None:
    """The name is known without TensorFlow, which the tasks load."""
    assert headline_name(cast(Any, SimpleNamespace(task=task, multi_label=multi_label))) == headline
