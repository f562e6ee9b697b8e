"""Which versions of libraries are installed, without loading them.

library_version("tensorflow") -> "2.21.0", be it from the package tensorflow or from tensorflow-cpu
"""

import re
import sys
from pathlib import Path

PACKAGES = {"tensorflow": ("tensorflow", "tensorflow-cpu")}  # that have the same modules; one of them is installed


def library_version(library: str) -> str:
    """Return the version of a library. Raises PackageNotFoundError."""
    return installed_version(package_of(library))


def installed_version(package: str) -> str:
    """Return a package's version as importlib.metadata does, which takes longer to load than most commands run.

    Raises PackageNotFoundError.
    """
    for folder in sys.path:
        for file in Path(folder).glob(f"{package.replace('-', '_')}-*.dist-info/METADATA"):
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    if line.startswith("Version: "):
                        return line.removeprefix("Version: ").strip()
    from importlib.metadata import version

    return version(package)


def package_of(library: str) -> str:
    """Return the name of the package that holds a library: the first that is installed, else the library's own."""
    from importlib.metadata import PackageNotFoundError

    for package in PACKAGES.get(library, ()):
        try:
            installed_version(package)
        except PackageNotFoundError:
            continue
        return package
    return library


def is_newer(version: str, other: str) -> bool:
    """Whether a version comes after another one: 0.16.0 after 0.16.0rc1, and that after 0.15.2."""
    return _order(version) > _order(other)


def _order(version: str) -> tuple[list[int], bool, list[int]]:
    release, rest = re.fullmatch(r"([\d.]*)(.*)", version.partition("+")[0]).groups()  # type: ignore[union-attr]
    numbers = [int(part) for part in release.split(".") if part]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers, not rest, [int(part) for part in re.findall(r"\d+", rest)]
