"""Compiled files of one job's clone serve the next one's, and an edited file is compiled anew."""

import py_compile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from bakeoff.experiments.sweep import pycache

NAMES = ("package/__init__.py", "package/part.py")


class Compiled(Exception):
    pass


class OnlyBytecode(SourceFileLoader):
    """Python's own loader, which refuses to compile here."""

    def source_to_code(self, *_: Any, **__: Any) -> CodeType:
        raise Compiled


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the source folders of two clones. In the first all files are compiled."""
    monkeypatch.setenv(pycache.VARIABLE, str(tmp_path / "kept"))
    files = [tmp_path / name / "src" for name in ("first", "second")]
    for clone in files:
        for name in NAMES:
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_text(f"FILE = {name!r}\n")
    for name in NAMES:
        py_compile.compile(str(files[0] / name), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    return files


def load(clone: Path, name: str) -> CodeType | None:
    return OnlyBytecode("part", str(clone / name)).get_code("part")


def test_what_one_clone_compiled_the_next_need_not(clones: list[Path]) -> None:
    first, second = clones
    with pytest.raises(Compiled):
        load(second, NAMES[1])
    pycache.keep_compiled(first)
    pycache.copy_to_clone(second)
    code = load(second, NAMES[1])
    assert code is not None and "package/part.py" in code.co_consts


def test_what_was_edited_is_compiled_again_and_takes_its_place(clones: list[Path]) -> None:
    first, second = clones
    pycache.keep_compiled(first)
    (second / NAMES[1]).write_text("FILE = 'edited'\n")
    pycache.copy_to_clone(second)
    assert load(second, NAMES[0]) is not None
    with pytest.raises(Compiled):
        load(second, NAMES[1])
    py_compile.compile(str(second / NAMES[1]), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    pycache.keep_compiled(second)
    pycache.copy_to_clone(first)
    with pytest.raises(Compiled):
        load(first, NAMES[1])
    assert load(first, NAMES[0]) is not None


def test_a_file_that_is_no_bytecode_is_passed_over(clones: list[Path]) -> None:
    first, second = clones
    [part] = first.rglob("part.*.pyc")
    part.with_name("gone.cpython-311.pyc").write_bytes(part.read_bytes())  # its source was removed
    pycache.keep_compiled(first)
    pycache.copy_to_clone(second)
    assert sorted(path.name.partition(".")[0] for path in second.rglob("*.pyc")) == ["__init__", "part"]
