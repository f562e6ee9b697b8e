"""What imports what, read from the source without running it."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "bakeoff"


def module_file(name: str) -> Path | None:
    """The file of `bakeoff.run.settings`, or None if there is no such module."""
    path = SRC.joinpath(*name.split(".")[1:])
    if (path / "__init__.py").is_file():
        return path / "__init__.py"
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else None


def imported_modules(file: Path) -> set[str]:
    """Names of all modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own_files(file: Path) -> set[Path]:
    """The project's files that a file imports, with the packages that they are in."""
    found: set[Path] = set()
    for name in imported_modules(file):
        parts = name.split(".")
        if parts[0] != "bakeoff":
            continue
        for length in range(1, len(parts) + 1):
            inner = module_file(".".join(parts[:length]))
            if inner:
                found.add(inner)
    return found


def closure(file: Path) -> set[Path]:
    """Everything of the project that runs when this file does."""
    reached: set[Path] = set()
    waiting = [file, *(folder / "__init__.py" for folder in file.parents if SRC in (folder, *folder.parents))]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += own_files(current)
    return reached


def shortest_paths(files: set[Path]) -> list[str]:
    """The files as paths for dvc.yaml: a room by its folder if all of it is meant, else file by file."""
    paths = set()
    for file in files:
        room = SRC / file.relative_to(SRC).parts[0]
        whole = room.is_dir() and set(room.rglob("*.py")) <= files
        paths.add((room if whole else file).relative_to(ROOT).as_posix())
    return sorted(paths)


def room_of(file: Path) -> str:
    """`config` for src/bakeoff/run/settings.py, `lr` for src/bakeoff/lr.py."""
    first = file.relative_to(SRC).parts[0]
    return first.removesuffix(".py")
