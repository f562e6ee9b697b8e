"""Packages that no lock has, for proofs with the real ones: an environment for each list, on top of this one."""

import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from support.imports import ROOT

FOLDER = "BAKEOFF_EXTRAS"  # the variable that names the folder of these environments


def extra_packages(*packages: str) -> Path:
    """Return a folder of installed packages, which PYTHONPATH puts before those of this environment.

    The first call installs them, with what they need and this environment lacks.
    """
    root = Path(os.environ.get(FOLDER) or Path.home() / ".cache/bakeoff/extras")
    stamp = f"{' '.join(packages)}\n{sys.version}\n{ROOT.joinpath('requirements.lock').read_text(encoding='utf-8')}"
    folder = root / hashlib.sha256(stamp.encode()).hexdigest()[:12]
    base = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", base))
    done = folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        site.joinpath("base.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
        python = Path(sysconfig.get_path("scripts", "venv", base), "python")
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True, env=clean)
        done.write_text("\n".join(packages) + "\n", encoding="utf-8")
    return site


def python_path(site: Path) -> str:
    """Return PYTHONPATH with that folder in front."""
    return os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
