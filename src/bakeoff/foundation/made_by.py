"""Which bakeoff wrote the files of a workspace, and what they were then: `.dvc/bakeoff.json`, which git has.

So `bakeoff upgrade` can tell a team's own lines of dvc.yaml from those of the version before. It is written when all
else is in place.
{"version": "0.15.0", "files": {"dvc.yaml": "# The stages…", ".dvc/plots.html": "sha256=9f2c…"}}
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import read_json
from bakeoff.foundation.installed import NAME
from bakeoff.foundation.versions import installed_version, is_newer
from bakeoff.foundation.workspace import MADE_BY

EDITED_BY_NOBODY = (".dvc/plots.html", "data/weights/s3dg.tsv")  # long files, of which a digest is kept
DIGEST = "sha256="
UNKNOWN = "unknown"


@dataclass(frozen=True)
class MadeBy:
    version: str
    files: Mapping[str, str]  # name -> what it held; of some a digest

    @classmethod
    def of(cls, files: Mapping[str, str]) -> "MadeBy":
        """Return what the installed bakeoff writes down of the files that it has written."""
        return cls(installed_version(NAME), {name: kept_of(name, content) for name, content in files.items()})

    @classmethod
    def read(cls, folder: Path = Path()) -> "MadeBy | None":
        """Return None where there is no such file, or a damaged one."""
        tree = read_json(folder / MADE_BY)
        version, files = tree.get("version"), tree.get("files")
        if not isinstance(version, str) or not isinstance(files, dict):
            return None
        return cls(version, {str(name): str(content) for name, content in files.items()})

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def kept_of(name: str, content: str) -> str:
    """Return what the record keeps of a file: its content, or a digest of it."""
    return DIGEST + hashlib.sha256(content.encode()).hexdigest() if name in EDITED_BY_NOBODY else content


def require_not_newer(folder: Path = Path()) -> None:
    """Raise WorkspaceError for a workspace that a newer bakeoff wrote, whose stages and keys this one may not have."""
    if (made := MadeBy.read(folder)) and is_newer(made.version, here := installed_version(NAME)):
        raise WorkspaceError(
            f"{MADE_BY.as_posix()}: bakeoff {made.version} made this workspace, and {here} is installed; install "
            f"{made.version} or a newer one"
        )
