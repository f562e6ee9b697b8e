"""A workspace for an installed bakeoff, in an empty folder or in a folder of a git repository that has other things.

Its dvc.yaml is the repository's, with models/code.yaml in the place of folders of code. Nothing that is there is
changed, but for lines added to .gitignore and .dvcignore. dvc.yaml comes last: until then a killed `bakeoff init` is
gone on with by the same command. `bakeoff upgrade` asks what a newer version would write.
"""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.files import remove_partial, write_whole
from bakeoff.foundation.formatting import format_names
from bakeoff.foundation.git import run
from bakeoff.foundation.made_by import MadeBy
from bakeoff.foundation.own_parts import FOLDER
from bakeoff.foundation.shipped import list_option_folders, list_options, shipped_folder
from bakeoff.foundation.workspace import CODE, CONF, MADE_BY, PARAMS

PIPELINE = Path("dvc.yaml")
COPIED = (
    ".dvc/config", ".dvc/plots.html", ".dvc/.gitignore", "data/.gitignore", "data/raw/.gitignore",
    "data/weights/.gitignore", "data/weights/s3dg.tsv", "models/.gitignore",
)  # fmt: skip
GROWN = (".gitignore", ".dvcignore")  # files of others, too, which get the lines that they lack
MOST_NAMED = 5
OF_THE_REPOSITORY = (
    "/benchmarks",
    "/docs",
    "/tests",
    "site/",
    ".cache/",
    "build/",
    "dist/",
    "# what `make ",
)  # beginnings of lines
HEAD = f"""\
# The stages. The first one writes into {CODE.as_posix()} a digest of the installed code that decides each stage's
# result. So an upgrade of bakeoff runs again what it changes, and nothing else.
stages:
  code:
    cmd: python -m bakeoff.stages.code
    always_changed: true # it takes a moment
    outs:
      - {CODE.as_posix()}:
          cache: false # small and tracked by git
          persist: true
"""
OWN_DATA = """\
# The variant: a preset, and for each group what is otherwise. `use` names an option: a file of conf/<group>/, or one
# that bakeoff has built in (conf/README.md lists them). Other keys change its values:  lr: {use: cosine, peak: 0.004}
"""
OWN_PRESET = "experiment: photographs"
NO_DATA = "data: # {use: NAME} once `bakeoff import FOLDER --name NAME` has written conf/data/NAME.yaml"
ABOUT_CONF = """\
# Your own options

A file `conf/<group>/<name>.yaml` is an option that params.yaml can `use`. The built-in options stand beside yours
without a file here. An option of yours takes the place of a built-in one of the same name. It can build on one:

```yaml
# conf/lr/gentle.yaml
defaults: [cosine]
peak: 0.001
```

`bakeoff config` shows every value with the file that it comes from.

| group | built in |
|---|---|
"""


ABOUT_PARTS = """\
# Your own parts

A part is a class or a function in a file of this folder. A table at the end of the file gives it a name:

```python
# parts/halving.py
SCHEDULES = {"halving": Halving}
```

| table | what it adds | how a variant uses it |
|---|---|---|
| `NETWORKS` | networks | `kind: name` in `conf/model/name.yaml` |
| `SCHEDULES` | learning-rate schedules | `kind: name` in `conf/lr/name.yaml` |
| `SOURCES` | sources of data | `kind: name` in `conf/data/name.yaml` |
| `CHANGES` | changes to examples | `augment: {parts: {name: {…}}}` in `conf/train/name.yaml` |
| `METRICS` | metrics | it is always there |
| `CALLBACKS` | callbacks of a training | it is always there |

docs/guide.md of bakeoff has an example of each. A file whose name begins with `_` holds helpers. `dvc repro` runs the
stages again that a changed part decides. Parts run with your rights: read those of other people before you run them.
"""


