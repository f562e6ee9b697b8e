"""Files are measured, and the longest run first."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.durations import Recorder, load_durations, sort_longest_first


def test_files_come_longest_first_unknown_ones_before_all_and_tests_stay_in_order() -> None:
    names = ["tests/a.py::z", "tests/a.py::b", "tests/new.py::t", "tests/c.py::TestIt::t", "tests/c.py::u"]
    items = cast(list[pytest.Item], [SimpleNamespace(nodeid=name) for name in names])
    sort_longest_first(items, {"tests/a.py": 1.0, "tests/c.py": 9.0})
    assert [item.nodeid for item in items] == [names[2], names[3], names[4], names[0], names[1]]


def test_of_what_ran_the_table_is_new_of_the_rest_it_is_kept_while_the_file_is_there(tmp_path: Path) -> None:
    table = tmp_path / "durations.json"
    table.write_text(json.dumps({"ran.py": 1.0, "kept.py": 2.0, "gone.py": 3.0}))
    for file in ("ran.py", "kept.py"):
        (tmp_path / file).touch()
    recorder = Recorder(table, tmp_path)
    for nodeid, duration in (("ran.py::a", 0.5), ("ran.py::a", 0.25), ("ran.py::TestIt::b", 4.0)):
        recorder.pytest_runtest_logreport(cast(Any, SimpleNamespace(nodeid=nodeid, duration=duration)))
    recorder.pytest_sessionfinish()
    assert load_durations(table) == {"ran.py": 4.8, "kept.py": 2.0}
    assert load_durations(tmp_path / "none.json") == {}
