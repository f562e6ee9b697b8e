"""Own code of a workspace: the tables at the end of parts/*.py -> names beside those of the built-in tables.

    # parts/halving.py
    SCHEDULES = {"halving": Halving}  # now `kind: halving` is a learning-rate schedule

Which names there are is read without running a file. A file runs when one of its names is needed.
"""

import ast
import hashlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from bakeoff.foundation.errors import BakeoffError, ConfigError, choices, one_line

Value = TypeVar("Value")
FOLDER, PACKAGE_NAME = Path("parts"), "parts"
FOLLOWED_BY = "models/code.yaml"  # what makes stages follow the folder
STAGES = {  # of each table: the stages whose results its parts decide
    "SOURCES": ("build_records", "render_config"),
    "NETWORKS": ("render_config", "train", "evaluate", "export"),
    "SCHEDULES": ("render_config", "train"),
    "CHANGES": ("render_config", "train", "evaluate"),
    "METRICS": ("render_config", "train", "evaluate"),
    "CALLBACKS": (),
}


@dataclass(frozen=True)
class OwnPart:
    table: str
    name: str
    file: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.file.as_posix()}:{self.line}"


class PartTable(Mapping[str, Value]):
    """A table of built-in parts and, after them, those of the workspace; asking for a built-in one runs no own code."""

    def __init__(self, table: str, built_in: Mapping[str, Value]) -> None:
        self.table, self.built_in = table, built_in

    def __getitem__(self, name: str) -> Value:
        return self.built_in[name] if name in self.built_in else self._own()[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.built_in, *self._own()))

    def __len__(self) -> int:
        return len(self.built_in) + len(self._own())

    def _own(self) -> Mapping[str, Any]:
        parts = [part for part in find_parts() if part.table == self.table]
        for part in parts:
            if part.name in self.built_in:
                raise ConfigError(f"{part.place}: {self.table}: {part.name!r} is built in; choose another name")
        return {part.name: _load(part) for part in parts}


def find_parts() -> Sequence[OwnPart]:
    """Return the parts of the workspace in the current folder. Raises ConfigError with file and line."""
    return _read(Path.cwd(), _stamps())


def list_part_files(stage: str) -> list[Path]:
    """Return the files that decide the stage's result: those with such a part, and helpers, which begin with _."""
    files = {part.file for part in find_parts() if stage in STAGES[part.table]}
    return sorted([*files, *(FOLDER.glob("_*.py") if files else ())])


def digest_parts(stage: str) -> bytes:
    """Return a digest of the own code that decides the stage's result; nothing where there is none."""
    content = hashlib.sha256()
    if not (files := list_part_files(stage)):
        return b""
    for file in files:
        content.update(f"\n{file.as_posix()}\n".encode() + file.read_bytes())
    return content.digest()


def run_all_parts() -> None:
    """Run every file, so that one that cannot be imported is refused before anything is trained."""
    for part in find_parts():
        _load(part)


def _stamps() -> tuple[tuple[str, int], ...]:
    """Return the files with the times of their last change: whether they must be read again."""
    try:
        entries = [entry for entry in os.scandir(FOLDER) if entry.name.endswith(".py")]
    except OSError:
        return ()
    return tuple(sorted((entry.name, entry.stat().st_mtime_ns) for entry in entries))


@lru_cache(maxsize=4)
def _read(root: Path, stamps: tuple[tuple[str, int], ...]) -> tuple[OwnPart, ...]:
    parts: dict[tuple[str, str], OwnPart] = {}
    for name, _ in stamps:
        found = list(_read_file(root, FOLDER / name))
        if not found and not name.startswith("_"):
            tables = ", ".join(STAGES)
            raise ConfigError(
                f"{FOLDER / name}: must have a part in one of the tables {tables}; call a file of helpers _{name}"
            )
        for part in found:
            if (other := parts.setdefault((part.table, part.name), part)) is not part:
                raise ConfigError(f"{part.place}: {part.table}: {part.name!r} is in {other.place}, too; rename one")
    if not parts:
        return ()
    _require_followed(root)
    for module in [name for name in sys.modules if name == PACKAGE_NAME or name.startswith(f"{PACKAGE_NAME}.")]:
        del sys.modules[module]  # of files as they were, or of another workspace
    return tuple(parts.values())


def _require_followed(root: Path) -> None:
    pipeline = root / "dvc.yaml"
    if pipeline.is_file() and FOLLOWED_BY not in pipeline.read_text("utf-8", "replace"):
        raise ConfigError(
            f"{FOLDER}/: must be in a workspace that `bakeoff init` made; the stages of this dvc.yaml do not follow "
            "it; write the part into src/bakeoff/ instead"
        )


def _read_file(root: Path, file: Path) -> Iterator[OwnPart]:
    try:
        tree = ast.parse((root / file).read_bytes(), filename=file.as_posix())
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ConfigError(f"{file.as_posix()}:{line}: is no Python: {one_line(error)}") from None
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                name = target.id if isinstance(target, ast.Name) else ""
                if name in STAGES:
                    yield from _read_table(file, name, node.value)
                elif name.isupper() and isinstance(node.value, ast.Dict):
                    _refuse_near_name(file, node.lineno, name)


def _refuse_near_name(file: Path, line: int, name: str) -> None:
    if f"{name}S" in STAGES or name.removesuffix("S") in STAGES:
        raise ConfigError(f"{file.as_posix()}:{line}: no such table {name}; {choices(name, STAGES)}")


def _read_table(file: Path, table: str, value: ast.expr | None) -> Iterator[OwnPart]:
    rule = 'must be names and parts in braces, such as {"own": Own}'
    if not isinstance(value, ast.Dict):
        raise ConfigError(f"{file.as_posix()}:{getattr(value, 'lineno', 1)}: {table}: {rule}")
    for key in value.keys:
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise ConfigError(f"{file.as_posix()}:{getattr(key, 'lineno', value.lineno)}: {table}: {rule}")
        yield OwnPart(table, key.value, file, key.lineno)


def _load(part: OwnPart) -> Any:
    """Run the file that has the part, once, as a module that processes started from here find, too."""
    root = Path.cwd()
    if PACKAGE_NAME not in sys.modules:
        package = ModuleType(PACKAGE_NAME)
        package.__path__ = [str(root / FOLDER)]
        sys.modules[PACKAGE_NAME] = package
        if str(root) not in sys.path:
            sys.path.append(str(root))
    try:
        return getattr(import_module(f"{PACKAGE_NAME}.{part.file.stem}"), part.table)[part.name]
    except BakeoffError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).parent == root / FOLDER]
        line = getattr(error, "lineno", None) or (lines or [part.line])[-1]
        what = f"{type(error).__name__}: {one_line(error)}"
        is_missing = isinstance(error, ModuleNotFoundError)
        remedy = f"install it for {sys.executable}, or correct the file" if is_missing else "correct it"
        raise ConfigError(f"{part.file.as_posix()}:{line}: cannot be imported, for {what}; {remedy}") from None