def make_workspace(folder: Path, *, example: bool) -> list[str]:
    """Write the files of a workspace that are not there, and return their names. Raises WorkspaceError."""
    require_room_for_workspace(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_in_repository(folder):
        run("init", "--quiet", folder=folder)
    written, files = [], workspace_files(example=example)
    made_by = MadeBy.of({name: content for name, content in files.items() if is_kept_up(name)})
    last = {MADE_BY.as_posix(): made_by.text, PIPELINE.as_posix(): files.pop(PIPELINE.as_posix())}
    for name, own in (files | last).items():
        path = folder / name
        remove_partial(path)
        content = grown(path, own.splitlines(keepends=True)) if name in GROWN else own
        if content is not None and (name in (*GROWN, MADE_BY.as_posix()) or not path.exists()):
            write_whole(path, content, lasting=True)
            written.append(name)
    return written


def is_kept_up(name: str) -> bool:
    """Whether a newer version may change the file. The variant, and folders for own options, are the user's."""
    return name != PARAMS.as_posix() and not name.endswith("/.gitkeep")


def require_room_for_workspace(folder: Path) -> None:
    """Raise WorkspaceError where a workspace would meet what is there."""
    if shutil.which("git") is None:
        raise WorkspaceError("git: must be installed, for a workspace is in a git repository")
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"{folder}: must be a folder, got a file")
    here = folder.resolve()
    if (here / PIPELINE).is_file():
        is_own = (here / CONF).is_dir() and CODE.as_posix() in (here / PIPELINE).read_text("utf-8", "replace")
        if is_own:
            raise WorkspaceError(f"{folder}: is a workspace already; `bakeoff plan` shows its variant")
        raise WorkspaceError(f"{folder / PIPELINE}: has stages of something else; choose a folder of its own")
    for outer in here.parents:
        if (outer / PIPELINE).is_file() and (outer / CONF).is_dir():
            raise WorkspaceError(f"{folder}: is inside the workspace {outer}; choose a folder beside it")
    own, with_data = workspace_files(example=False), workspace_files(example=True)
    may_differ = [name for name in own if name in GROWN or name.startswith((".dvc/", "data/", "models/"))]
    taken = [name for name in own if name not in may_differ and not _is_one_of(here / name, own[name], with_data[name])]
    if (here / CONF).is_dir():
        known = {here / name for name in own}
        taken += [
            path.relative_to(here).as_posix()
            for path in sorted((here / CONF).rglob("*"))
            if path.is_file() and path not in known and path.suffix != ".partial"
        ]
    if taken:
        names = format_names(taken, MOST_NAMED)
        raise WorkspaceError(f"{folder}: {names}: must be free for a workspace; choose another folder, or move it away")


def _is_in_repository(folder: Path) -> bool:
    try:
        run("rev-parse", "--show-toplevel", folder=folder)
    except WorkspaceError:
        return False
    return True


def _is_one_of(path: Path, *contents: str) -> bool:
    """Whether a file is missing, or is one that `init` wrote and nobody changed."""
    return not path.exists() or (path.is_file() and path.read_text("utf-8", "replace") in contents)


def workspace_files(*, example: bool) -> dict[str, str]:
    """Return the files of a workspace as this version writes them, by name, dvc.yaml last."""
    shipped = shipped_folder()
    files = {name: (shipped / name).read_text(encoding="utf-8") for name in COPIED}
    for name in GROWN:
        lines = (shipped / name).read_text(encoding="utf-8").splitlines(keepends=True)
        files[name] = "".join(line for line in lines if not line.startswith(OF_THE_REPOSITORY))
    groups = [group for group in list_option_folders(shipped / CONF) if list_options(shipped / CONF, group)]
    rows = (f"| {group} | {', '.join(list_options(shipped / CONF, group))} |\n" for group in groups)
    files[(CONF / "README.md").as_posix()] = ABOUT_CONF + "".join(rows)
    files |= {(CONF / group / ".gitkeep").as_posix(): "" for group in groups}
    files[(FOLDER / "README.md").as_posix()] = ABOUT_PARTS
    params = (shipped / PARAMS).read_text(encoding="utf-8")
    values = params[params.index("experiment:") :]
    if not example:
        values = re.sub("(?m)^data:.*$", NO_DATA, re.sub("^experiment:.*", OWN_PRESET, values))
    files[PARAMS.as_posix()] = OWN_DATA + values
    files[PIPELINE.as_posix()] = _without_source((shipped / PIPELINE).read_text(encoding="utf-8"))
    return files


def _without_source(pipeline: str) -> str:
    """Return the repository's dvc.yaml for a workspace whose code is installed: a stage depends on its digest."""
    lines, stage = [HEAD], ""
    for line in pipeline.partition("stages:\n")[2].splitlines(keepends=True):
        if found := re.match(r"  (\w+):\n", line):
            stage = found[1]
        if re.match(r" +- (src/bakeoff/|conf/variant\.yaml)", line):
            continue
        lines.append(line)
        if line == "    params:\n":
            lines.append(f"      - {CODE.as_posix()}: [{stage}]\n")
    return "".join(lines)


def grown(path: Path, lines: Iterable[str]) -> str | None:
    """Return a file with those of the lines that it lacks; None if it lacks none."""
    there = path.read_text(encoding="utf-8") if path.is_file() else ""
    lacking = [line for line in lines if line.rstrip("\n") not in there.splitlines()]
    if not any(line.strip() and not line.startswith("#") for line in lacking):
        return None
    return f"{there.rstrip()}\n\n".lstrip("\n") + "".join(lacking).strip() + "\n"
