"""A sweep over folds: the one difference in data that configurations may have, planned before it has records."""

from pathlib import Path

import pytest

from bakeoff.experiments.sweep.configurations import Configuration
from bakeoff.experiments.sweep.dvc_experiment import needed_files
from bakeoff.experiments.sweep.plan_jobs import find_fold, is_same_data, make_overrides, preflight, stages_of, sweep_job
from bakeoff.foundation.errors import WorkspaceError
from support.commands import run_bakeoff
from support.drawing import encoded, write
from support.messages import missing_in
from support.workspace_copy import Workspace, tiny_workspace

LINES = {
    "experiment": "experiment: demo_images",
    "data": "data: {use: image_folders, path: data/raw/set, split: {test: 0.1}}",
    "model": "model: {use: cnn_small, input_size: 32}",
    "train": "train: {use: smoke, steps: 2, batch_size: 8}",
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = tiny_workspace(tmp_path_factory.mktemp("folds") / "clone", LINES)
    for number in range(40):
        write(workspace.folder / f"data/raw/set/{'ab'[number % 2]}/{number}.jpg", encoded(number))
    workspace.prepare()
    return workspace


def test_the_overrides_of_folds() -> None:
    assert make_overrides(3) == ["+data.split.fold=1/3,2/3,3/3", "+data.split.test=0"]
    for number in (1, 101):
        with pytest.raises(WorkspaceError, match=rf"^--folds: must be 2 to 100, got {number}$"):
            make_overrides(number)


def test_data_are_the_same_but_for_their_folds() -> None:
    own = {"use": "pets", "split": {"test": 0.1, "seed": 3}}
    fold = {"use": "pets", "split": {"test": 0, "seed": 3, "fold": "1/5"}}
    assert is_same_data(own, fold) and find_fold(fold) == "1/5" and find_fold(own) is None
    assert is_same_data("pets", {"use": "pets", "split": {"fold": "1/5"}}) and find_fold("pets") is None
    assert not is_same_data(own, fold | {"use": "cars"})
    assert not is_same_data(own, {"use": "pets", "split": {"seed": 4, "fold": "1/5"}})


def test_each_fold_is_a_job_that_builds_its_records(pictures: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pictures.folder)
    overrides = [(f"+data.split.fold={number}/2", "+data.split.test=0") for number in (1, 2)]
    jobs = preflight(
        [Configuration(pair, pair[:1]) for pair in [*overrides, overrides[0]]], until="evaluate", other_data=True
    )
    assert [job.fold for job in jobs] == ["1/2", "2/2"] and [len(job.configurations) for job in jobs] == [2, 1]
    assert stages_of(jobs[0]) == ("build_records", "render_config", "train", "evaluate")
    assert [job.stages["train"] for job in jobs] == ["runs", "runs"]  # not the second from the first's cache
    ends = {
        sweep_job("sweep", 1, job.configurations, job.run, job.options, stages_of(job), job.fold).training
        for job in jobs
    }
    assert len(ends) == 2 and jobs[0].estimate.training != jobs[1].estimate.training
    assert jobs[0].options == ("++data.split.test=0", "++data.split.fold='1/2'")
    [plain] = preflight([Configuration(("seed=3",), ("seed=3",))], other_data=True)
    assert plain.fold is None and "build_records" not in stages_of(plain)


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (("sweep", "+data.split.fold=1/2,2/2"), ("data.split.fold:", "split.by", "fraction or given_test")),
        (
            ("sweep", "+data.split.fold=3/2", "+data.split.test=0"),
            ("data.split.fold:", "K/N", "2 to 100"),
        ),
        (
            ("sweep", "+data.split.fold=1/2", "+data.split.test=0", "data.max_side=64,32"),
            ("data: image_folders", "dry run"),
        ),
        (
            ("sweep", "+data.split.fold=1/2,2/2", "+data.split.test=0", "--search", "random", "--trials", "2"),
            ("data:", "the same"),
        ),
        (("suspects", "--folds", "2", "lr=cosin"), ("command line:", "'lr/cosin'")),
    ],
)
def test_what_is_no_fold_is_refused(
    pictures: Workspace, overrides: tuple[str, ...], parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(pictures.folder)
    code, _, errors = run_bakeoff(monkeypatch, capsys, *overrides, "--dry-run")
    assert code == 2 and missing_in(errors, *parts) == []


def test_a_node_fetches_data_for_a_fold_and_records_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("data/raw/set.dvc", "data/weights/start.h5.dvc"):
        write(tmp_path / name, "outs: []\n")
    assert needed_files(("render_config", "train")) == ["build_records", "data/weights/start.h5.dvc"]
    assert needed_files(("build_records", "train")) == ["data/raw/set.dvc", "data/weights/start.h5.dvc"]
