"""The command that is named for a folder of data that is not there works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.foundation.errors import DataError
from support.workspace_copy import environment


def run(*command: str) -> int:
    return subprocess.run(command, env=environment(), capture_output=True, check=False).returncode


@pytest.mark.parametrize(("tracked", "named"), [("data/raw/cards", "data/raw/cards"), (None, "data/raw/cards/images")])
def test_what_is_inside_of_a_tracked_folder_is_added_with_it(
    tracked: str | None, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dvc = (sys.executable, "-m", "dvc")
    assert run("git", "init", "--quiet") == 0 and run(*dvc, "init", "--quiet") == 0
    Path("data/raw/cards").mkdir(parents=True)
    Path("data/raw/cards/labels.csv").write_text("a,b\n")
    if tracked:
        assert run(*dvc, "add", tracked) == 0
    with pytest.raises(DataError) as error:
        ImageFolders(path="data/raw/cards/images").folder()
    [command] = re.findall(r"`(dvc add .*)`", str(error.value))
    assert command == f"dvc add {named}"
    Path("data/raw/cards/images").mkdir()
    Path("data/raw/cards/images/1.txt").write_text("1")
    assert run(sys.executable, "-m", *command.split()) == 0
