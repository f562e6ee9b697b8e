"""Own code in parts/: names beside the built-in ones, files that run when needed, mistakes by file and line."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.foundation import own_parts
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.own_parts import STAGES, PartTable, digest_parts, find_parts, run_all_parts
from bakeoff.foundation.result_code import DECIDING, deciding_digest
from bakeoff.learning.input.augment import Augment
from bakeoff.learning.lr import SCHEDULES
from bakeoff.learning.run_file.parse import Problems, parse, settings_tree
from support.messages import missing_in

SCHEDULE = """\
import pathlib
pathlib.Path("it_ran").touch()


class Halving:
    pass


SCHEDULES = {"halving": Halving}
"""
CHANGE = """\
from dataclasses import dataclass


@dataclass(frozen=True)
class Blackout:
    side: float = 0.25

    def apply(self, image, boxes, key):
        return image, boxes


CHANGES = {"blackout": Blackout}
"""


@pytest.fixture(autouse=True)
def _forgets_modules(place: Path) -> Iterator[None]:
    """Own parts stay imported in the process; the tests' are gone afterwards."""
    path = [*sys.path]
    (place / "parts").mkdir()
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name.partition(".")[0] == "parts"]:
        del sys.modules[name]


def write(name: str, text: str) -> None:
    Path("parts", name).write_text(text, encoding="utf-8")


def refusal(call: object = find_parts) -> str:
    assert callable(call)
    with pytest.raises(ConfigError) as raised:
        call()
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_name_stands_beside_the_built_in_ones_and_its_file_runs_when_it_is_needed() -> None:
    write("halving.py", SCHEDULE)
    assert [(part.table, part.name, part.place) for part in find_parts()] == [
        ("SCHEDULES", "halving", "parts/halving.py:9")
    ]
    assert SCHEDULES["cosine"].__name__ == "Cosine" and "cosine" in SCHEDULES and not Path("it_ran").exists()
    assert SCHEDULES["halving"].__name__ == "Halving" and Path("it_ran").exists()
    assert list(SCHEDULES)[-1] == "halving" and len(SCHEDULES) == len(SCHEDULES.built_in) + 1
    assert SCHEDULES["halving"].__module__ == "parts.halving"  # by which another process finds it
    with pytest.raises(KeyError):
        SCHEDULES["quartering"]


def test_without_the_folder_there_are_the_built_in_ones() -> None:
    Path("parts").rmdir()
    assert [*SCHEDULES] == [*SCHEDULES.built_in] and digest_parts("train") == b""


def test_a_changed_file_and_another_workspace_are_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("one.py", 'SCHEDULES = {"one": 1}\n')
    assert SCHEDULES["one"] == 1
    write("one.py", 'SCHEDULES = {"one": 2, "two": 22}\n')
    assert SCHEDULES["one"] == 2 and SCHEDULES["two"] == 22
    other = tmp_path / "other"
    (other / "parts").mkdir(parents=True)
    monkeypatch.chdir(other)
    assert "one" not in SCHEDULES
    write("one.py", 'SCHEDULES = {"one": 3}\n')
    assert SCHEDULES["one"] == 3


def test_helpers_can_be_imported_and_have_no_names() -> None:
    write("_numbers.py", "HALF = 0.5\n")
    write("one.py", 'from parts._numbers import HALF\n\nSCHEDULES: dict = {"one": HALF}\n')
    assert SCHEDULES["one"] == 0.5


@pytest.mark.parametrize(
    "text, parts",
    [
        ("x = 1\n\ndef f(:\n", ("parts/wrong.py:3", "no Python")),
        ("x = 1\n", ("parts/wrong.py", "SCHEDULES", "METRICS", "_wrong.py")),
        ("METRICS = {}\n", ("parts/wrong.py", "a part in", "METRICS")),
        ("\nSCHEDULE = {'a': 1}\n", ("parts/wrong.py:2", "SCHEDULE", "did you mean 'SCHEDULES'")),
        ("\nNETWORKS = dict(a=1)\n", ("parts/wrong.py:2", "NETWORKS", '{"own": Own}')),
        ("NETWORKS = {\n  1: 2}\n", ("parts/wrong.py:2", "NETWORKS", '{"own": Own}')),
        ("SCHEDULES = {'one': 1}\n", ("parts/wrong.py:1", "SCHEDULES", "'one'", "parts/one.py:1", "rename")),
    ],
)
def test_a_mistake_is_one_line_with_file_and_line_and_runs_nothing(text: str, parts: tuple[str, ...]) -> None:
    write("one.py", 'SCHEDULES = {"one": open("it_ran", "w")}\n')
    write("wrong.py", text)
    assert missing_in(refusal(), *parts) == []
    assert not Path("it_ran").exists()


