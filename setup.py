"""Put into a built package what `bakeoff init` hands out, and the glossary: files of this repository's own workspace.

An editable install has none of it, and takes the clone's own files. There `dvc` is DVC after a repair
(src/bakeoff/foundation/dvc.py says why). Elsewhere that script is DVC's alone: two packages must not own one file.
All else stands in pyproject.toml.
"""

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = "bakeoff/shipped"
FILES = (
    "params.yaml", "dvc.yaml", ".gitignore", ".dvcignore", ".dvc/config", ".dvc/plots.html", ".dvc/.gitignore",
    "data/.gitignore", "data/raw/.gitignore", "data/weights/.gitignore", "data/weights/s3dg.tsv",
    "models/.gitignore", "docs/glossary.md",
)  # fmt: skip


class BuildWithWorkspace(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        here, to = Path(__file__).parent, Path(self.build_lib) / SHIPPED
        shutil.rmtree(to, ignore_errors=True)
        for file in (*map(Path, FILES), *(path.relative_to(here) for path in (here / "conf").rglob("*.yaml"))):
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(here / file, to / file)


scripts = ["bakeoff = bakeoff.app.cli:main"]
scripts += ["bakeoff-multirun = bakeoff.app.cli.multirun:main"]  # a name of its own, which shells complete as Hydra's
if os.environ.get("BAKEOFF_CLONE"):  # set by environment.py
    scripts.append("dvc = bakeoff.foundation.dvc:main")
setup(cmdclass={"build_py": BuildWithWorkspace}, entry_points={"console_scripts": scripts})
