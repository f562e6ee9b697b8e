"""A name of a file, a git revision, a DVC experiment or any other run -> its run.yaml as values."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.foundation import git, workspace
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.learning.run_file.read_write import unsealed
from bakeoff.learning.run_file.yaml_file import read_mapping
from bakeoff.tracking.find_run import find_run, target_here
from bakeoff.tracking.resolve_name import find_tracked
from bakeoff.tracking.store.fetch_artifacts import CONFIG


def load_run_yaml(name: str) -> dict[str, Any]:
    if Path(name).is_file():
        return unsealed(read_mapping(Path(name)))
    text = git.file_at(name, workspace.RUN.as_posix())
    if text is None:
        text = _read_tracked(name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name.replace('/', '_')}.yaml"
        path.write_text(text, encoding="utf-8")
        return unsealed(read_mapping(path))


def _read_tracked(name: str) -> str:
    names = find_tracked(name, target_here(), " or a file")
    tracked = find_run(names.run_id)
    content = tracked.read(CONFIG) if tracked else None
    if content is None:
        raise WorkspaceError(f"{names.label}: neither its journal nor MLflow gives its {CONFIG}")
    return content.decode(encoding="utf-8")
