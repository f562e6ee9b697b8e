"""DVC's cache is where its settings put it, and DVC's own errors are repeated."""

import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.foundation import dvc
from bakeoff.foundation.errors import WorkspaceError

DIGEST = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def place(place: Path) -> Path:
    (place / ".dvc").mkdir()
    return place


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [
        ("", "", ".dvc/cache"),
        ("[cache]\n    dir = /store/cache\n", "", "/store/cache"),
        ("[cache]\n    dir = ../../cache\n", "", ".dvc/../../cache"),
        ("[cache]\n    dir = /store/cache\n", "[cache]\n    dir = '/mine'\n", "/mine"),
        ("[core]\n    remote = r\n['remote \"r\"']\n    url = s3://b/%20\n", "no settings", ".dvc/cache"),
    ],
)
def test_the_cache_is_where_the_settings_put_it(place: Path, shared: str, own: str, expected: str) -> None:
    (place / ".dvc/config").write_text(shared)
    (place / ".dvc/config.local").write_text(own)
    assert dvc.cache() == place / expected


def test_a_folder_in_the_cache_is_its_listing(place: Path) -> None:
    listing = place / f".dvc/cache/files/md5/01/{DIGEST[2:]}.dir"
    listing.parent.mkdir(parents=True)
    listing.write_text('[{"md5": "aa", "relpath": "state.json"}, {"md5": "bb", "relpath": "deep/one"}]')
    assert dvc.cached_folder(f"{DIGEST}.dir") == {"state.json": "aa", "deep/one": "bb"}
    listing.write_text('[{"md5": "aa", "rel')
    assert dvc.cached_folder(f"{DIGEST}.dir") is None
    assert dvc.cached_folder(DIGEST) is None and dvc.cached_file(DIGEST) is None


def test_a_refusal_of_dvc_is_repeated_as_it_prints_it(place: Path) -> None:
    (place / ".dvc").rmdir()
    with pytest.raises(WorkspaceError, match=r"^dvc exp list: ERROR: .*DVC repository"):
        dvc.answer("exp", "list")


def test_a_dry_experiment_is_the_plan_of_its_changes(place: Path) -> None:
    """DVC's own fails at render_config, for its copy of the workspace has no records."""
    command = [sys.executable, "-m", "bakeoff.foundation.dvc", "exp", "run", "--dry", "-n", "try"]
    done = subprocess.run(
        [*command, "-S", "lr.use=cosine", "--set-param=params.yaml:+lr.peak=0.1"], capture_output=True, text=True
    )
    assert done.stdout == "nothing runs; `bakeoff plan lr.use=cosine +lr.peak=0.1` has the stages that would:\n"
    assert done.returncode != 0 and "dvc.yaml" in done.stderr  # this is no workspace
