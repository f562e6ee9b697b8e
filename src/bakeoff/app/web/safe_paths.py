"""Names that a browser sends -> paths, none of which leads out of the folder that it belongs to."""

import re
from pathlib import Path, PurePosixPath

from bakeoff.app.web.refusals import NotFound
from bakeoff.dataset.sources import paths
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError, show

LONGEST_NAME = 1000
LONGEST_PART = paths.LONGEST_PART - len(".partial")  # an upload adds that
CONTROL = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
DRIVE = re.compile(r"^[A-Za-z]:")
OWN = "web"  # the page's own folder below .bakeoff/


def own_folder(name: str) -> Path:
    """Return a folder in which the page keeps logs or uploads."""
    return workspace.main_workspace() / workspace.IN_FLIGHT / OWN / name


def require_inside(root: Path, name: str) -> Path:
    """Return the path of a name below a folder, whether or not it exists.

    Raises DataError for a name that leads elsewhere: by `..`, from the root, by a drive or through a link.
    """
    parts = PurePosixPath(name).parts
    leads_away = name.startswith("/") or ".." in parts or CONTROL.search(name) or DRIVE.match(name)
    is_long = len(name) > LONGEST_NAME or any(len(part.encode(errors="replace")) > LONGEST_PART for part in parts)
    if leads_away or not parts or is_long:
        raise DataError(f"{show(name)}: must be a name in {root.as_posix()}/")
    path = root.joinpath(*parts)
    if above := next((one for one in path.parents if one != root and one.is_relative_to(root) and one.is_file()), None):
        raise DataError(f"{show(name)}: {above.relative_to(root).as_posix()} is a file there, and no folder")
    if not path.resolve().is_relative_to(root.resolve()):
        raise DataError(f"{show(name)}: a link in {root.as_posix()}/ leads out of it; copy what it points to")
    return path


def require_file(root: Path, name: str) -> Path:
    """Return the path of a file below a folder. Raises NotFound if there is none."""
    path = require_inside(root, name)
    if not path.is_file():
        raise NotFound(f"{(root / name).as_posix()}: no such file")
    return path
