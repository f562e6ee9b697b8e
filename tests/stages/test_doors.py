"""One choice, three doors: params.yaml, `dvc exp run -S`, Hydra's words. And the door that is none: run.yaml itself."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import write
from bakeoff.tracking.resolve_name import KINDS
from support.commands import run_bakeoff
from support.messages import missing_in
from support.workspace_copy import Workspace, run_dvc, tiny_workspace

RUN = "models/config/run.yaml"
CHANGES = ("lr.use=exponential", "++lr.peak=0.5", "++lr.warmup_steps=1", "seed=3")
Bakeoff = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with records and a rendered variant, committed, and an experiment `door` with the changes."""
    workspace = tiny_workspace(tmp_path_factory.mktemp("doors") / "clone")
    workspace.prepare()
    options = [part for change in CHANGES for part in ("-S", change)]
    workspace.dvc("exp", "run", "--temp", "--name", "door", *options, "render_config")
    return workspace


@pytest.fixture
def workspace(built: Workspace, tmp_path: Path) -> Workspace:
    return built.copy(tmp_path / "clone")


@pytest.fixture
def refused(workspace: Workspace, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs `dvc` in the copy; returns what it and its stages say as they refuse."""

    def run(*words: str) -> str:
        code, _, errors = run_dvc(*words, folder=workspace.folder)
        assert code != 0
        return errors + capfd.readouterr().err

    return run


@pytest.fixture
def bakeoff(built: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakeoff:
    """Exit code, output and errors of a command, in the folder that is the current one."""
    monkeypatch.chdir(built.folder)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return partial(run_bakeoff, monkeypatch, capsys)


def test_the_same_choice_through_each_door_renders_the_same_bytes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ref] = workspace.run("git", "for-each-ref", "--format=%(refname)", "refs/exps/**/door").stdout.split()
    through_dvc = workspace.run("git", "show", f"{ref}:{RUN}").stdout

    with monkeypatch.context() as there:
        there.chdir(workspace.folder)
        records, facts = Path("data/records"), Path(".bakeoff/networks")
        variant = read_variant(Path("params.yaml"), Path("conf"), records, facts=facts, overrides=CHANGES)
        variant.problems.raise_any()
        assert variant.run is not None
        write(variant.run, Path("through_words.yaml"))

    workspace.edit(
        "params.yaml", "lr: {use: cosine, warmup_steps: 0}", "lr: {use: exponential, peak: 0.5, warmup_steps: 1}"
    )
    workspace.edit("params.yaml", "seed: 0", "seed: 3")
    assert workspace.repro("render_config") == {"render_config"}
    through_params = (workspace.folder / RUN).read_text(encoding="utf-8")

    assert "kind: exponential\n  peak: 0.5\n" in through_params
    assert through_dvc == through_params
    assert (workspace.folder / "through_words.yaml").read_text(encoding="utf-8") == through_params


def test_an_experiment_on_run_yaml_itself_is_refused_with_the_one_that_works(
    workspace: Workspace, refused: Callable[..., str]
) -> None:
    """The other test ran what is proposed: `dvc exp run -S ++lr.peak=0.5`."""
    before = workspace.dvc("exp", "list", "--name-only")
    errors = refused("exp", "run", "--temp", "-S", f"{RUN}:lr.peak=0.5", "render_config")
    parts = (f"{RUN}: was edited", "lr.peak", "0.5", "0.003", "`dvc exp run -S ++lr.peak=0.5`", "params.yaml")
    assert missing_in(errors, *parts) == []
    assert workspace.dvc("exp", "list", "--name-only") == before


def test_a_hand_edit_of_run_yaml_is_refused_until_the_file_is_deleted(
    workspace: Workspace, refused: Callable[..., str]
) -> None:
    workspace.edit(RUN, "peak: 0.003", "peak: 0.5")
    assert f"{RUN}: was edited" in refused("repro", "render_config")
    done = workspace.run("python", "-m", "bakeoff.stages.train", ok=False)
    assert done.returncode != 0 and f"{RUN}: was edited" in done.stderr
    (workspace.folder / RUN).unlink()
    assert workspace.repro("render_config") in (set(), {"render_config"})  # DVC may have it in its cache
    assert "peak: 0.003" in (workspace.folder / RUN).read_text(encoding="utf-8")


def test_a_refused_variant_leaves_all_that_was_rendered(workspace: Workspace, refused: Callable[..., str]) -> None:
    before = {path.name: path.read_bytes() for path in (workspace.folder / RUN).parent.iterdir()}
    assert {"run.yaml", "lr.svg", "pipeline.config", "promise.yaml"} <= before.keys()
    workspace.edit("params.yaml", "{use: cosine,", "{use: cosin,")
    assert missing_in(refused("repro", "render_config"), "params.yaml:7: lr.use: ", "'cosin'", "conf/lr/") == []
    assert {path.name: path.read_bytes() for path in (workspace.folder / RUN).parent.iterdir()} == before
    workspace.edit("params.yaml", "{use: cosin,", "{use: cosine,")
    assert workspace.repro("render_config") == set()


def test_config_says_where_each_value_comes_from(bakeoff: Bakeoff) -> None:
    settings = json.loads(bakeoff("config", "--json", "lr.peak=0.5")[1])
    assert {key: settings[key]["from"] for key in (
        "variant.model", "variant.evaluate", "lr.peak", "lr.warmup_steps", "lr.kind", "lr.total_steps",
        "lr.hold_steps", "model.width", "model.anchors.scale", "model.input_size", "derived.steps", "seed",
    )} == {
        "variant.model": "params.yaml:5",
        "variant.evaluate": "experiment demo",
        "lr.peak": "command line",
        "lr.warmup_steps": "params.yaml:7",
        "lr.kind": "conf/lr/cosine.yaml:2",
        "lr.total_steps": "derived",
        "lr.hold_steps": "default",
        "model.width": "conf/model/ssd_tiny.yaml:3",
        "model.anchors.scale": "conf/model/ssd_small.yaml:5",
        "model.input_size": "params.yaml:5",
        "derived.steps": "derived",
        "seed": "params.yaml:13",
    }  # fmt: skip
    assert (settings["lr.peak"]["value"], settings["lr.total_steps"]["value"]) == (0.5, 2)


def test_config_of_two_revisions_shows_only_what_differs(
    workspace: Workspace, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(*names: str) -> dict[str, dict[str, object]]:
        return json.loads(bakeoff("config", "--json", *names)[1])

    monkeypatch.chdir(workspace.folder)
    workspace.edit("params.yaml", "seed: 0", "seed: 5")
    assert compared("HEAD") == {"seed": {"HEAD": 0, "workspace": 5}}
    workspace.render()
    workspace.commit()
    assert compared("HEAD~1", "HEAD") == {"seed": {"HEAD~1": 0, "HEAD": 5}}
    assert compared("HEAD", RUN) == {}
    differences = compared("door")
    assert differences["seed"] == {"door": 3, "workspace": 5}
    assert {key.partition(".")[0] for key in differences} == {"seed", "lr", "variant"}


def test_a_name_that_stands_for_nothing_is_refused(bakeoff: Bakeoff) -> None:
    for names, parts in (
        (["nowhere"], ("nowhere: no run", KINDS, "file", "(none)\n")),
        (["a", "b", "c"], ("a b c: ", "two")),
    ):
        code, output, errors = bakeoff("config", *names)
        assert (code, output) == (2, "") and missing_in(errors, *parts) == [] and errors.count("\n") == 1


def test_plan_outside_of_a_variant_that_can_run_says_what_is_wrong_with_it(bakeoff: Bakeoff) -> None:
    code, _, errors = bakeoff("plan", "lr.peak=high", "train.steps=0")
    assert code == 2
    first, second = errors.splitlines()
    assert missing_in(first, "command line: lr.peak: ", "number", "'high'") == []
    assert missing_in(second, "command line: train.steps: ", "1", "0") == []
