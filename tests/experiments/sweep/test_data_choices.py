"""A sweep over data: the records of each choice are built once, before the jobs."""

import json
import re
from pathlib import Path

import pytest

from bakeoff.experiments.sweep.configurations import Configuration
from bakeoff.experiments.sweep.plan_jobs import preflight, stages_of
from bakeoff.foundation.errors import ConfigError
from support.commands import run_bakeoff
from support.messages import missing_in
from support.workspace_copy import Workspace

SAME, LARGER = "data.train_examples=12", "data.train_examples=20"
FOLDERS = ("data=image_folders", "~data.train_examples", "~data.validation_examples", "+data.path=data/raw/field")


def configurations(*pairs: tuple[str, ...]) -> list[Configuration]:
    return [Configuration(pair, pair) for pair in pairs]


@pytest.fixture
def own(built: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    copy = built.copy(tmp_path / "own")
    monkeypatch.chdir(copy.folder)
    return copy


@pytest.mark.long
def test_each_choice_is_planned_with_its_own_records_which_are_built_once(own: Workspace) -> None:
    asked = configurations((SAME,), (LARGER,), (LARGER, "seed=3"))
    jobs = preflight(asked, until="render_config", other_data=True, builds=True)
    assert [job.derived.train_examples for job in jobs] == [12, 20, 20]
    assert ["build_records" in stages_of(job) for job in jobs] == [False, True, True]
    assert [job.stages.get("build_records") for job in jobs[1:]] == ["from the cache", "from the cache"]
    [folder] = [path for path in (own.folder / ".bakeoff/choices").iterdir() if path.is_dir()]
    made = (folder / "manifest.json").stat().st_mtime_ns
    assert (own.folder / "data/records/manifest.json").read_text() != (folder / "manifest.json").read_text()
    again = preflight(asked, until="render_config", other_data=True)  # also without leave to build
    assert [job.derived.train_examples for job in again] == [12, 20, 20]
    assert (folder / "manifest.json").stat().st_mtime_ns == made
    remarks = [[warning for warning in job.warnings if warning.startswith("data: ")] for job in jobs]
    assert [len(lines) for lines in remarks] == [0, 1, 1]
    assert not [*(own.folder / ".dvc/tmp/exps/bakeoff").glob("records-*")]


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        (LARGER, ("data: digits", "train_examples: 20", "dry run")),
        ("data=digts", ("data", "'digts'", "'digits'")),
        ("data.train_examples=none", ("data.train_examples", "whole number", "none")),
    ],
)
def test_what_cannot_be_planned_is_refused(own: Workspace, override: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        preflight(configurations((override,)), other_data=True)
    assert missing_in(str(caught.value), *parts) == []
    assert not (own.folder / ".bakeoff/choices").exists() or not [*(own.folder / ".bakeoff/choices").glob("*/")]


def test_data_that_dvc_does_not_know_are_refused_with_what_makes_it_know_them(own: Workspace) -> None:
    (own.folder / "data/raw/field").mkdir(parents=True)
    with pytest.raises(ConfigError) as caught:
        preflight(configurations(FOLDERS), other_data=True, builds=True)
    assert missing_in(str(caught.value), "data:", "data/raw/field", "dvc add data/raw/field") == []


@pytest.mark.slow
def test_jobs_take_the_records_of_their_data_from_the_cache(
    own: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own.commit()
    code, out, errors = run_bakeoff(
        monkeypatch, capsys, "sweep", "data.train_examples=12,20,24", "--until", "render_config", "--yes"
    )
    assert code == 0, out + errors
    assert len(re.findall("builds the records of data digits (.*train_examples: 2", out)) == 2
    [sweep] = (own.folder / ".bakeoff/sweeps").iterdir()
    jobs = json.loads((sweep / "manifest.json").read_text())["jobs"]
    logs = [(sweep / f"{job['number']}.log").read_text() for job in jobs]
    assert len(logs) == 3 and sum("'build_records' is cached" in log for log in logs) == 2
    assert not any("build_records: " in log for log in logs)
