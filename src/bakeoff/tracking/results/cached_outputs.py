"""A revision of git and a stage -> the files of an output of that stage, as DVC's cache has them.

models/export of v1 -> digests {"model.tflite": "5d41…"}, files {"model.tflite": .dvc/cache/files/md5/5d/41…}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.foundation import dvc, git
from bakeoff.foundation.files import require_whole
from bakeoff.tracking.results.results import output_digest, parse_yaml

LOCK = "dvc.lock"
FOLDER = ".dir"  # ends the digest of a folder


@dataclass(frozen=True)
class CachedOutput:
    """The files of an output by their names in it: what is named, and what of it the cache has."""

    is_known: bool  # whether dvc.lock names the output
    digests: Mapping[str, str]  # MD5
    files: Mapping[str, Path]

    @property
    def is_whole(self) -> bool:
        return bool(self.digests) and len(self.files) == len(self.digests)

    def compared(self, *names: str) -> Mapping[str, Path]:
        """Return these files, by default all, after each was compared with its digest. Raises DataError."""
        for name in names or self.files:
            require_whole(self.files[name], self.digests[name], "cache")
        return self.files


def find_cached(revision: str | None, stage: str, output: Path) -> CachedOutput:
    """Find an output of a commit, a branch, a tag or a DVC experiment. One that is a file goes by its own name."""
    lock = git.file_at(revision, LOCK) if revision else None
    digest = output_digest(parse_yaml(lock), stage, output)
    if digest is None:
        return CachedOutput(False, {}, {})
    digests = dvc.cached_folder(digest) or {} if digest.endswith(FOLDER) else {output.name: digest}
    files = {name: path for name, entry in digests.items() if (path := dvc.cached_file(entry))}
    return CachedOutput(True, digests, files)
