"""`bakeoff repro --on`: refused before any stage runs, if no cluster can be meant or Ray is not installed."""

import importlib.util
from pathlib import Path

import pytest

from bakeoff.app.cli.repro import take_option
from support.commands import run_bakeoff


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("arguments", [["--on", "slurm"], ["--on=slurm"], ["train", "--on", "slurm", "--force"]])
def test_a_value_that_names_no_cluster_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run_bakeoff(monkeypatch, capsys, "repro", *arguments)
    assert (code, errors) == (2, "--on: must be ray, ray://HOST:PORT or HOST:PORT, got 'slurm'\n")


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_nothing_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    code, output, errors = run_bakeoff(monkeypatch, capsys, "repro", "--on", "head:6379")
    assert (code, output) == (2, "") and "run `pip install 'ray>=2.60'`" in errors


def test_options_that_dvc_lacks_are_taken_from_its_arguments() -> None:
    arguments = ["train", "--on", "ray", "--note=why", "--force"]
    assert take_option(arguments, "--on") == (["train", "--note=why", "--force"], "ray")
    assert take_option(arguments, "--note") == (["train", "--on", "ray", "--force"], "why")
    assert take_option(["train", "--on"], "--on") == (["train", "--on"], None)
