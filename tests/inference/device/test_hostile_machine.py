"""What a machine sends back is data of somebody else: hostile answers end in one line, in bounded time and memory."""

import io
import json
import os
import sys
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.inference.device import host as host_module
from bakeoff.inference.device.device_measurement import measure_on
from bakeoff.inference.device.host import ANSWERS, MEASURED, Host, find_host
from support.colour_model import write_colour_model
from support.messages import missing_in

ADDRESS = "ssh://pi@robot:2222"
PICTURES = [np.full((12, 9, 3), 200, np.uint8)] * 2
TIMES = {"p50": 1.0, "p90": 1.0, "p99": 1.0, "most": 1.0}
HONEST: dict[str, Any] = {
    "answer_ms": TIMES, "network_ms": TIMES, "memory_mb": 5.0, "load_s": 0.1, "calls": 2, "threads": 1, "cores": 4,
    "runtime": "onnxruntime 1", "machine": "Pi", "system": "Linux", "python": "3.11",
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_colour_model(tmp_path_factory.mktemp("model") / "model.onnx")


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Host]:
    """Return a machine behind an `ssh` that does what a line of a shell says, whatever it is asked."""

    def make(line: str) -> Host:
        (tmp_path / "bin").mkdir()
        script = tmp_path / "bin/ssh"
        script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
        return Host(ADDRESS, sys.executable)

    return make


def packed(file: Path, measured: bytes, answers: bytes, mode: str = "w") -> str:
    """Return the line that sends back these files."""
    with tarfile.open(file, mode) as archive:  # type: ignore[call-overload]
        for name, data in ((MEASURED, measured), (ANSWERS, answers)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return f"cat {file}"


def arrays(**values: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **values)
    return out.getvalue()


@pytest.mark.parametrize(
    "line", ["echo garbage", "true", "head -c 5000 /dev/urandom", "head -c 10240 /dev/zero"], ids=lambda line: line[:9]
)
def test_what_is_no_archive_is_refused(model: Path, answer: Callable[[str], Host], line: str) -> None:
    with pytest.raises(WorkspaceError, match="measure again"):
        measure_on(answer(line), model, PICTURES, 2, 1)


@pytest.mark.parametrize(
    "measured",
    [
        b"", b"[]", b"{", b"{}", b"null", b"\xff", b"[" * 100_000, b"9" * 10_000,
        *(json.dumps(HONEST | odd).encode() for odd in (
            {"answer_ms": [1, 2]}, {"answer_ms": TIMES | {"p50": 0}}, {"answer_ms": TIMES | {"p50": float("nan")}},
            {"memory_mb": "5"}, {"memory_mb": None}, {"load_s": True}, {"calls": -1}, {"threads": 10**400},
        )),
    ],
    ids=range(16),
)  # fmt: skip
def test_numbers_that_are_none_are_refused(
    model: Path, answer: Callable[[str], Host], tmp_path: Path, measured: bytes
) -> None:
    with pytest.raises(WorkspaceError) as error:
        measure_on(answer(packed(tmp_path / "a.tar", measured, b"")), model, PICTURES, 2, 1)
    assert not missing_in(str(error.value), "robot", "cannot be read", "measure again")
    assert str(error.value).isprintable() and len(str(error.value)) < 500


@pytest.mark.parametrize(
    "answers",
    [
        b"", b"PK\x03\x04", arrays(), arrays(**{"0.scores": np.array([object()])}),
        arrays(**{"0.scores": np.array("a")}),
        arrays(**{"0.scores": np.zeros(30_000_000)}),
    ],
    ids=["empty", "cut", "none", "pickled", "text", "bomb"],
)  # fmt: skip
def test_answers_that_are_none_are_refused(
    model: Path, answer: Callable[[str], Host], tmp_path: Path, answers: bytes
) -> None:
    line = packed(tmp_path / "a.tar", json.dumps(HONEST).encode(), answers)
    with pytest.raises(WorkspaceError, match="cannot be read"):
        measure_on(answer(line), model, PICTURES, 2, 1)


def test_an_archive_that_unpacks_to_more_is_not_unpacked(
    model: Path, answer: Callable[[str], Host], tmp_path: Path
) -> None:
    line = packed(tmp_path / "a.tar", json.dumps(HONEST).encode(), bytes(300_000_000), "w:gz")
    with pytest.raises(WorkspaceError, match="measure again"):
        measure_on(answer(line), model, PICTURES, 2, 1)


@pytest.mark.parametrize("line", ["cat /dev/zero", "yes >&2 & exec cat /dev/zero"])
def test_a_machine_that_does_not_stop_to_answer_is_cut_off(
    model: Path, answer: Callable[[str], Host], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(host_module, "MOST_BYTES", 5_000_000)
    monkeypatch.setattr(host_module, "SECONDS_TO_CONNECT", 1)  # so long it waits for the last words
    with pytest.raises(WorkspaceError, match=r"5,000,000 bytes"):
        measure_on(answer(line), model, PICTURES, 2, 1)
    for thread in threading.enumerate():
        if thread.name == host_module.READER:
            thread.join(30)
            assert not thread.is_alive()


def test_a_machine_that_does_not_answer_is_given_up(
    model: Path, answer: Callable[[str], Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "MOST_SECONDS", 1)
    with pytest.raises(WorkspaceError) as error:
        measure_on(answer("exec sleep 600"), model, PICTURES, 2, 1)
    assert not missing_in(str(error.value), ADDRESS, "--count", "--calls")


def test_words_of_a_machine_do_nothing_to_the_terminal(
    model: Path, answer: Callable[[str], Host], tmp_path: Path
) -> None:
    with pytest.raises(WorkspaceError) as error:
        measure_on(answer(r"printf '\033]0;owned\007%s\n' $(head -c 9000 /dev/zero | tr '\0' x) >&2; exit 3"), model,
                   PICTURES, 2, 1)  # fmt: skip
    assert str(error.value).isprintable() and len(str(error.value)) < 1000


@pytest.mark.parametrize(
    "address", ["ssh://pi@-oProxyCommand=x", "ssh://-l@robot", "ssh://a b@robot", "ssh://pi@ro`bot", "ssh://pi@r;x",
                "ssh://pi@robot#x", "ssh://$(id)@robot"],
)  # fmt: skip
def test_an_address_is_a_name_and_no_option_or_command(address: str) -> None:
    with pytest.raises(ConfigError, match="--on: must be like"):
        find_host(address, "python3")


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as error:
        find_host("ssh://pi:geheim@robot", "python3")
    assert "geheim" not in str(error.value) and "password" in str(error.value)
    assert find_host("ssh://[::1]:22", "python3").name == "::1"
