"""`bakeoff register`: any checkpoint of a run as a version, by one command, and what keeps it from being one."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.tracking.register_checkpoint import register_checkpoint
from bakeoff.tracking.store.target import Target
from support.commands import CommandOutput, run_bakeoff
from support.made_checkpoints import RUN, trained
from support.messages import missing_in
from support.mlflow_store import deliver, find_work, open_store, write_workspace
from support.stored_networks import NetworkTraining

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and its libraries
Register = Callable[..., CommandOutput]


@pytest.fixture
def target(store_of_small: Target) -> Target:
    write_workspace(store_of_small)
    return store_of_small


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Register:
    return partial(run_bakeoff, monkeypatch, capsys, "register", RUN[:8])


def versions(target: Target, name: str) -> list[tuple[str, str]]:
    """Each version, with the logged model that it leads to."""
    client, experiment = open_store(target)
    names = {model.artifact_location: model.name for model in client.search_logged_models([experiment])}
    found = client.search_model_versions(f"name = '{name}'")
    assert all(client.get_run(version.run_id) for version in found)
    return sorted((str(version.version), names[version.source]) for version in found)


def test_the_best_weights_or_any_step_become_a_version_once(
    target: Target, small: NetworkTraining, register: Register
) -> None:
    deliver(small.take(target, (10, 20, 30), best=lambda step: step == 20), target)
    done = register()
    assert (done.code, done.err) == (0, "")
    assert missing_in(done.out, "best-so-far-20", RUN[:8], "version 1 of bakeoff", "models:/bakeoff/1") == []
    assert "version 1 of digit finder" in register("--name", "digit finder", "--step", "10").out
    assert "version 1 of bakeoff" in register("--step", "20").out  # it is one already
    assert versions(target, "bakeoff") == [("1", "best-so-far-20")]
    assert versions(target, "digit finder") == [("1", "checkpoint-10")]


def test_a_registered_checkpoint_stays_when_training_removes_others(target: Target, small: NetworkTraining) -> None:
    small.settings = type(small.settings)(checkpoints="newest")
    deliver(small.take(target, (10, 20)), target)
    assert register_checkpoint(find_work(target, RUN), "digits", 10) == ("best-so-far-10", "1")
    deliver(small.take(target, (30, 40, 50)), target)
    client, experiment = open_store(target)
    names = sorted(str(model.name) for model in client.search_logged_models([experiment]))
    kept = ["best-so-far-10", "best-so-far-40", "best-so-far-50", "checkpoint-40", "checkpoint-50"]
    assert names == kept and versions(target, "digits") == [("1", "best-so-far-10")]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--step", "15"), ("--step", "15", "10, 20")),
        (("--name", "a/b"), ("--name", "a/b")),
        (("--step", "0"), ("--step", "1 or more")),
    ],
)
def test_what_cannot_be_registered_is_named(
    arguments: tuple[str, ...], named: tuple[str, ...], target: Target, small: NetworkTraining, register: Register
) -> None:
    deliver(small.take(target, (10, 20)), target)
    code, out, err = register(*arguments)
    assert (code, out, err.count("\n"), missing_in(err, *named)) == (2, "", 1, [])


def test_a_checkpoint_whose_files_the_store_lost_is_named_with_the_remedy(
    target: Target, small: NetworkTraining, register: Register
) -> None:
    deliver(small.take(target, (10,)), target)
    client, experiment = open_store(target)
    for model in client.search_logged_models([experiment]):
        shutil.rmtree(Path(model.artifact_location.removeprefix("file://")))
    code, out, err = register()
    named = missing_in(err, "best-so-far-10", "MLmodel", "model.keras", "`bakeoff track sync`")
    assert (code, out, err.count("\n"), named) == (2, "", 1, [])


def test_one_that_mlflow_cannot_open_is_refused_with_the_reason(target: Target, register: Register) -> None:
    deliver(trained(target, (10,)), target)  # its journal does not tell how the network is built
    code, out, err = register()
    named = missing_in(err, "best-so-far-10", "cannot open", "earlier version", "`bakeoff continue`")
    assert (code, out, err.count("\n"), named) == (2, "", 1, [])


def test_a_run_of_best_weights_alone_can_be_registered_and_not_resumed(target: Target, small: NetworkTraining) -> None:
    small.settings = type(small.settings)(checkpoints="best")
    deliver(small.take(target, (10,)), target)
    work: Any = find_work(target, RUN, to_resume=False)
    assert register_checkpoint(work, "digits") == ("best-so-far-10", "1")
    with pytest.raises(WorkspaceError, match="no checkpoint"):
        find_work(target, RUN)
