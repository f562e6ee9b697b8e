"""The bakeoff that made a run: whether it is the installed one, and where it can be had."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.reproduce import maker_environment
from bakeoff.experiments.reproduce.maker_environment import Maker, is_built, python_of
from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.rerun import CannotBeTried, _choose_python
from bakeoff.experiments.reproduce.what_is_missing import _of_maker
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.own_parts import digest_parts
from bakeoff.foundation.shipped import code_digest
from support.messages import missing_in

CODE = "5d" * 32


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "bakeoff-9.1-py3-none-any.whl"
    path.write_bytes(b"a wheel")
    return path


@pytest.fixture
def maker(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    digest = hashlib.sha256(b"a wheel").hexdigest()
    return Maker("9.1", f"{wheel.as_uri()}#sha256={digest}", CODE, maker_environment.versions())


def tags(maker: Maker) -> dict[str, str]:
    return {"bakeoff.code_sha256": maker.code, "bakeoff.version": maker.version} | (
        {"bakeoff.installed_from": maker.address} if maker.address else {}
    )


def test_a_run_of_a_clone_or_of_the_same_code_needs_no_other_bakeoff(maker: Maker) -> None:
    assert Maker.of({}) is None
    assert replace(maker, code=code_digest()).is_here and not maker.is_here
    for run in ({}, tags(replace(maker, code=code_digest()))):
        assert [*_of_maker(Recorded("r", "8d", tags=run))] == []


def test_an_edited_part_of_the_workspace_needs_no_other_bakeoff(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    monkeypatch.chdir(tmp_path)
    here = replace(maker, code=code_digest())
    (tmp_path / "parts/own.py").write_text('SCHEDULES = {"own": 1}\n', encoding="utf-8")
    assert digest_parts("train") and here.is_here


def test_a_wheel_that_is_gone_or_another_is_named_with_its_place(maker: Maker, wheel: Path) -> None:
    assert maker.find_lack() is None
    wheel.write_bytes(b"another")
    assert missing_in(str(maker.find_lack()), str(wheel), "9.1", "SHA-256") == []
    wheel.unlink()
    [lack] = _of_maker(Recorded("r", "8d", tags=tags(maker)))
    assert lack.is_fatal and missing_in(lack.text, str(wheel), "9.1") == []


def test_without_an_address_the_installed_one_runs_and_that_is_noted(maker: Maker) -> None:
    [lack] = _of_maker(Recorded("r", "8d", tags=tags(replace(maker, address=None))))
    assert not lack.is_fatal and missing_in(lack.text, "9.1") == []


def test_other_code_at_the_address_is_refused_and_nothing_is_kept_for_later(
    maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maker_environment, "_build", lambda *where, borrows: True)
    monkeypatch.setattr(maker_environment, "_run", lambda command, maker: "7e" * 32)
    for _ in range(2):
        with pytest.raises(WorkspaceError) as refused:
            python_of(maker, print)
        assert missing_in(str(refused.value), str(maker.address), "9.1") == []


def test_what_tags_name_is_installed_only_if_the_user_says_so(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []
    monkeypatch.setattr(maker_environment, "_build", lambda folder, *rest, borrows: built.append(folder) or True)
    run = Recorded("9e1f70b2", "8d", tags=tags(replace(maker, address="git+https://\x1b[2Jexample.org/x@1")))
    with pytest.raises(CannotBeTried) as refused:
        _choose_python(run, print, installs=False)
    assert missing_in(str(refused.value), "9e1f70b2", "9.1", "--install", "https://\\x1b[2Jexample.org/x@1") == []
    assert built == [] and not is_built(maker)


def test_an_environment_that_is_there_needs_no_leave_and_stays_below_the_cache(
    maker: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(folder: Path, python: Path, *rest: object, borrows: bool) -> bool:
        python.parent.mkdir(parents=True)
        python.touch()
        return True

    monkeypatch.setattr(maker_environment, "_build", build)
    monkeypatch.setattr(maker_environment, "_run", lambda command, maker: CODE)
    odd = replace(maker, version="../../../9.1/../" + "x" * 300)
    run = Recorded("r", "8d", tags=tags(odd) | {"bakeoff.versions": maker.libraries})
    python = _choose_python(run, print, installs=True)
    assert python and (tmp_path / "cache/bakeoff/versions").resolve() in python.resolve().parents
    assert _choose_python(run, print, installs=False) == python
