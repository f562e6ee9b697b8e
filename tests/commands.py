"""`bakeoff …` in this process."""

import sys

import pytest

from bakeoff import cli


def run_bakeoff(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    """Exit code, output, errors."""
    monkeypatch.setattr(sys, "argv", ["bakeoff", *words])
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()
