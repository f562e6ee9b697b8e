"""DVC, run by the python that runs this, and what lies in its cache, read without it.

The command `dvc` of this project's environment is `main` here: DVC itself, after what a kill left half written is
mended, on which it would fail from then on: entries of its run cache, and dvc.lock.
"""

import configparser
import filecmp
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bakeoff.errors import WorkspaceError
from bakeoff.files import write_whole
from bakeoff.workspace import PARAMS, main_workspace

SECONDS_TO_WRITE, SECONDS_BETWEEN_LOOKS = 5.0, 0.1  # of an entry of the run cache, or dvc.lock
LOCK, KEPT_LOCK = Path("dvc.lock"), Path(".dvc/tmp/dvc.lock")  # the second as a command found the first
RUN_STAGES = {"repro", "exp"}
DVC_FAILED = 255  # its exit code
CONFIGS = (Path(".dvc/config.local"), Path(".dvc/config"))  # the first that says something is right


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dvc", *arguments]


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Stages run `python`, which must be the one that runs this; and what is written at once can be shown at once."""
    path = os.pathsep.join([str(Path(sys.executable).parent), *filter(None, [own.get("PATH")])])
    return {**own, "PATH": path, "PYTHONUNBUFFERED": "1"}


def answer(*arguments: str, folder: Path | None = None) -> str:
    """What it prints. Raises WorkspaceError with the last of what it says if it fails."""
    done = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        words = " ".join(argument for argument in arguments[:2] if not argument.startswith("-"))
        raise WorkspaceError(f"dvc {words}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout.strip()


def run_here(*arguments: str) -> int:
    """Run DVC in this process, and return its exit code."""
    from dvc.cli import main as run_dvc

    return int(run_dvc(list(arguments)))


def change_params(changes: Sequence[str]) -> None:
    """Change params.yaml as `dvc exp run -S` does."""
    from dvc.utils.hydra import apply_overrides

    apply_overrides(PARAMS, list(changes))


# Its cache, which all workspaces of one clone share, and maybe several clones.


def cache() -> Path:
    """As the main workspace's own settings say; those of the whole machine are not asked."""
    main = main_workspace()
    for path in CONFIGS:
        config = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            config.read(main / path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if folder := config.get("cache", "dir", fallback="").strip("\"' "):
            return main / path.parent / folder
    return main / ".dvc/cache"


def cached_file(digest: str) -> Path | None:
    path = cache() / "files/md5" / digest[:2] / digest[2:]
    return path if path.is_file() else None


def cached_folder(digest: str) -> dict[str, str] | None:
    """Its files' digests by name; `digest` is that of the listing, which ends in .dir."""
    listing = cached_file(digest)
    try:
        entries = json.loads(listing.read_text(encoding="utf-8")) if listing else None
        return None if entries is None else {entry["relpath"]: entry["md5"] for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def cached_runs() -> list[Path]:
    """Of the run cache: what stages made of what."""
    return sorted(file for file in (cache() / "runs").glob("*/*/*") if file.is_file() and file.suffix != ".tmp")


def clear_half_written(cache: Path) -> None:
    """Remove what a kill left in the run cache, which DVC takes for a whole entry: a file, or a folder without one.

    A young one may be of a process that writes it now, and is waited for.
    """
    runs = cache / "runs"
    while left := [*runs.glob("*/*/*.tmp"), *filter(_is_empty, runs.glob("*/*"))]:
        for path in left:
            with suppress(OSError):  # it has just become whole
                if time.time() - path.stat().st_mtime > SECONDS_TO_WRITE:
                    path.rmdir() if path.is_dir() else path.unlink()
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _is_empty(folder: Path) -> bool:
    with suppress(OSError):  # it has just gone
        return not any(folder.iterdir())
    return False


def mend_lock() -> None:
    """Put a half-written dvc.lock back as the last command found it; what stages made since is in the run cache."""
    while LOCK.is_file() and not (KEPT_LOCK.is_file() and filecmp.cmp(LOCK, KEPT_LOCK, shallow=False)):
        if _is_whole(text := LOCK.read_text("utf-8")):
            write_whole(KEPT_LOCK, text)
        elif time.time() - LOCK.stat().st_mtime < SECONDS_TO_WRITE:  # of a process that writes it now
            time.sleep(SECONDS_BETWEEN_LOOKS)
        else:
            print("dvc.lock was left half written; it is again as before the last command", file=sys.stderr)
            KEPT_LOCK.replace(LOCK) if KEPT_LOCK.is_file() else LOCK.unlink()


def _is_whole(text: str) -> bool:
    """Return whether it is no beginning of a longer one. A merge's conflict is: DVC says what is wrong with it."""
    import yaml

    with suppress(yaml.YAMLError):
        return "<<<<<<< " in text or (text.endswith("\n") and not text.endswith(":\n") and bool(yaml.safe_load(text)))
    return False


def require_readable(path: Path) -> None:
    """End with the file and line of a mistake that DVC's own reader of YAML would name without them."""
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


def main() -> None:
    """Run DVC with this process's arguments."""
    if RUN_STAGES & set(sys.argv[1:2]) and Path("dvc.yaml").is_file():
        clear_half_written(cache())
        mend_lock()
        if "repro" in sys.argv[1:2] or "run" in sys.argv[2:3]:
            require_readable(Path("params.yaml"))
    from dvc.cli import main as run_dvc

    sys.exit(run_dvc())


if __name__ == "__main__":
    main()
