"""A name -> the run.yaml that it stands for: a file, a git revision, a DVC experiment or an MLflow run."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.errors import WorkspaceError
from bakeoff.run.file import unsealed
from bakeoff.run.yaml_file import read_mapping
from bakeoff.tracking import git, stored
from bakeoff.workspace import RUN

RUN_ID = re.compile(r"[0-9a-f]{32}")


def rendered(name: str) -> dict[str, Any]:
    if Path(name).is_file():
        return unsealed(read_mapping(Path(name)))
    text = git.file_at(name, RUN.as_posix())
    if text is None and RUN_ID.fullmatch(name):
        text = stored.run_yaml(name)
    if text is None:
        kinds = "a file, a git revision, a DVC experiment (`dvc exp list`) or the id of an MLflow run"
        raise WorkspaceError(f"{name}: no {RUN.as_posix()} is known by this name; it can be {kinds}")
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name.replace('/', '_')}.yaml"
        path.write_text(text, encoding="utf-8")
        return unsealed(read_mapping(path))
