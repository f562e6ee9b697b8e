"""An exported file on a machine: what is timed, what is compared, and the errors about what a machine lacks."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bakeoff.app import cli
from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError
from bakeoff.inference.device.device_measurement import compare_answers, find_images, measure_on
from bakeoff.inference.device.host import Host, find_host
from support.colour_model import write_colour_model
from support.messages import missing_in

HERE = Host(None, sys.executable)
SSH = """\
while [ "$1" != -- ]; do shift; done
echo "$2" > "{called}"
exec sh -c "$3"\
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_colour_model(tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture
def pictures() -> list[np.ndarray]:
    return [np.full((12, 9, 3), colour, np.uint8) for colour in ((250, 0, 0), (0, 250, 0), (10, 20, 30))]


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A machine behind an `ssh` that runs its command in a shell of this one; test_ssh.py has a real one."""
    (tmp_path / "bin").mkdir()
    _make_script(tmp_path / "bin/ssh", SSH.format(called=tmp_path / "called"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return Host("ssh://pi@robot:2222", sys.executable)


def test_a_machine_is_timed_and_answers_as_this_one(model: Path, pictures: list[np.ndarray]) -> None:
    measured, parity = measure_on(HERE, model, pictures, calls=7, threads=1)
    assert (measured["calls"], measured["threads"], measured["cores"]) == (7, 1, os.cpu_count())
    times = measured["answer_ms"]
    assert 0 < times["p50"] <= times["p90"] <= times["p99"] <= times["most"]
    assert 0 < measured["network_ms"]["p50"]
    assert 10 < measured["memory_mb"] < 300  # of that process, without TensorFlow, which this one has loaded
    assert measured["runtime"].startswith("onnxruntime ")
    assert missing_in(str(parity), "3 of 3 images", "up to 0") == []


def test_a_machine_that_ssh_reaches_leaves_nothing_behind(
    model: Path, pictures: list[np.ndarray], robot: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "there"))
    measured, parity = measure_on(robot, model, pictures, calls=2, threads=1)
    assert (tmp_path / "called").read_text() == "pi@robot\n"
    assert measured["calls"] == 2 and parity.same == 3
    assert not list((tmp_path / "there").iterdir())


def test_a_machine_without_a_fitting_python_is_reported(
    model: Path, pictures: list[np.ndarray], robot: Host, tmp_path: Path
) -> None:
    missing = r"ssh://pi@robot:2222: .*python9.*3\.11.*--python"
    with pytest.raises(WorkspaceError, match=missing):
        measure_on(replace(robot, python="python9"), model, pictures, 2, 1)
    old = _make_script(tmp_path / "old", "exit 97")
    with pytest.raises(WorkspaceError, match=rf"{old} is older .*3\.11.*--python"):
        measure_on(replace(robot, python=old), model, pictures, 2, 1)
    with pytest.raises(WorkspaceError, match="--python python9: cannot be run"):
        measure_on(replace(HERE, python="python9"), model, pictures, 2, 1)


def _make_script(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_machine_without_numpy_or_runtime_says_what_to_install(
    model: Path, pictures: list[np.ndarray], robot: Host, tmp_path: Path
) -> None:
    bare = _make_script(tmp_path / "bare", f'exec {sys.executable} -S "$@"')
    with pytest.raises(WorkspaceError, match=r"robot:2222: .*`pip install numpy`"):
        measure_on(replace(robot, python=bare), model, pictures, 2, 1)


def test_an_unreachable_machine_is_reported(model: Path, pictures: list[np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"ssh://nobody@127.0.0.1:9: cannot be reached \(.+\); `ssh ssh://nobody"):
        measure_on(Host("ssh://nobody@127.0.0.1:9", "python3"), model, pictures, 2, 1)


@pytest.mark.parametrize(
    "address", ["pi@10.0.0.5", "http://10.0.0.5", "ssh://", "ssh://-oProxy=x", "ssh://pi:x@a:99999", "ssh://a/b"]
)
def test_another_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="--on: must be like ssh://pi@10.0.0.5"):
        find_host(address, "python3")


def test_answers_that_differ_are_counted() -> None:
    own = [{"boxes": np.zeros((2, 4)), "scores": np.array([0.9, 0.5]), "classes": np.array([1, 2])} for _ in range(4)]
    there = [
        own[0], {**own[1], "scores": np.array([0.9, 0.52])}, {**own[2], "classes": np.array([1, 1])},
        {name: value[:1] for name, value in own[3].items()},
    ]  # fmt: skip
    parity = compare_answers(own, there)
    assert (parity.images, parity.same) == (4, 1) and parity.largest == pytest.approx(0.02)


def test_images_are_taken_at_even_distances(tmp_path: Path) -> None:
    for number in range(5):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / f"{number}.png")
    (tmp_path / "film.mp4").write_bytes(b"no film")
    assert [int(image[0, 0, 0]) for image in find_images([str(tmp_path)], 3)] == [0, 2, 4]
    with pytest.raises(DataError, match=r"--images: no image is there"):
        find_images([str(tmp_path / "film.mp4")], 3)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bakeoff", "measure", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_command_needs_no_workspace_for_a_file_and_images(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGB", (20, 10), (200, 10, 10)).save(tmp_path / "red.png")
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, str(model), "--images", "red.png", "--calls", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("measure: model.onnx on this machine, ") and " frames a second; " in lines[1]
    assert missing_in(lines[-1], "1 of 1 images", "up to 0") == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["model.onnx", "--images", "a.png", "--calls", "0"], ("--calls: ", "1", "100,000", "0")),
        (["model.onnx", "--images", "a.png", "--as", "my pi"], ("--as: ", "'.'", "'-'", "'_'")),
        (["other.onnx", "--images", "a.png"], ("other.onnx: no such file", "`dvc repro export`")),
        (["model.onnx"], ("not in a bakeoff workspace",)),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str],
    parts: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert missing_in(error, *parts) == [] and error.count("\n") == 1
