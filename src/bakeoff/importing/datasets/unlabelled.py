"""Photos without labels -> a folder of data/raw/ in which they can be labelled, and the option that reads its labels.

data/raw/NAME/images/       the photos, each with a name of its own
data/raw/NAME/annotations/  their labels, one after the other, as Pascal VOC
conf/data/NAME.yaml         reads those that are labelled, and leaves the others out
"""

import zipfile
from collections import Counter
from collections.abc import Container
from pathlib import Path, PurePosixPath

from bakeoff.dataset.sources.paths import IMAGE_SUFFIXES, list_files
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import DataError
from bakeoff.importing.datasets.copying import is_of_system
from bakeoff.importing.datasets.tree import Layout
from bakeoff.learning.run_file.yaml_file import read_mapping, write_mapping

UNLABELLED = "unlabelled"  # `bakeoff import --as unlabelled`
VOC, IMAGES, ANNOTATIONS = "pascal_voc", "images", "annotations"
LABELS_OF_OTHERS = frozenset((".xml", ".json", ".txt", ".csv", ".yaml", ".yml", ".tfrecord", ".record"))
FEWEST_CLASSES = 2  # folders of pictures, from which on folders may name classes
LONGEST_STEM = 100
WITHOUT_LABELS = "photos without labels"
LAYOUT = Layout(VOC, WITHOUT_LABELS, {"unlabelled": "skip"})


def has_no_labels(source: Path) -> bool:
    """Return whether a zip or a folder holds pictures and nothing that may be labels: no file of them, no classes."""
    try:
        if source.is_dir():
            names = [name for name, problem in list_files(source) if problem is None]
        else:
            with zipfile.ZipFile(source) as archive:
                names = [name for name in archive.namelist() if not name.endswith("/")]
    except (OSError, zipfile.BadZipFile, ValueError):
        return False  # whoever reads it whole says what is wrong with it
    paths = [path for path in map(PurePosixPath, names) if not any(map(is_of_system, path.parts))]
    suffixes = Counter(path.suffix.lower() for path in paths)
    folders = {path.parent for path in paths if path.suffix.lower() in IMAGE_SUFFIXES}
    return bool(folders) and len(folders) < FEWEST_CLASSES and not LABELS_OF_OTHERS & suffixes.keys()


def open_set(name: str) -> Path:
    """Return the folder of a set of photos, which is made if it is new. Raises DataError where a name is taken."""
    option, folder = workspace.CONF / "data" / f"{name}.yaml", workspace.RAW / name
    if option.exists():
        tree = read_mapping(option)
        if tree.get("kind") != VOC or tree.get("path") != folder.as_posix():
            raise DataError(f"{option.as_posix()}: reads other data; choose another name for these photos")
    if folder.is_dir() and not (folder / IMAGES).is_dir() and any(folder.iterdir()):
        raise DataError(f"{folder.as_posix()}: holds files of another layout; choose another name for these photos")
    make_folders(folder)
    if not option.exists():
        write_option(option, folder)
    return folder


def make_folders(folder: Path) -> None:
    for inside in (IMAGES, ANNOTATIONS):
        (folder / inside).mkdir(parents=True, exist_ok=True)


def write_option(option: Path, folder: Path) -> None:
    head = "# Photos that are labelled in `bakeoff web`; those without a label are left out.\n"
    write_mapping(option, {"kind": LAYOUT.kind, "path": folder.as_posix(), **LAYOUT.settings}, head=head)


def choose_photo_name(name: str, suffix: str, taken: Container[str]) -> str:
    """Return a file's name whose stem no other photo has, for a label has the stem of its photo.

    `taken` holds stems in small letters.
    """
    stem = PurePosixPath(name).stem[:LONGEST_STEM].strip(". ") or "photo"
    number, unique = 1, stem
    while unique.lower() in taken:
        number += 1
        unique = f"{stem}_{number}"
    own = PurePosixPath(name).suffix
    return unique + (own if own.lower() in IMAGE_SUFFIXES else suffix)


def gather_photos(unpacked: Path, folder: Path) -> int:
    """Move the pictures below one folder to the images of another; return how many other files were left."""
    make_folders(folder)
    taken: set[str] = set()
    others = 0
    for name, problem in sorted(list_files(unpacked)):
        path = PurePosixPath(name)
        if problem is not None or path.suffix.lower() not in IMAGE_SUFFIXES:
            others += 1
            continue
        chosen = choose_photo_name(path.name, path.suffix, taken)
        taken.add(PurePosixPath(chosen).stem.lower())
        (unpacked / name).rename(folder / IMAGES / chosen)
    if not taken:
        raise DataError("no picture is in it")
    return others
