"""A stage reads files: settings on its command line are refused, not dropped."""

import importlib
import sys
from pathlib import Path

import pytest
import yaml

from support.imports import ROOT
from support.messages import missing_in

STAGES = list(yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])


@pytest.mark.parametrize("words", [["lr=exponential"], ["--multirun", "seed=1,2"], ["--cfg", "job"], ["lr"]])
@pytest.mark.parametrize("name", STAGES)
def test_words_of_a_stage_are_refused(
    name: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *words])
    with pytest.raises(SystemExit) as end:
        importlib.import_module(f"bakeoff.stages.{name}").main()
    assert end.value.code == 2
    settings = [word for word in words if "=" in word]
    tries = [f"`bakeoff plan {settings[0]}`"] if settings else []
    parts = (f"bakeoff.stages.{name}: ", " ".join(words), "params.yaml", f"`dvc repro {name}`", *tries)
    output, errors = capsys.readouterr()
    assert output == "" and missing_in(errors, *parts, "`bakeoff sweep`") == [] and errors.count("\n") == 1
    assert ("`bakeoff plan" in errors) == bool(settings)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_says_what_it_does(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    stage = importlib.import_module(f"bakeoff.stages.{name}")
    with pytest.raises(SystemExit) as end:
        stage.main()
    assert end.value.code == 0
    assert " ".join(str(stage.__doc__).split()) in " ".join(capsys.readouterr().out.split())
