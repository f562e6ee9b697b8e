"""DVC, run by the Python of this process, and the contents of its cache, read without DVC.

The command `dvc` of this project's environment is `main` here: DVC itself, after a repair of what a kill or a loss of
power left of its writing; src/bakeoff/foundation/dvc_repair.py has more.
"""

import argparse
import configparser
import json
import logging
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bakeoff.foundation.dvc_faults import DVC_FAILED, end_retries, run_reporting
from bakeoff.foundation.dvc_repair import OBJECTS, keep_lock, repair, settle
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import NO_REGULAR_FILE, find_irregular
from bakeoff.foundation.signals import Relay
from bakeoff.foundation.tf_loading import collect_seldom
from bakeoff.foundation.timings import DVC, begin_command, end_command
from bakeoff.foundation.workspace import DATA, PARAMS, main_workspace

OF_NOTHING = "d41d8cd98f00b204e9800998ecf8427e"  # the MD5 digest of an empty file
STATUS = "from bakeoff.foundation.dvc import print_status; print_status()"
HERE = "import sys; from bakeoff.foundation.dvc import run_here; sys.exit(run_here(*sys.argv[1:]))"
READING = ("add", "commit", "data", "diff", "exp", "push", "repro", "status")  # commands that read the files of data/
CONFIGS = (Path(".dvc/config.local"), Path(".dvc/config"))  # the first that has the setting decides


def command(*arguments: str) -> list[str]:
    """Return a command of DVC that repairs nothing before, and reports faults of the machine in one line."""
    return [sys.executable, "-c", HERE, *arguments]


def environment(own: Mapping[str, str], python: str = sys.executable) -> dict[str, str]:
    """Return the environment of DVC. Stages run `python`, which must be the one that runs DVC, and their output must
    appear at once.
    """
    path = os.pathsep.join([str(Path(python).parent), *filter(None, [own.get("PATH")])])
    return {**own, "PATH": path, "PYTHONUNBUFFERED": "1"}


