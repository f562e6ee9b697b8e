"""The bakeoff that made a run -> the Python of an environment that has it, beside this one.

A run's tags name the version, the address that it was installed from, and a digest of its code. An environment is
built once, below the user's cache folder. It borrows this environment's libraries where they are the run's, and then
takes a second; else it has its own.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import hash_file, write_whole
from bakeoff.foundation.installed import HASH, NAME, local_file
from bakeoff.foundation.shipped import code_digest
from bakeoff.foundation.versions import package_of
from bakeoff.tracking.sync.system_metrics import CODE_TAG, INSTALLED_TAG, VERSION_TAG, versions

READY = "ready"  # a file that is written last
DIGEST = "from bakeoff.foundation.shipped import code_digest; print(code_digest())"
BORROWED = "libraries.pth"
MOST_LETTERS = 40  # of a version, in the name of a folder
PINNED = ("tensorflow", "keras", "numpy")
WITHOUT_GPU, WITH_GPU, BESIDE = "train", "gpu", "beside-tensorflow"  # extras


@dataclass(frozen=True)
class Maker:
    """The bakeoff that made a run."""

    version: str
    address: str | None
    code: str
    libraries: str  # `python 3.11.2, tensorflow 2.21.0, …`

    @classmethod
    def of(cls, tags: Mapping[str, str]) -> "Maker | None":
        """Return None for a run whose commit has the code, and for one of a version that noted none of this."""
        if not (code := tags.get(CODE_TAG)):
            return None
        return cls(
            tags.get(VERSION_TAG, "unknown"), tags.get(INSTALLED_TAG), code, tags.get("bakeoff.versions", "unknown")
        )

    @property
    def is_here(self) -> bool:
        """Whether the installed code is the same."""
        return self.code == code_digest()

    @property
    def label(self) -> str:
        return f"{NAME} {self.version}"

    def find_lack(self) -> str | None:
        """Return why it cannot be installed; None if nothing speaks against it."""
        if self.address is None:
            return f"{self.label} made it, and where that was installed from was not noted"
        url, _, digest = self.address.partition(HASH)
        file = local_file(url)
        if file is None:
            return None
        if not file.exists():
            return f"{file}: is not there, from which {self.label} was installed; bring it back to this place"
        if digest and file.is_file() and hash_file(file) != digest:
            return f"{file}: is another file than {self.label} was installed from, whose SHA-256 was {digest[:12]}…"
        return None


def is_built(maker: Maker) -> bool:
    """Return whether its environment is there already."""
    folder = _folder_of(maker)
    return (folder / READY).is_file() and _python_in(folder).is_file()


def python_of(maker: Maker, show: Callable[[str], None]) -> Path:
    """Return the Python of an environment with this bakeoff; build it where there is none. Raises WorkspaceError."""
    folder = _folder_of(maker)
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = _python_in(folder)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if is_built(maker):
            return python
        borrows = maker.libraries == versions()
        if not borrows or not _build(folder, python, maker, borrows=True):
            show(f"{maker.label}: is installed with its own libraries, which takes minutes")
            _build(folder, python, maker, borrows=False)
        found = _run([str(python), "-I", "-c", DIGEST], maker).strip()
        if found != maker.code:
            raise WorkspaceError(f"{maker.address}: holds other code than {maker.label} had when it made the run")
        write_whole(folder / READY, f"{maker.address}\n", lasting=True)
    return python


def _folder_of(maker: Maker) -> Path:
    name = hashlib.sha256(f"{maker}".encode()).hexdigest()[:12]
    version = re.sub(r"[^0-9A-Za-z.+-]", "_", maker.version)[:MOST_LETTERS].lstrip(".")
    return _cache() / f"{version}-{name}"


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _build(folder: Path, python: Path, maker: Maker, *, borrows: bool) -> bool:
    """Make an environment; return False if borrowed libraries do not do."""
    assert maker.address
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], maker)
    url = maker.address.partition(HASH)[0] if local_file(maker.address) else maker.address
    if not borrows:
        extra = WITHOUT_GPU if package_of("tensorflow") == "tensorflow-cpu" else WITH_GPU
        known = dict(part.split(" ", 1) for part in maker.libraries.split(", ") if " " in part)
        pins = [f"{package_of(name)}=={known[name]}" for name in PINNED if name in known]
        _run([*_installer(python), f"{NAME}[{extra}] @ {url}", *pins], maker)
        return True
    _run([*_installer(python), "--no-deps", f"{NAME} @ {url}"], maker)
    packages = _run([str(python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], maker).strip()
    # A path in such a file is searched, but its own such files, as of an editable install, are not read.
    here = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    write_whole(Path(packages) / BORROWED, "".join(f"{path}\n" for path in here))
    [installed] = [one for one in distributions(path=[packages]) if one.metadata["Name"] == NAME]
    return not any(_list_unmet(installed))


def _list_unmet(installed: Distribution) -> Iterator[str]:
    """Yield what the package requires besides TensorFlow, and this environment does not have."""
    from packaging.requirements import Requirement

    for text in installed.requires or ():
        required = Requirement(text)
        wanted = required.marker is None or any(required.marker.evaluate({"extra": extra}) for extra in ("", BESIDE))
        try:
            if wanted and not required.specifier.contains(version(required.name), prereleases=True):
                yield text
        except PackageNotFoundError:
            yield text


def _installer(python: Path) -> list[str]:
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", str(python)]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    raise WorkspaceError("neither uv nor pip is here, which would install another version; install uv")


def _run(command: Sequence[str], maker: Maker) -> str:
    own = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, env=own, cwd=_cache(), capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "failed").splitlines()[-1].strip()
        raise WorkspaceError(f"{maker.label}: cannot be installed from {maker.address} ({last})")
    return done.stdout


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / NAME / "versions"
