"""`certificate.json`: an in-toto statement (v1) of everything that a run read and left, written and read here alone.

{"_type": "https://in-toto.io/Statement/v1",
 "subject": [{"name": "models/train/best.weights.h5", "digest": {"sha256": "9f2c…", "md5": "51ab…"}}, …],
 "predicateType": "https://bakeoff/certificate/v1",
 "predicate": {"run": {…}, "code": {"commit": "f883…", "files": [{"name": "src/…", "digest": {…}}]}, "data": {…}, …}}
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.foundation.errors import DataError, show
from bakeoff.foundation.files import load_json

FILE = "certificate.json"
STATEMENT, PREDICATE = "https://in-toto.io/Statement/v1", "https://bakeoff/certificate/v1"
SUBJECTS = {"weights": "models/train/", "export": "models/export/"}  # what the other parts explain
PARTS = ("code", "lock", "config", "data", "metrics", *SUBJECTS)
PRINTED = {"code": ("commit",), "run": ("name", "fingerprint"), "reproduction": ("verdict", "at")}
GIT, DVC = "gitBlob", "md5"  # of a digest: the name by which git or DVC's cache has the same bytes


@dataclass(frozen=True)
class StatedFile:
    name: str  # in the workspace
    sha256: str
    md5: str | None = None
    blob: str | None = None

    @property
    def descriptor(self) -> dict[str, Any]:
        digests = {"sha256": self.sha256, DVC: self.md5, GIT: self.blob}
        return {"name": self.name, "digest": {kind: digest for kind, digest in digests.items() if digest}}

    @classmethod
    def parse(cls, tree: Mapping[str, Any]) -> "StatedFile":
        digest = tree["digest"]
        return cls(str(tree["name"]), str(digest["sha256"]), digest.get(DVC), digest.get(GIT))


@dataclass(frozen=True)
class RunStatement:
    facts: Mapping[str, Mapping[str, Any]]  # by part, and of the run itself
    files: Mapping[str, tuple[StatedFile, ...]]  # by part

    @property
    def commit(self) -> str:
        return str(self.facts["code"]["commit"])

    @property
    def installed(self) -> Mapping[str, str]:
        """Return the digest of the installed code by stage; nothing where the commit has the code."""
        return self.facts["code"].get("installed") or {}

    @property
    def text(self) -> str:
        files = {part: [one.descriptor for one in self.files[part]] for part in PARTS}
        facts = {part: {**self.facts.get(part, {}), "files": files[part]} for part in PARTS if part not in SUBJECTS}
        others = {name: known for name, known in self.facts.items() if name not in facts}
        tree = {
            "_type": STATEMENT,
            "subject": [descriptor for part in SUBJECTS for descriptor in files[part]],
            "predicateType": PREDICATE,
            "predicate": {**others, **facts},
        }
        return json.dumps(tree, indent=1, ensure_ascii=False) + "\n"


def read_statement(path: Path) -> RunStatement:
    """Raises DataError for a file that is none, or of another version."""
    try:
        tree = load_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: is no certificate: {error}; name the {FILE} that `bakeoff certify` wrote") from None
    for key, version in (("_type", STATEMENT), ("predicateType", PREDICATE)):
        if tree.get(key) != version:
            remedy = "verify it with the bakeoff that wrote it"
            raise DataError(f"{path}: {key}: must be {version}, got {show(tree.get(key))}; {remedy}")
    try:
        facts = tree["predicate"]
        files = {part: _parse_files(facts[part]["files"]) for part in PARTS if part not in SUBJECTS}
        subjects = _parse_files(tree["subject"])
        for part in SUBJECTS:
            files[part] = tuple(one for one in subjects if one.name.startswith(SUBJECTS[part]))
        for part, keys in PRINTED.items():
            [facts[part][key] for key in keys]
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path}: is no whole certificate, {error} is missing or odd; certify the run again") from None
    return RunStatement(facts, files)


def _parse_files(trees: Iterable[Mapping[str, Any]]) -> tuple[StatedFile, ...]:
    return tuple(map(StatedFile.parse, trees))