def answer(*arguments: str, folder: Path | None = None) -> str:
    """Run DVC and return what it prints. Raises WorkspaceError with the last line of its errors if it fails."""
    done = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        name = " ".join(argument for argument in arguments[:2] if not argument.startswith("-"))
        raise WorkspaceError(f"dvc {name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout.strip()


@contextmanager
def asking_status() -> Iterator[Callable[[], dict[str, Any]]]:
    """Give a function that waits for what changed since dvc.lock. Another process finds that out meanwhile.

    It takes as long as all that `bakeoff plan` does besides. Where it fails, the command itself prints the reason.
    """
    process = subprocess.Popen([sys.executable, "-c", STATUS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def status() -> dict[str, Any]:
        output, _ = process.communicate()
        return dict(json.loads((output if process.returncode == 0 else answer("status", "--json")) or "{}"))

    try:
        yield status
    finally:
        if process.poll() is None:  # nobody waits for it any more
            process.kill()
            process.communicate()


def print_status() -> None:
    """Print what `dvc status --json` does, without the parser of all of DVC's commands."""
    collect_seldom()
    require_regular_files(DATA)
    end_retries()
    from dvc.repo import Repo, lock_repo

    with Repo() as repo, lock_repo(repo):
        print(json.dumps(repo.status()))


def run_here(*arguments: str) -> int:
    """Run DVC in this process, and return its exit code."""
    from dvc.cli import main as run_dvc

    return run_reporting(run_dvc, arguments, _written())


def _written() -> list[Path]:
    """Return the folders that DVC writes to: its own of this workspace and of the machine, and its cache."""
    from dvc.dirs import site_cache_dir

    return [Path.cwd() / ".dvc/tmp", cache(), Path(site_cache_dir())]


def fetch_commit(commit: str, stages: Sequence[str]) -> None:
    """Bring what the stages made in a commit from the default remote into the cache."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    end_retries()
    logging.disable(logging.WARNING)  # DVC lists each file that the remote lacks
    try:
        with Repo() as repo:
            repo.fetch(targets=list(stages), revs=[commit], workspace=False)
    except (DvcException, sqlite3.Error) as error:
        raise WorkspaceError(f"dvc fetch: {' '.join(str(error).split())}") from None
    finally:
        logging.disable(logging.NOTSET)


def change_params(changes: Sequence[str]) -> None:
    """Change params.yaml as `dvc exp run -S` does."""
    from dvc.utils.hydra import apply_overrides

    apply_overrides(PARAMS, list(changes))


# Its default remote.


@dataclass(frozen=True)
class Remote:
    address: str  # as it stands in DVC's settings
    protocol: str
    filesystem: Any  # fsspec's, with the endpoint and the credentials of DVC's settings
    folder: str  # in that


def default_remote() -> Remote | None:
    """Return DVC's default remote of the main workspace; None if it has none."""
    from dvc.config import Config
    from dvc.fs import get_cloud_fs

    try:
        config = Config(dvc_dir=str(main_workspace() / ".dvc"))
        name = config["core"].get("remote")
        if name is None:
            return None
        kind, settings, folder = get_cloud_fs(config, name=name)
        filesystem = kind(**settings).fs
        return Remote(config["remote"][name]["url"], kind.protocol, filesystem, folder)
    except Exception as error:  # whatever DVC or a client raises
        raise WorkspaceError(f"DVC's default remote: {' '.join(str(error).split())}") from None


# Its cache, which all workspaces of one clone share, and maybe several clones.


def cache(place: Path | None = None) -> Path:
    """Return the cache that the settings of a workspace name, by default those of the main one. Settings of the whole
    machine are not read.
    """
    main = place or main_workspace()
    for path in CONFIGS:
        config = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            config.read(main / path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if folder := config.get("cache", "dir", fallback="").strip("\"' "):
            return main / path.parent / folder
    return main / ".dvc/cache"


def cached_file(digest: str, place: Path | None = None) -> Path | None:
    """Return where the cache has a file. A name without content, which a loss of power leaves, does not count."""
    path = (place or cache()) / OBJECTS / digest[:2] / digest[2:]
    return path if path.is_file() and (path.stat().st_size or digest.startswith(OF_NOTHING)) else None


def cached_folder(digest: str, place: Path | None = None) -> dict[str, str] | None:
    """Return the digests of a folder's files by name. `digest` is that of the listing, which ends in .dir."""
    listing = cached_file(digest, place)
    try:
        entries = json.loads(listing.read_text(encoding="utf-8")) if listing else None
        return None if entries is None else {entry["relpath"]: entry["md5"] for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_cached(digest: str, place: Path) -> bool:
    """Return whether a cache has a file, or a folder with all that is in it."""
    if not digest.endswith(".dir"):
        return cached_file(digest, place) is not None
    listing = cached_folder(digest, place)
    return listing is not None and all(cached_file(one, place) for one in listing.values())


def cached_runs() -> list[Path]:
    """Return the files of the run cache, which list what stages made of what."""
    return sorted(file for file in (cache() / "runs").glob("*/*/*") if file.is_file() and file.suffix != ".tmp")


def require_regular_files(folder: Path) -> None:
    """End with the name of a file that DVC would wait for, or read without end: a pipe, a socket or a device."""
    if odd := next(_list_irregular(folder), None):
        print(f"{odd}: {NO_REGULAR_FILE}; remove it", file=sys.stderr)
        sys.exit(DVC_FAILED)


def _list_irregular(folder: str | Path) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as entries:  # DVC itself names a folder that cannot be read
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _list_irregular(entry.path)
            elif find_irregular(entry) == NO_REGULAR_FILE:
                yield entry.path


def require_readable(path: Path) -> None:
    """End with the file and line of a mistake, which DVC's own reader of YAML would not name."""
    from ruamel.yaml import YAML, YAMLError  # which DVC loads anyway

    try:
        YAML(typ="safe").load(path)
    except (OSError, UnicodeDecodeError):
        pass  # DVC names the file itself
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        quotes = "; put a text that holds a colon in quotes" if ":" in str(error) else ""
        what = getattr(error, "problem", None) or " ".join(str(error).split())
        print(f"{path}{f':{mark.line + 1}' if mark else ''}: not valid YAML: {what}{quotes}", file=sys.stderr)
        sys.exit(DVC_FAILED)


def show_dry_run(arguments: Sequence[str]) -> NoReturn:
    """Show what an experiment would run and leave. DVC's own copy has no files in a dry run and fails at a stage."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-S", "--set-param", action="append", default=[])
    changes = [change.removeprefix("params.yaml:") for change in parser.parse_known_args(arguments)[0].set_param]
    print(f"nothing runs; `bakeoff {shlex.join(['plan', *changes])}` has the stages that would:", flush=True)
    sys.exit(subprocess.run([sys.executable, "-m", "bakeoff", "plan", *changes], check=False).returncode)


def run(argv: Sequence[str]) -> NoReturn:
    """Run DVC with a program's name and arguments. Before it, repair its files; after it, bring them to the disk."""
    sys.argv = list(argv)  # by which DVC names the command that holds a lock
    arguments = sys.argv[1:]
    collect_seldom()  # DVC's modules stay, and searching them takes 7 % of the time
    here = Path.cwd()
    roots = [folder for folder in (here, *here.parents) if (folder / ".dvc").is_dir()][:1]
    for root in roots:
        with (
            suppress(OSError),
            chdir(root),
        ):  # DVC itself reports a workspace that cannot be written, where that matters
            repair(cache())
    if arguments[:2] == ["exp", "run"] and "--dry" in arguments:
        show_dry_run(arguments[2:])
    if "repro" in arguments[:1] or arguments[:2] == ["exp", "run"]:
        require_readable(Path("params.yaml"))
    if arguments[:1] and arguments[0] in READING:
        require_regular_files(DATA)
    from dvc.cli import main as run_dvc

    code, relay = DVC_FAILED, Relay()
    begin_command()
    try:
        with relay.listening():
            code = run_reporting(run_dvc, arguments, _written())
    finally:
        for root in roots:
            with suppress(OSError), chdir(root):
                settle(cache())
                if code == 0:
                    keep_lock()
                    if "repro" in arguments[:1] and "--dry" not in arguments:
                        end_command(DVC)
    sys.exit(relay.exit_code(code))


def main() -> None:
    run(sys.argv)


if __name__ == "__main__":
    main()
