"""Photos of a set in data/raw/, one by one as a browser sends them: taken in, or why not, and what to notice of each.

`.bakeoff/web/photos/NAME.jsonl` has a line for each photo, in the order in which they came:

{"photo": "images/IMG_1.jpg", "sent": "IMG_1.JPG", "bytes": 81920, "sha256": "9f3a…", "sharpness": 512.4, …}
"""

import base64
import json
import os
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

import numpy as np
from PIL import Image

from bakeoff.app.web.safe_paths import own_folder
from bakeoff.app.web.work_steps import IGNORED
from bakeoff.dataset.building.image_check import MOST_AT_ONCE, RejectedItem, check_image, read_image, turn_pixels
from bakeoff.dataset.sources.paths import format_of, read_head
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.files import read_json_lines
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.importing.datasets.seen_pictures import Look, SeenPictures, take_look
from bakeoff.importing.datasets.unlabelled import IMAGES, choose_photo_name, open_set

LONGER_SIDE = 512  # pixels at which sharpness is measured; networks see about as much
BLURRED = 40.0  # variance of the Laplacian below which edges are soft; of 200 sharp photographs 1 has less
OF_OTHERS = 0.25  # of the set's own middle; pictures of a microscope are all soft, and none of them is blurred
FEWEST_TO_COMPARE = 5
CONVERT, FILM, ZIP = "convert", "film", "zip"  # what a person can do with a file that is no usable photo


class NoPhoto(DataError):
    """Why a file is not taken in as a photo, and what can be done with it instead."""

    def __init__(self, text: str, remedy: str = "") -> None:
        self.remedy = remedy
        super().__init__(text)


@dataclass(frozen=True)
class PhotoFacts:
    photo: str  # relative to the folder of the set
    sent: str  # as the browser called it
    bytes: int
    sha256: str
    sharpness: float
    likeness: str  # hexadecimal
    grid: str  # base64
    alike: str = ""  # the earlier photo that it looks like

    @property
    def look(self) -> Look:
        return Look(int(self.likeness, 16), base64.b64decode(self.grid))


@dataclass(frozen=True)
class TakenPhoto:
    photo: str
    marks: tuple[str, ...]  # what to notice, in words
    is_new: bool


class PhotoSet:
    """The photos that came by the page, and which of them are alike or blurred."""

    def __init__(self, name: str) -> None:
        self.root = open_set(name)
        self._file = facts_file(name)
        self._lock = Lock()
        self._facts: list[PhotoFacts] = []
        self._seen = SeenPictures()
        self._length = 0  # of the file, when it was read
        self._read()

    def _read(self) -> None:
        """Read what was written since, such as by another server."""
        length = self._file.stat().st_size if self._file.is_file() else 0
        if length == self._length:
            return
        self._facts, self._seen, self._length = [], SeenPictures(), length
        for tree in read_json_lines(self._file):
            try:
                self._keep(PhotoFacts(**tree))
            except (TypeError, ValueError):
                continue

    def _keep(self, facts: PhotoFacts) -> None:
        self._facts.append(facts)
        self._seen.add(facts.look)

    def find_known(self, files: list[dict[str, Any]]) -> list[int]:
        """Return the numbers of those files that are here: by their digest, or where there is none by name and size."""
        with self._lock:
            self._read()
            here = [one for one in self._facts if self._is_here(one)]
        digests, names = {one.sha256 for one in here}, {(one.sent, one.bytes) for one in here}
        return [
            number
            for number, file in enumerate(files)
            if (file["digest"] in digests if file["digest"] else (file["name"], file["size"]) in names)
        ]

    def _is_here(self, facts: PhotoFacts) -> bool:
        """Return whether a photo is in the set; one that was left out on purpose is not to come back."""
        return any((self.root / name).is_file() for name in (facts.photo, f"{IGNORED}/{Path(facts.photo).name}"))

    def take(self, file: Path, sent: str) -> TakenPhoto:
        """Move a file into the set. Raises NoPhoto; then the file stays where it is."""
        facts, suffix = _examine(file, sent)
        with self._lock:
            self._read()
            same = next((one for one in self._facts if one.sha256 == facts.sha256 and self._is_here(one)), None)
            if same is not None:
                file.unlink()
                return TakenPhoto(same.photo, ("is here already",), is_new=False)
            number = self._seen.find(facts.look)
            alike = self._facts[number] if number is not None else None
            name = f"{IMAGES}/{choose_photo_name(sent, suffix, self._list_stems())}"
            facts = PhotoFacts(
                **{**asdict(facts), "photo": name, "alike": alike.photo if alike and self._is_here(alike) else ""}
            )
            self._write(facts)  # before the file: after a kill in between it is sent again, and not kept twice
            file.replace(self.root / name)
            self._keep(facts)
        return TakenPhoto(name, self._marks_of(facts, self._middle()), is_new=True)

    def _list_stems(self) -> set[str]:
        folders = [self.root / inside for inside in (IMAGES, IGNORED) if (self.root / inside).is_dir()]
        return {os.path.splitext(name)[0].lower() for folder in folders for name in os.listdir(folder)}

    def _write(self, facts: PhotoFacts) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(facts)) + "\n")
        self._length = self._file.stat().st_size

    def list_marks(self) -> dict[str, tuple[str, ...]]:
        """Return the photos of which there is something to notice."""
        with self._lock:
            self._read()
            middle = self._middle()
            marks = {one.photo: self._marks_of(one, middle) for one in self._facts if (self.root / one.photo).is_file()}
        return {photo: words for photo, words in marks.items() if words}

    def _middle(self) -> float:
        """Return the sharpness of the middle photo; 0 of too few."""
        values = [one.sharpness for one in self._facts]
        return statistics.median(values) if len(values) >= FEWEST_TO_COMPARE else 0.0

    def _marks_of(self, facts: PhotoFacts, middle: float) -> tuple[str, ...]:
        marks = []
        if facts.alike and (self.root / facts.alike).is_file():
            marks.append(f"looks like {PurePosixPath(facts.alike).name}")
        if facts.sharpness < min(BLURRED, OF_OTHERS * middle):
            marks.append("is blurred")
        return tuple(marks)


