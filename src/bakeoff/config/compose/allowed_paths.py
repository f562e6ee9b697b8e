"""Which paths a variant may name: those in which DVC sees an edit."""

import os
from pathlib import Path

from bakeoff.foundation.errors import show
from bakeoff.learning.run_file.parse import Problems


def require_in(watched: Path, path: Path, key: str, kind: str, problems: Problems) -> None:
    """Note a path that is not below the `watched` folder."""
    # DVC reads through a link to a file, as it makes them itself, but sees nothing through one to a folder.
    try:
        place = path.resolve() if path.is_dir() else path.parent.resolve() / path.name
    except OSError as error:  # such as a name that is too long
        problems.add(key, f"cannot be a path ({error.strerror}), got {show(path.as_posix())}")
        return
    if place.is_relative_to(watched.resolve()):
        return
    rule = f"must be {kind} in {watched.as_posix()}/, where DVC sees every edit, got {path.as_posix()!r}"
    if Path(os.path.abspath(path)).is_relative_to(Path.cwd() / watched):
        target = path.resolve().as_posix()
        problems.add(key, f"{rule}, a link to {target}; `rm {path.as_posix()} && cp -r {target} {path.as_posix()}`")
    else:
        problems.add(key, f"{rule}; `cp -r {path.as_posix()} {watched.as_posix()}/` and name it there")
