"""What imports what, read from the source without running it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "bakeoff"


def module_file(name: str) -> Path | None:
    """The file of `bakeoff.learning.run_file.settings`, or None if there is no such module."""
    path = SRC.joinpath(*name.split(".")[1:])
    if (path / "__init__.py").is_file():
        return path / "__init__.py"
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else None


@cache
def imported_modules(file: Path) -> frozenset[str]:
    """Names of all modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


@cache
def own_files(file: Path) -> frozenset[Path]:
    """The project's files that a file imports, with the packages that they are in.

    What the package itself imports when a function of it is called counts for nobody who imports the package.
    """
    files: set[Path] = set()
    if file == SRC / "__init__.py":
        return frozenset()
    for name in imported_modules(file):
        parts = name.split(".")
        if parts[0] != "bakeoff":
            continue
        for length in range(1, len(parts) + 1):
            inner = module_file(".".join(parts[:length]))
            if inner:
                files.add(inner)
    return frozenset(files)


def room_of(file: Path) -> str:
    """Return `learning/lr` for src/bakeoff/learning/lr/decays.py, `export` for src/bakeoff/export/onnx_run.py."""
    folders = file.relative_to(SRC).parts[:-1]
    return "/".join(folders[:2]) if folders else file.name


def wing_of(file: Path) -> str:
    """Return `learning` for src/bakeoff/learning/lr/decays.py."""
    return room_of(file).partition("/")[0]
