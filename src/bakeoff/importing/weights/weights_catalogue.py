"""What there is: `catalogue.yaml`, as entries by their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from bakeoff.foundation.errors import ConfigError, choices

FILE = Path(__file__).with_name("catalogue.yaml")


@dataclass(frozen=True)
class SourcePage:
    """The page that an entry's facts were taken from."""

    name: str
    address: str | None


@dataclass(frozen=True)
class Entry:
    """Weights that somebody has published."""

    name: str
    page: SourcePage
    models: tuple[str, ...]  # options of conf/model/
    source: str | None  # address of a file; None: no public one is known
    licence: str | None
    data: str  # that they were trained on
    classes: int  # that their head answers; 0: they have no head
    score: str | None = None
    speed: str | None = None
    size: int | None = None  # bytes of the file
    size_from: str | None = None  # who states the size
    sha256: str | None = None
    md5: str | None = None  # what Keras publishes
    sum_from: str | None = None
    forbids: str | None = None  # what the licence does not allow

    @property
    def file(self) -> str:
        """Return the file's name at the source and on a mirror."""
        return urlsplit(self.source).path.rpartition("/")[2] if self.source else f"{self.name}.tar.gz"


@cache
def read_catalogue(file: Path = FILE) -> Mapping[str, Entry]:
    tree = yaml.safe_load(file.read_text(encoding="utf-8"))
    pages = {key: SourcePage(**page) for key, page in tree["pages"].items()}
    return {
        name: Entry(**{"name": name, **fields, "page": pages[fields["page"]], "models": tuple(fields["models"])})
        for name, fields in tree["weights"].items()
    }


def find_entry(name: str, catalogue: Mapping[str, Entry]) -> Entry:
    name = name.removeprefix("zoo/")
    if name in catalogue:
        return catalogue[name]
    fitting = [entry.name for entry in catalogue.values() if name in entry.models]
    if fitting:
        raise ConfigError(f"{name}: is a network; its published weights are {', '.join(fitting)}")
    raise ConfigError(f"{name}: no such weights; {choices(name, catalogue)}")
