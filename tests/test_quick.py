"""`make quick` takes what is nearest to a change, and of that what there is time for."""

import subprocess
from pathlib import Path

import pytest

import quick
from support.imports import ROOT, SRC

TESTS = ROOT / "tests"
DECAYS = SRC / "learning/lr/decays.py"
LR, ENDS = "learning/lr/test_decays.py", "learning/training/test_ends.py"


def measured(*changed: Path, files: tuple[str, ...]) -> dict[str, int]:
    steps = quick.measure_steps([TESTS / file for file in files], changed)
    return {file.relative_to(TESTS).as_posix(): distance for file, distance in steps.items()}


def test_the_mirror_is_nearest_then_who_imports_the_module_then_who_imports_those() -> None:
    files = (LR, "learning/lr/test_piecewise.py", ENDS, "learning/metrics/test_curves.py")
    assert measured(DECAYS, files=files) == {
        LR: 0,
        "learning/lr/test_piecewise.py": 1,
        ENDS: 2,  # through tests/support/kitchen.py
    }


def test_a_test_file_is_its_own_change_and_a_helper_is_that_of_its_users() -> None:
    assert measured(TESTS / LR, files=(LR, "learning/lr/test_piecewise.py")) == {LR: 0}
    assert measured(TESTS / "support/kitchen.py", files=(ENDS, LR)) == {ENDS: 1}


def test_fixtures_are_of_all_tests_below_them() -> None:
    files = ("experiments/sweep/test_launch.py", "experiments/sweep/search/test_searching.py", LR)
    assert measured(TESTS / "experiments/sweep/conftest.py", files=files) == {
        "experiments/sweep/test_launch.py": 1,
        "experiments/sweep/search/test_searching.py": 1,
    }


def test_what_is_no_code_touches_the_tests_that_name_its_folder() -> None:
    render = "config/compose/test_render.py"
    assert measured(ROOT / "conf/lr/cosine.yaml", files=(render, LR)) == {render: 1}


def test_nearest_come_first_then_the_fastest_as_long_as_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "SECONDS", 10.0)
    far, near, slow, long = Path("far"), Path("near"), Path("slow"), Path("long")
    seconds = {far: 1.0, near: 2.0, slow: 6.0, long: 3.0}
    chosen, left = quick.choose({far: 2, near: 1, slow: 1, long: 1}, seconds)
    assert (chosen, left) == ([near, long, far], [slow])  # slow is nearer, but no time is left for it


def test_changed_is_what_differs_from_where_the_branch_left_main(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        name = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(file: str) -> None:
        (tmp_path / file).write_text(file)
        git("add", file)
        git("commit", "--message", file)

    git("init", "--initial-branch=main")
    commit("first")
    commit("edited")
    assert quick.changed_files(tmp_path) == set()
    git("switch", "--create", "branch")
    commit("committed")
    git("switch", "main")
    commit("of others")
    git("switch", "branch")
    (tmp_path / "edited").write_text("otherwise")
    (tmp_path / "new").write_text("")
    assert {path.name for path in quick.changed_files(tmp_path)} == {"committed", "edited", "new"}


def test_a_test_that_takes_too_long_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(quick, "changed_files", lambda: {DECAYS})
    monkeypatch.setattr(quick, "load_durations", lambda: {"tests/learning/lr/test_decays.py": 1000.0})
    monkeypatch.setattr(quick.subprocess, "run", lambda words, **_: ran.append(words) or _Done())
    monkeypatch.setattr(quick.sys, "argv", ["quick.py", "-n", "2"])
    assert quick.main() == 7
    printed = capsys.readouterr().out
    assert "tests/learning/lr/test_decays.py does not fit" in printed
    [words] = ran
    assert (
        words[1:7] == ["-m", "pytest", "-m", "not slow", "-n", "2"] and "tests/learning/lr/test_piecewise.py" in words
    )
    assert "tests/learning/lr/test_decays.py" not in words


class _Done:
    returncode = 7