@pytest.mark.parametrize(
    "text, parts",
    [
        (
            "import no_such_package\nMETRICS = {'m': 1}\n",
            ("parts/wrong.py:1: cannot be imported", "no_such_package", sys.executable),
        ),
        ("METRICS = {'m': 1}\nraise SystemExit(0)\n", ("parts/wrong.py:2: cannot be imported", "SystemExit")),
        (
            "def f():\n    return 1 / 0\n\nf()\nMETRICS = {'m': 1}\n",
            ("parts/wrong.py:2: cannot be imported", "ZeroDivisionError"),
        ),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_by_its_line(text: str, parts: tuple[str, ...]) -> None:
    write("wrong.py", text)
    assert missing_in(refusal(run_all_parts), *parts) == []


def test_a_built_in_name_is_refused() -> None:
    write("one.py", '\nSCHEDULES = {"cosine": 1}\n')
    assert missing_in(refusal(lambda: [*SCHEDULES]), "parts/one.py:2", "SCHEDULES", "'cosine' is built in") == []


def test_a_workspace_whose_stages_do_not_follow_the_folder_is_refused() -> None:
    write("one.py", 'SCHEDULES = {"one": 1}\n')
    Path("dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    assert missing_in(refusal(), "parts/", "bakeoff init", "src/bakeoff/") == []
    Path("dvc.yaml").write_text("stages: {code: {outs: [models/code.yaml]}}\n", encoding="utf-8")
    assert len(find_parts()) == 1


@pytest.mark.parametrize("table", STAGES)
def test_a_changed_part_changes_the_digest_of_the_stages_that_it_decides_and_no_other(table: str) -> None:
    write("other.py", 'SOURCES = {"other": 1}\n')
    write("one.py", f'{table} = {{"one": 1}}\n')
    before = {stage: deciding_digest(stage) for stage in DECIDING}
    write("one.py", f'{table} = {{"one": 2}}\n')
    changed = {stage for stage in DECIDING if deciding_digest(stage) != before[stage]}
    assert changed == {*STAGES[table]}


def test_a_helper_counts_for_the_stages_that_any_part_decides() -> None:
    write("_numbers.py", "HALF = 0.5\n")
    assert digest_parts("train") == b""
    write("one.py", 'SCHEDULES = {"one": 1}\n')
    write("_numbers.py", "HALF = 0.25\n")
    content = b'\nparts/_numbers.py\nHALF = 0.25\n\nparts/one.py\nSCHEDULES = {"one": 1}\n'
    assert digest_parts("train") == hashlib.sha256(content).digest() and digest_parts("export") == b""


def test_an_own_change_to_examples_has_settings_and_is_done_after_the_others() -> None:
    write("blackout.py", CHANGE)
    problems = Problems(lambda key: "train.yaml:3")
    augment = parse(Augment, {"parts": {"blackout": {"side": 0.5}}}, "train.augment", problems)
    assert problems.lines == [] and augment.added["blackout"].side == 0.5
    assert settings_tree(augment)["parts"] == {"blackout": {"side": 0.5}}
    assert parse(Augment, {"parts": {"blackuot": {"side": 0.5}}}, "train.augment", problems) is None
    assert parse(Augment, {"parts": {"blackout": {"sied": 0.5}}}, "train.augment", problems) is None
    assert missing_in(problems.lines[0], "train.yaml:3", "train.augment.parts.blackuot", "blackout") == []
    assert missing_in(problems.lines[1], "train.augment.parts.blackout.sied", "side") == []


def test_every_table_is_one_that_the_code_reads() -> None:
    from bakeoff.dataset.sources import SOURCES
    from bakeoff.learning.input.augment import CHANGES
    from bakeoff.learning.metrics.names import METRICS
    from bakeoff.learning.networks import NETWORKS
    from bakeoff.learning.training.callbacks import CALLBACKS

    tables = (SOURCES, NETWORKS, SCHEDULES, CHANGES, METRICS, CALLBACKS)
    assert [table.table for table in tables] == [*STAGES]
    assert isinstance(own_parts.PartTable("X", {}), PartTable) and {*sum(STAGES.values(), ())} <= {*DECIDING}
