"""What PhotonVision does with an uploaded archive of models, by the facts of its source at e2a2c73 and v2026.3.4.

Every file at the top that is no .json is copied into the folder of models. The .json becomes the list of models, in
place of the list that was there. Then each file with the ending of the processor is looked up in the list by its whole
path; a .rknn that is not in it is read by its name, with the labels beside it.
"""

import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LISTED = "photonvision-object-detection-models.json"
MODELS = Path("/opt/photonvision/photonvision_config/models")
ENDINGS = {"RKNN": ".rknn", "RUBIK": ".tflite"}
VERSIONS = {"RKNN": {"YOLOV5", "YOLOV8", "YOLOV11"}, "RUBIK": {"YOLOV8", "YOLOV11"}}
NAMED = re.compile(r"([a-zA-Z0-9._]+)-(\d+)-(\d+)-(yolov(?:5|8|11)[nsmlx]*)\.rknn")


@dataclass(frozen=True)
class Listed:
    path: Path
    nickname: str
    labels: list[str]
    sides: tuple[int, int]
    family: str
    version: str


class Page:
    """A coprocessor; `release` 2026 lists models in a map, later ones in `models` or, of older files, in that map."""

    def __init__(self, family: str, release: int = 2026, folder: Path = MODELS) -> None:
        self.family, self.release, self.folder = family, release, folder
        self.files: dict[Path, bytes] = {}
        self._listed: dict[Path, Listed] = {}

    def upload(self, path: Path) -> None:
        assert path.suffix == ".zip"
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if "/" not in name and not name.endswith(".json")]
            self.files |= {self.folder / name: archive.read(name) for name in names}
            self._listed = {model.path: model for model in self._read(json.loads(archive.read(LISTED)))}

    def find_models(self) -> list[Listed]:
        """Return what a user can choose; raise where PhotonVision logs that it cannot load a model."""
        found = [path for path in sorted(self.files) if path.suffix == ENDINGS[self.family]]
        return [self._load(path) for path in found]

    def _read(self, tree: dict[str, Any]) -> list[Listed]:
        rows = tree.get("models") if self.release > 2026 else None
        rows = list(tree["modelPathToProperties"].values()) if rows is None else rows
        return [
            Listed(
                _path(row["modelPath"]), row["nickname"], row["labels"],
                (row["resolutionWidth"], row["resolutionHeight"]), row["family"], row["version"],
            )
            for row in rows
        ]  # fmt: skip

    def _load(self, path: Path) -> Listed:
        model = self._listed.get(path) or self._by_name(path)
        assert model.family == self.family and model.version in VERSIONS[self.family]
        assert model.labels and min(model.sides) > 0
        return model

    def _by_name(self, path: Path) -> Listed:
        match = NAMED.fullmatch(path.name)
        assert match, f"{path.name} is in no list, and its name tells nothing"
        labels = self.files[path.with_name(path.name.replace(".rknn", "-labels.txt"))].decode().splitlines()
        version = next(known for known in ("yolov5", "yolov8", "yolov11") if known in match[4])
        return Listed(path, path.name, labels, (int(match[2]), int(match[3])), "RKNN", version.upper())


def _path(address: str) -> Path:
    parts = urlsplit(address)
    assert parts.scheme == "file" and not parts.netloc
    return Path(unquote(parts.path))
