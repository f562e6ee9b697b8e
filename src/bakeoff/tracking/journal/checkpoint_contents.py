"""The files of a checkpoint that MLflow opens: what each holds, and how they give the checkpoint back.

MLmodel, requirements.txt, code/       what MLflow reads first
data/model/model.keras                 the network with its weights
data/model/answers/, labels.txt        what makes answers of its outputs
exact/00001200                         the rest of the checkpoint, in parts if it is large
exact/contents.json                    this list; it is sent last
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.foundation.files import hash_file, read_json

EXACT = "exact"
CONTENTS = f"{EXACT}/contents.json"
ARCHIVE = "data/model/model.keras"


@dataclass(frozen=True)
class Contents:
    files: Mapping[str, str]  # the SHA-256 of each file, by its name
    weights: Mapping[str, str]  # the arrays of the checkpoint that the archive holds, with their places there

    @classmethod
    def read(cls, file: Path) -> "Contents | None":
        """Return None for a file that is not there, or damaged."""
        tree = read_json(file)
        if not all(isinstance(tree.get(key), dict) for key in ("files", "weights")):
            return None
        return cls(tree["files"], tree["weights"])

    @property
    def text(self) -> str:
        return json.dumps({"files": dict(self.files), "weights": dict(self.weights)}, indent=1) + "\n"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def are_whole(self, folder: Path) -> bool:
        files = {folder / name: digest for name, digest in self.files.items()}
        return all(path.is_file() and hash_file(path) == digest for path, digest in files.items())


def list_rest(folder: Path) -> Iterator[Path]:
    """Yield the parts of what the archive does not hold, in their order."""
    yield from sorted(path for path in (folder / EXACT).iterdir() if path.name != Path(CONTENTS).name)
