"""Commands print on consoles whose encodings lack some of their characters: real processes, as Windows starts them."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.dataset.records.manifest import Manifest, Shard, Split
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import print_on_any_console
from support.imports import ROOT
from support.made_runs import made
from support.run_journals import scores, write_run

PARAMS = """\
experiment: demo_images
data: image_folders
model: cnn_small
lr: cosine
train: {use: preset, steps: 400, epochs: null}
seed: 0
"""
ENCODINGS = ["cp932", "cp437", "latin-1", "ascii"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With two trained runs, one in flight, and records to render a variant for."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "conf", folder / "conf")
    (folder / "dvc.yaml").touch()
    (folder / "params.yaml").write_text(PARAMS, encoding="utf-8")
    split = Split(60, 60 * 48 * 48 * 3, 1, {"0": 60}, (Shard("train-00000-of-00001", 60, 1, "0"),))
    (folder / "data/records").mkdir(parents=True)
    Manifest("classification", ("cat", "dog"), {"train": split, "validation": split}).write(folder / "data/records")
    with pytest.MonkeyPatch.context() as there:
        there.chdir(folder)
        there.delenv("DVC_ROOT", raising=False)
        write_run("0" * 32, scores(0.5))
        write_run("1" * 32, lr__peak="0.1")
        made(Path(".bakeoff/runs"), "0" * 16, State.SUCCEEDED)
    return folder


@pytest.mark.parametrize(
    ("command", "words", "encoding"),
    [
        ("bakeoff compare", "  –", "cp932"),
        ("bakeoff compare", "  –", "ascii"),
        ("bakeoff status --all", " · cosine · ", "cp437"),
        ("bakeoff.stages.render_config", " · cosine · ", "cp932"),
        ("bakeoff.stages.render_config", " · cosine · ", "latin-1"),
    ],
)
def test_a_command_prints_in_any_encoding(command: str, words: str, encoding: str, workspace: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "0"}
    environment.pop("DVC_ROOT", None)
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=workspace, env=environment, capture_output=True)
    out, errors = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert done.returncode == 0, out + errors
    assert "Error" not in errors
    assert words.encode(encoding, "replace").decode(encoding).replace("?", "-") in out


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("words", ["  –", " · cosine · "])
def test_what_any_command_prints_is_readable_in_any_encoding(
    words: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    monkeypatch.setattr(sys, "stdout", out)
    print_on_any_console()
    print(words, end="", flush=True)
    shown = words.encode(encoding, "replace").decode(encoding).replace("?", "-")
    assert out.buffer.getvalue().decode(encoding) == shown  # type: ignore[attr-defined]


def test_what_an_encoding_lacks_is_spelt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    out, errors = (
        io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=how) for how in ("strict", "backslashreplace")
    )
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", errors)
    print_on_any_console()
    print("0.5 ± 0.1 (0.4–0.6) …", "日本", "a\udcffb", flush=True)
    print("a · b", file=sys.stderr, flush=True)
    assert out.buffer.getvalue() == b"0.5 +- 0.1 (0.4-0.6) ... \\u65e5\\u672c a\\udcffb\n"  # type: ignore[attr-defined]
    assert errors.buffer.getvalue() == b"a - b\n"  # type: ignore[attr-defined]


def test_a_file_name_that_is_no_text_is_printed_though_the_encoding_has_every_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    monkeypatch.setattr(sys, "stdout", out)
    print_on_any_console()
    print("a\udcff·", flush=True)
    assert out.buffer.getvalue() == "a\\udcff·\n".encode()  # type: ignore[attr-defined]


def test_what_a_user_has_chosen_for_such_characters_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    monkeypatch.setattr(sys, "stdout", out)
    print_on_any_console()
    print("a · b", flush=True)
    assert out.buffer.getvalue() == b"a ? b\n"  # type: ignore[attr-defined]
