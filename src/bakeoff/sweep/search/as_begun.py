"""params.yaml and conf/ as they were when a sweep began: what is drawn later is read with these, not with edits."""

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff import workspace
from bakeoff.files import building
from bakeoff.sweep.manifest import Manifest
from bakeoff.sweep.snapshot import git

FOLDER = "begun"


def as_begun(manifest: Manifest) -> Path:
    """The folder that holds them, beside the manifest; made from the snapshot where it is missing."""
    folder = manifest.folder / FOLDER
    if not folder.is_dir():
        names = (workspace.PARAMS.as_posix(), workspace.CONF.as_posix())
        with TemporaryDirectory() as place, building(folder) as partial:
            packed = Path(place) / "begun.tar"
            git("archive", "--format=tar", f"--output={packed}", manifest.snapshot, *names)
            with tarfile.open(packed) as tar:
                tar.extractall(partial, filter="data")
    return folder
