"""Install a lock into the environment of this interpreter: `.venv/bin/python environment.py requirements.lock`.

`make` runs it with the Python of `.venv`. It needs nothing but the standard library.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

DEV = "requirements-dev.lock"  # what only working on the project needs, beside another lock
PACKAGES = Path(sysconfig.get_path("purelib"))
# What nothing imports: headers for compiling against a library, and the libraries' own tests.
LEFT_OUT = (
    "tensorflow/include", "pyarrow/include", "pyarrow/tests", "pandas/tests", "onnx/backend/test",
    "numpy/**/tests", "scipy/**/tests", "sklearn/**/tests",
)  # fmt: skip
# On Linux, a fifth of these libraries is tables of names that only debuggers read.
WITHOUT_SYMBOLS = ("tensorflow", "pyarrow")
WORTH_CUTTING = 1_000_000  # bytes
ELF64 = b"\x7fELF\x02\x01"  # how a library of Linux begins: 64 bits, the lowest byte first
# Importing compiles to byte code. Each line is a process, so that two cores share the work.
USED = (
    "from bakeoff.foundation.tf_loading import load_tensorflow; load_tensorflow(); "
    "import bakeoff.stages.build_records, bakeoff.stages.render_config, bakeoff.stages.train, "
    "bakeoff.stages.evaluate, bakeoff.stages.export",
    "import dvc.cli.parser, dvc.repo, bakeoff.tracking.store.mlflow_client, mlflow.pyfunc, scipy.stats",
)
TENSORFLOW = ("tensorflow", "tensorflow-cpu")  # have the same files; an environment has one of them
# pip's settings and the variables by which uv knows the same.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}


def main(lock: Path) -> None:
    uv, settings = find_uv(lock)

    def install(*words: str) -> None:
        command = [uv, "pip", *words[:1], "--python", sys.executable, *words[1:]]
        subprocess.run(command, env=settings | os.environ | {"BAKEOFF_CLONE": "1"}, check=True)

    for package in set(TENSORFLOW) - pinned(lock.read_text(encoding="utf-8"), sys.platform):
        install("uninstall", "--quiet", package)
    install("install", "--no-deps", "--require-hashes", "--requirement", str(lock))
    if lock.name != DEV:
        install("install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ".")
        leave_out(PACKAGES)
        for package in WITHOUT_SYMBOLS:
            cut_symbols(PACKAGES / package)
        compile_used()


def find_uv(lock: Path) -> tuple[str, dict[str, str]]:
    """Return the machine's uv; else the one that a lock pins, with what pip is told of package indexes."""
    scripts, found = Path(sysconfig.get_path("scripts")), shutil.which("uv")
    if found and (find_spec("pip") is None or Path(found).resolve().parent != scripts.resolve()):
        return found, {}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if lock.name != DEV:
        pin = Path(sys.prefix) / "uv.txt"
        pin.write_text(section(lock.read_text(encoding="utf-8"), "uv"), encoding="utf-8")
        subprocess.run([*pip, "install", "--quiet", "--require-hashes", "--requirement", str(pin)], check=True)
    told = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True).stdout
    return str(scripts / "uv"), uv_settings(told.splitlines())


def section(lock: str, package: str) -> str:
    """Return the lines of a lock that pin a package, with its hashes."""
    found = re.search(rf"(?m)^{re.escape(package)}==.*(\n .*)*", lock)
    if found is None:
        sys.exit(f"the lock pins no {package}: write it again with `make lock`")
    return found[0] + "\n"


def uv_settings(lines: Iterable[str]) -> dict[str, str]:
    """Translate what `pip config list` prints to uv's variables: global.index-url='…' is UV_DEFAULT_INDEX.

    Of a setting that is there more than once, the last counts: pip lists variables of the environment last.
    """
    settings = {}
    for line in lines:
        key, _, value = line.partition("=")
        scope, _, name = key.partition(".")
        if scope in ("global", "install", ":env:") and name in SETTINGS:
            settings[SETTINGS[name]] = value.strip("'\"")
    if "UV_INDEX" in settings:  # pip takes a package from any of its indexes; the hashes say which files are meant
        settings["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return settings


def pinned(lock: str, system: str) -> set[str]:
    """Return which of TensorFlow's packages a lock installs here."""
    lines = [line for line in lock.splitlines() if line.startswith(tuple(f"{name}==" for name in TENSORFLOW))]
    if len(lines) < 2:
        return {line.partition("==")[0] for line in lines} or set(TENSORFLOW)
    is_cpu_build = system == "linux" and os.uname().machine == "x86_64"
    return {TENSORFLOW[is_cpu_build]}


def leave_out(packages: Path) -> None:
    for pattern in LEFT_OUT:
        for folder in list(packages.glob(pattern)):
            shutil.rmtree(folder, ignore_errors=True)


def cut_symbols(folder: Path) -> None:
    """Cut from each library what stands behind its last byte that is loaded: names for debuggers, and section headers.

    The short library is a new file in the place of the old one, because uv's cache may have the old one by a hard link.
    """
    for library in folder.rglob("*.so*"):
        loaded = loaded_size(library) if library.is_file() and not library.is_symlink() else None
        if loaded is None or library.stat().st_size - loaded < WORTH_CUTTING:
            continue
        short = library.with_name(f"{library.name}.short")
        with library.open("rb") as long, short.open("wb") as file:
            header = bytearray(long.read(64))
            struct.pack_into("<Q", header, 40, 0)  # where the section headers begin
            struct.pack_into("<HH", header, 60, 0, 0)  # how many there are, and which of them has their names
            file.write(header)
            while file.tell() < loaded:
                file.write(long.read(min(1 << 20, loaded - file.tell())))
        shutil.copymode(library, short)
        os.replace(short, library)


def loaded_size(library: Path) -> int | None:
    """Return how many bytes of a library of Linux the loader may ask for, or None if it is another kind of file."""
    with library.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or not header.startswith(ELF64):
            return None
        (start,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(start)
        table = file.read(size * count)
    segments = [struct.unpack_from("<Q16xQ", table, 8 + number * size) for number in range(count)]
    return max(start + size * count, *(offset + length for offset, length in segments), 64)


def compile_used() -> None:
    """Compile what the stages load, even where Python may not write byte code (PYTHONDONTWRITEBYTECODE).

    Every stage is a process of its own. Each would compile TensorFlow anew, 10 seconds instead of 4.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    children = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", line], env=own) for line in USED]
    if any([child.wait() for child in children]):
        sys.exit("what was installed cannot be loaded: the lines above say why; delete .venv and set it up anew")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
