"""A model measured through a real ssh server on this machine. Needs Debian's openssh-server."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.inference.device.device_measurement import measure_on
from bakeoff.inference.device.host import find_host
from support.colour_model import write_colour_model
from support.messages import missing_in

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(SSHD is None, reason="no sshd: install openssh-server")]


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on 127.0.0.1, and a client that knows its key and has one of its own."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # an empty folder, without which it does not start
    settings = {
        "ListenAddress": "127.0.0.1", "Port": port, "HostKey": tmp_path / "host", "PidFile": "none", "UsePAM": "no",
        "AuthorizedKeysFile": tmp_path / "user.pub", "StrictModes": "no", "PasswordAuthentication": "no",
    }  # fmt: skip
    options = [text for key, value in settings.items() for text in ("-o", f"{key}={value}")]
    server = subprocess.Popen([str(SSHD), "-D", "-e", "-f", "/dev/null", *options], stderr=subprocess.DEVNULL)
    known = (tmp_path / "host.pub").read_text(encoding="utf-8").split()[:2]
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {' '.join(known)}\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    command, real = tmp_path / "bin/ssh", shutil.which("ssh")
    keys = f"-F /dev/null -i {tmp_path / 'user'} -o UserKnownHostsFile={tmp_path / 'known'}"
    command.write_text(f'#!/bin/sh\nexec {real} {keys} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    for _ in range(100):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}"
    server.terminate()
    server.wait(10)


def test_a_model_is_measured_through_ssh(address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = write_colour_model(tmp_path / "model.onnx")
    pictures = [np.full((12, 9, 3), colour, np.uint8) for colour in ((250, 0, 0), (0, 250, 0), (10, 20, 30))]
    host = find_host(address, sys.executable)
    measured, parity = measure_on(host, model, pictures, calls=20, threads=1)
    assert host.name == "127.0.0.1" and measured["calls"] == 20 and measured["answer_ms"]["p50"] > 0
    assert missing_in(str(parity), "3 of 3 images", "up to 0") == []
    (tmp_path / "known").write_text("", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"cannot be reached \(Host key verification failed.\)"):
        measure_on(host, model, pictures, calls=20, threads=1)
