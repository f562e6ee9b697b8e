"""What a workspace gets from the package: the built-in options of conf/, and the files that `bakeoff init` writes.

An installed package has them in a folder of its own. In a clone of the repository they are the clone's own files.

A conf/ with a variant.yaml has every option that there is, as the repository's. One without has a team's own options:
the built-in ones stand beside them, and an own option takes the place of a built-in one of the same name.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from bakeoff.foundation.result_code import DECIDING, PACKAGE, deciding_digest, installed_digest
from bakeoff.foundation.workspace import CODE

CODE_STAGE = "code"
PRIMARY_FILE = "variant.yaml"  # lists the groups
SHOWN_AS = Path("bakeoff/conf")  # how messages and run.yaml's readers see the built-in options


def shipped_folder() -> Path:
    """Return the folder that has conf/, dvc.yaml and params.yaml as this version ships them."""
    own = PACKAGE / "shipped"
    return own if own.is_dir() else PACKAGE.parents[1]


def conf_folders(conf: Path) -> tuple[Path, ...]:
    """Return the folders whose options count, nearest first."""
    return (conf,) if (conf / PRIMARY_FILE).is_file() else (conf, shipped_folder() / "conf")


def find_conf(conf: Path, *parts: str) -> Path:
    """Return the nearest file or folder of this name; one of `conf` itself where there is none."""
    places = [folder.joinpath(*parts) for folder in conf_folders(conf)]
    return next((place for place in places if place.exists()), places[0])


def list_options(conf: Path, group: str) -> list[str]:
    return sorted({file.stem for folder in conf_folders(conf) for file in (folder / group).glob("*.yaml")})


def list_option_folders(conf: Path) -> list[str]:
    return sorted({path.name for folder in conf_folders(conf) if folder.is_dir() for path in _folders_in(folder)})


def replaces_built_in(conf: Path, group: str, name: str) -> bool:
    """Whether an own option hides a built-in one."""
    return sum((folder / group / f"{name}.yaml").is_file() for folder in conf_folders(conf)) > 1


def shown_path(path: Path, conf: Path) -> Path:
    """Return the path of an option as messages name it, the same on every machine."""
    for folder in conf_folders(conf)[1:]:
        if path.is_relative_to(folder):
            return SHOWN_AS / path.relative_to(folder)
    return path


def built_in_options(conf: Path) -> Path:
    """Return the folder of the built-in options, as messages name it."""
    return shown_path(conf_folders(conf)[-1], conf)


def hydra_search_path(conf: Path) -> list[str]:
    """Return the override by which Hydra looks among the built-in options, too."""
    more = [f"file://{folder.resolve().as_posix()}" for folder in conf_folders(conf)[1:]]
    return [f"hydra.searchpath=[{','.join(more)}]"] if more else []


def code_stage(folder: Path = Path()) -> list[str]:
    """Return the stage that the others of this workspace need first: one if `bakeoff init` made it, else none."""
    pipeline = folder / "dvc.yaml"
    return [CODE_STAGE] if pipeline.is_file() and CODE.as_posix() in pipeline.read_text("utf-8", "replace") else []


def code_lines() -> dict[str, str]:
    """Return what models/code.yaml holds: of each stage a digest of what decides it, code and built-in options."""
    return {stage: _digest_with_options(stage, deciding_digest(stage)) for stage in DECIDING}


def code_digest() -> str:
    """Return one digest of what is installed. Parts of a workspace are no part of it: each commit has its own."""
    lines = {stage: _digest_with_options(stage, installed_digest(stage)) for stage in DECIDING}
    return hashlib.sha256(repr(lines).encode()).hexdigest()


def _digest_with_options(stage: str, code: str) -> str:
    digest, conf = hashlib.sha256(code.encode()), shipped_folder() / "conf"
    for path in sorted(conf.rglob("*.yaml")):
        name = path.relative_to(conf).as_posix()
        if stage == "render_config" or (stage == "build_records" and name.startswith((PRIMARY_FILE, "data/"))):
            digest.update(f"\n{name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _folders_in(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_dir())