_sets: dict[Path, PhotoSet] = {}
_opening = Lock()


def find_set(name: str) -> PhotoSet:
    """Return a set of this workspace by its name, which is made if it is new."""
    workspace.choose_option_name(name, "", reserved="preset")
    place = (workspace.RAW / name).absolute()
    with _opening:
        if place not in _sets or not place.is_dir():
            _sets[place] = PhotoSet(name)
        return _sets[place]


def list_marks(name: str) -> dict[str, tuple[str, ...]]:
    """Return what to notice of the photos that came by the page; of other folders nothing is known."""
    return find_set(name).list_marks() if facts_file(name).is_file() else {}


def facts_file(name: str) -> Path:
    return own_folder("photos") / f"{name}.jsonl"


def _examine(file: Path, sent: str) -> tuple[PhotoFacts, str]:
    """Return what is known of a photo, and what its name must end in. Raises NoPhoto."""
    try:
        data = read_image(file)
        checked = check_image(data, None)
        grey = _shrink(file, checked.orientation)
    except RejectedItem as error:
        raise NoPhoto(f"{sent}: {error}", _find_remedy(file)) from None
    look = take_look(grey)
    facts = PhotoFacts(
        photo="", sent=sent, bytes=len(data), sha256=checked.sha256, sharpness=round(measure_sharpness(grey), 1),
        likeness=f"{look.likeness:016x}", grid=base64.b64encode(look.grid).decode(),
    )  # fmt: skip
    suffix = {"JPEG": ".jpg", "TIFF": ".tif", "PNM": ".ppm"}.get(format_of(data) or "", f".{format_of(data)}".lower())
    return facts, suffix


def _shrink(file: Path, orientation: int) -> np.ndarray:
    """Return a photo that was checked, grey, upright, and as small as is enough."""
    with quiet_pillow(), Image.open(file) as opened:
        opened.draft("L", (LONGER_SIDE, LONGER_SIDE))
        small = opened.convert("L")
    small.thumbnail((LONGER_SIDE, LONGER_SIDE), Image.Resampling.BILINEAR)
    return np.ascontiguousarray(turn_pixels(np.asarray(small), orientation))


def measure_sharpness(grey: np.ndarray) -> float:
    """Return the variance of the Laplacian of a grey picture (h, w): small where no edge is hard."""
    if min(grey.shape) < 3:
        return 0.0
    middle = grey.astype(np.float32)
    around = middle[:-2, 1:-1] + middle[2:, 1:-1] + middle[1:-1, :-2] + middle[1:-1, 2:]
    return float((around - 4 * middle[1:-1, 1:-1]).var())


def _find_remedy(file: Path) -> str:
    """Return what can be done with a file that is no usable photo; "" where nothing helps."""
    head = read_head(file)
    if isinstance(head, str):
        return ""
    if head[4:8] == b"ftyp":
        return CONVERT if head[8:12] in (b"heic", b"heix", b"mif1", b"msf1", b"avif") else FILM
    if head.startswith(b"PK\x03\x04"):
        return ZIP
    try:
        with quiet_pillow(), Image.open(file) as opened:
            return CONVERT if opened.width * opened.height > MOST_AT_ONCE else ""
    except Exception:  # a decoder may raise anything on damaged bytes
        return ""
