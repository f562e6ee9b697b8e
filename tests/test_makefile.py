"""What `make` says and does while it sets up the environment."""

import os
import re
import shutil
import struct
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

from support.imports import ROOT
from support.messages import missing_in

SIZES = {"": "0.6 GB to download, 1.8 GB on disk", "1": "3.7 GB to download, 6.6 GB on disk"}
LOCKS = {"": ("requirements.lock", ".venv/ready"), "1": ("requirements-gpu.lock", ".venv/ready-gpu")}
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="GPUs are for Linux")
spec = spec_from_file_location("environment", ROOT / "environment.py")
assert spec and spec.loader
environment = module_from_spec(spec)
spec.loader.exec_module(environment)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("uv", ["", "uv 0.9"])
@pytest.mark.parametrize("gpu", ["", pytest.param("1", marks=ON_LINUX)])
def test_setting_up_says_how_much_it_is_and_installs_the_lock(uv: str, gpu: str) -> None:
    lock, ready = LOCKS[gpu]
    words = ["make", "-n", "-W", lock, f"UV={uv}", f"GPU={gpu}", ready]
    own = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}  # not of a make that tests
    lines = subprocess.run(words, cwd=ROOT, env=own, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == f'echo "setting up .venv: about {SIZES[gpu]}; later calls find it ready"'
    [install] = [line for line in lines if "environment.py" in line]
    assert install.startswith(".venv/") and install.endswith(f"/python environment.py {lock}")
    [make] = [line for line in lines if "venv --quiet" in line or "-m venv" in line]
    assert make.startswith("uv venv") == bool(uv)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_audit_names_the_command_for_a_missing_program_and_a_missing_network_in_one_line(tmp_path: Path) -> None:
    own = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    (tmp_path / ".venv").mkdir()
    (tmp_path / "requirements.lock").touch()
    make = ["make", "--silent", "-f", str(ROOT / "Makefile"), "audit"]
    done = subprocess.run([*make, "AUDIT=nowhere/pip-audit"], cwd=tmp_path, env=own, capture_output=True, text=True)
    assert missing_in(done.stderr.splitlines()[0], "make audit: ", "pip-audit is not installed", "install") == []
    trace = f"{sys.executable} -c 'import sys; sys.argv[1:] == [\"--version\"] or sys.exit(1 / 0)'"
    done = subprocess.run([*make, f"AUDIT={trace}"], cwd=tmp_path, env=own, capture_output=True, text=True)
    assert missing_in(done.stderr.splitlines()[0], "make audit: ", "network", ".venv/audit.log") == []
    assert done.returncode != 0 and "Traceback" not in done.stderr


def test_actions_of_the_workflows_are_pinned_by_commit_with_their_version_beside() -> None:
    lines = [
        line.partition("uses: ")[2]
        for file in (ROOT / ".github/workflows").glob("*.yml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses: " in line
    ]
    pinned = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert lines and [line for line in lines if not pinned.fullmatch(line)] == []


def test_the_readme_says_the_same_sizes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"downloads 0\.6 GB .*\b1\.8 GB on disk", readme)


@pytest.mark.parametrize(("lock", "_"), LOCKS.values())
def test_every_lock_pins_the_uv_that_installs_it_with_hashes(lock: str, _: str) -> None:
    lines = environment.section((ROOT / lock).read_text(encoding="utf-8"), "uv").splitlines()
    assert lines[0].startswith("uv==") and len(lines) > 10
    assert all(line.startswith("    --hash=sha256:") for line in lines[1:])


def test_a_lock_without_uv_is_refused() -> None:
    with pytest.raises(SystemExit, match="^the lock .*no uv.*`make lock`"):
        environment.section("uvicorn==1.0 \\\n    --hash=sha256:00\n", "uv")


def test_uv_asks_the_package_indexes_that_pip_would_ask() -> None:
    lines = [
        "global.index-url='https://one.example/simple'",
        "global.extra-index-url='file:///more/simple file:///other'",
        "install.trusted-host='one.example'",
        "global.timeout='60'",
        ":env:.index-url='https://two.example/simple'",
    ]
    assert environment.uv_settings(lines) == {
        "UV_DEFAULT_INDEX": "https://two.example/simple",
        "UV_INDEX": "file:///more/simple file:///other",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_INSECURE_HOST": "one.example",
    }
    assert environment.uv_settings([]) == {}


def test_the_tensorflow_of_another_lock_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    cpus, gpus, dev = ((ROOT / f"requirements{name}.lock").read_text(encoding="utf-8") for name in ("", "-gpu", "-dev"))
    assert environment.pinned(gpus, "linux") == environment.pinned(cpus, "darwin") == {"tensorflow"}
    assert environment.pinned(dev, "linux") == {"tensorflow", "tensorflow-cpu"}  # it takes none away
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        assert environment.pinned(cpus, "linux") == {"tensorflow-cpu"}


def test_headers_and_the_libraries_own_tests_are_left_out(tmp_path: Path) -> None:
    gone = ("tensorflow/include/a", "numpy/linalg/tests", "numpy/tests", "onnx/backend/test/case")
    kept = ("tensorflow/python", "numpy/testing", "scipy/stats", "other/tests", "onnx/backend/base")
    for folder in gone + kept:
        (tmp_path / folder).mkdir(parents=True)
    environment.leave_out(tmp_path)
    assert [folder for folder in gone + kept if (tmp_path / folder).exists()] == list(kept)


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of Linux")
def test_a_library_without_its_names_for_debuggers_is_shorter_and_still_works(tmp_path: Path) -> None:
    shutil.copytree(Path(yaml.__file__).parent, tmp_path / "yaml")
    [library] = (tmp_path / "yaml").glob("_yaml*.so")
    before, mode = library.read_bytes(), library.stat().st_mode
    linked = tmp_path / "in uv's cache"
    os.link(library, linked)
    (tmp_path / "yaml" / "notes.so").write_text("no library")
    environment.cut_symbols(tmp_path)
    after = library.read_bytes()
    assert len(after) < len(before) - environment.WORTH_CUTTING and after[64:] == before[64 : len(after)]
    assert linked.read_bytes() == before and library.stat().st_mode == mode
    assert sorted(file.name for file in (tmp_path / "yaml").glob("*.so*")) == [library.name, "notes.so"]
    code = "import sys, yaml; print(yaml.__file__, yaml.load(sys.argv[1], yaml.CSafeLoader))"
    command = [sys.executable, "-c", code, "{lr: [0.1, cosine]}"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout == f"{tmp_path / 'yaml' / '__init__.py'} {{'lr': [0.1, 'cosine']}}\n", done.stderr


def test_what_the_loader_asks_for_ends_with_the_last_segment(tmp_path: Path) -> None:
    header = struct.pack("<16s16xQQ6xHH6x", environment.ELF64, 64, 500, 56, 2)
    segments = [struct.pack("<IIQ16xQ16x", 1, 5, offset, size) for offset, size in ((0, 176), (300, 40))]
    library = tmp_path / "a.so"
    library.write_bytes(header + b"".join(segments) + bytes(400))
    assert environment.loaded_size(library) == 340
    library.write_bytes(b"\xcf\xfa\xed\xfe" + bytes(600))  # a library of macOS
    assert environment.loaded_size(library) is None
