"""`python -m bakeoff.multirun` on a workspace, and real launchers and sweepers of Hydra's, which the proofs install."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bakeoff.app.cli.multirun import main
from bakeoff.learning.run_file.read_write import unsealed
from support.extra_packages import extra_packages, python_path
from support.messages import missing_in
from support.workspace_copy import Workspace

Multirun = Callable[..., tuple[int, str, str]]
MULTIRUN = ("python", "-m", "bakeoff.multirun")
RUN = "models/config/run.yaml"
SIX = "lr=cosine,exponential seed=range(0,3)"
PROVED = {  # arguments, and the package that has the plugin
    SIX: None,
    f"{SIX} hydra/launcher=joblib hydra.launcher.n_jobs=2": "hydra-joblib-launcher==1.2.0",
    f"{SIX} hydra/launcher=submitit_local": "hydra-submitit-launcher==1.2.0",
    "lr.peak=interval(0.001,0.1) hydra/sweeper=optuna hydra.sweeper.n_trials=6 hydra.sweeper.n_jobs=2 "
    "hydra.sweeper.direction=maximize hydra.sweeper.sampler.seed=1": "hydra-optuna-sweeper==1.3.0",
}


@pytest.fixture
def multirun(built: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Multirun:
    """Return a function that runs the application in this process, and returns its exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(built.folder)
        monkeypatch.setattr(sys, "argv", ["multirun", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run


def test_cfg_job_prints_what_run_yaml_says(built: Workspace, multirun: Multirun, tmp_path: Path) -> None:
    expected = unsealed(yaml.safe_load((built.folder / RUN).read_text(encoding="utf-8")))
    assert yaml.safe_load(multirun("--cfg", "job")[1]) == expected
    other = built.copy(tmp_path / "clone")
    other.edit("params.yaml", "lr: {use: cosine, w", "lr: {use: exponential, peak: 0.01, w")
    other.edit("params.yaml", "seed: 0", "seed: 0\nnote: other")
    other.edit("params.yaml", "memory: {use: preset}", "memory: {use: low, decode_threads: 1}")
    other.render()
    expected = unsealed(yaml.safe_load((other.folder / RUN).read_text(encoding="utf-8")))
    arguments = ("lr=exponential", "lr.peak=0.01", "memory=low", "memory.decode_threads=1", "note=other")
    assert yaml.safe_load(multirun("--cfg", "job", *arguments)[1]) == expected
    assert yaml.safe_load(multirun("-c", "job", "-p", "lr", *arguments)[1]) == expected["lr"]


def test_what_stands_nowhere_is_refused_before_it_is_printed(multirun: Multirun) -> None:
    code, output, errors = multirun("--cfg", "job", "lr=cosin")
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert missing_in(errors, "command line", "lr.use", "'cosin'", "conf/lr/", "'cosine'") == []
    assert missing_in(multirun("--config-name", "other")[2], "--config-name", "conf/") == []


def test_hydras_own_questions_are_answered(built: Workspace, multirun: Multirun) -> None:
    groups = multirun("--help")[1]
    assert "\nmemory: auto, frc, high, inception, inception_4, low, medium, very_high\n" in groups
    assert "\ndata:\n  kind: digit_scenes\n" in groups
    defaults = built.run(*MULTIRUN, "--info", "defaults", "lr=exponential").stdout  # Hydra then logs more from now on
    assert re.search(r"^\| lr/exponential +\| lr +\| False +\| params", defaults, re.MULTILINE)
    assert re.search(r"^\| hydra/launcher/dvc ", defaults, re.MULTILINE)


def test_bash_completes_options_keys_and_launchers(built: Workspace, tmp_path: Path) -> None:
    script = tmp_path / "bakeoff-multirun"
    script.write_text("#!/usr/bin/env python\nfrom bakeoff.app.cli.multirun import main\nmain()\n")
    script.chmod(0o755)
    asks = """
        PATH="$1:$PATH"
        eval "$(bakeoff-multirun --shell-completion install=bash)"
        ask() {
            COMP_LINE="bakeoff-multirun $*"; COMP_POINT=${#COMP_LINE}; COMP_CWORD=$#
            hydra_bash_completion; echo "${COMPREPLY[@]}"
        }
        ask --multirun memory=low lr=co
        ask hydra/launcher=d
        ask lr.p
    """
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    done = built.run("bash", "-c", asks, "bash", str(tmp_path))
    assert done.stdout.splitlines() == ["lr=constant lr=cosine lr=cosine_short", "hydra/launcher=dvc", "lr.peak="]


@pytest.mark.long
def test_hydras_mode_and_its_own_folder_are_as_elsewhere(built: Workspace, tmp_path: Path) -> None:
    workspace = built.copy(tmp_path / "clone")
    arguments = ("hydra.mode=MULTIRUN", "seed=1", "hydra.sweep.dir=notes", "hydra.launcher.until=render_config")
    done = workspace.run(*MULTIRUN, *arguments, "hydra.launcher.jobs=2", "hydra.launcher.note=one seed")
    rows = re.findall(r"^seed=(\d) +(sweep-[\d-]+) +- +done$", done.stdout, re.MULTILINE)
    assert [seed for seed, _ in rows] == ["1"]
    assert sorted(workspace.dvc("exp", "list", "--name-only").split()) == [name for _, name in rows]
    assert yaml.safe_load((workspace.folder / "notes/multirun.yaml").read_text())["hydra"]["launcher"]["jobs"] == 2
    [manifest] = (workspace.folder / ".bakeoff/sweeps").glob("*/manifest.json")
    assert json.loads(manifest.read_text())["note"] == "one seed"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", PROVED)
def test_six_configurations_are_experiments_and_children_of_one_run(
    arguments: str, built: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher or sweeper is the real package."""
    if package := PROVED[arguments]:
        monkeypatch.setenv("PYTHONPATH", python_path(extra_packages(package)))
    workspace = built.copy(tmp_path / "clone")
    workspace.run(*MULTIRUN, "--multirun", *arguments.split())
    experiments = workspace.run("dvc", "exp", "list", "--name-only").stdout.split()
    assert len(experiments) == 6
    children = """
        import sys
        from mlflow import MlflowClient
        client = MlflowClient("sqlite:///mlflow.db")
        [experiment] = [one for one in client.search_experiments() if one.name == "bakeoff"]
        for run in client.search_runs([experiment.experiment_id]):
            print(run.info.run_id, run.data.tags.get("mlflow.parentRunId"), run.data.tags.get("DVC_EXP_NAME"))
    """
    workspace.run("bakeoff", "track", "sync")
    lines = workspace.run("python", "-c", re.sub(r"(?m)^ {8}", "", children)).stdout.splitlines()
    runs = [line.split() for line in lines]
    [parent] = [run for run, above, _ in runs if above == "None"]
    assert sorted(name for _, above, name in runs if above == parent) == sorted(experiments)
