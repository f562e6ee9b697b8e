"""The bakeoff that made a run: whether it is the installed one, and where it can be had."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.experiments.reproduce import maker_environment
from bakeoff.experiments.reproduce.maker_environment import Maker, python_of
from bakeoff.experiments.reproduce.recorded import Recorded
from bakeoff.experiments.reproduce.what_is_missing import _of_maker
from bakeoff.foundation.errors import WorkspaceError
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
