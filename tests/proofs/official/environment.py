"""The Object Detection API's own code, in an environment of its own: a judge of what is built here, no part of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# The API is installed without what it asks for: most of that is for networks that are not looked at here.
PACKAGES = (
    "tensorflow==2.15.1",
    "tf-keras==2.15.*",
    "tf-slim",
    "lvis",
    "pycocotools",
    "pandas",
    "contextlib2",
    "scipy",
)
API = "tf-models-research-object-detection==2.8.0.post1"
FOLDER = "BAKEOFF_OFFICIAL"  # the variable that names the environment's folder
NEEDED = (3, 11)  # the newest Python that this TensorFlow has packages for


def python_there() -> Path:
    """Return the interpreter of that environment, which is made if it is not there yet; that takes minutes and 2 GB."""
    folder = Path(os.environ.get(FOLDER) or Path.home() / ".cache/bakeoff/official")
    python, begun, done = folder / "bin/python", folder / "begun", folder / "installed"
    if not done.exists() and python.exists() and not begun.exists():  # an environment that was not made here
        has_api = subprocess.run([str(python), "-c", "import object_detection"], capture_output=True).returncode == 0
        assert has_api, f"{FOLDER}: {folder} is an environment without that API; name another folder"
    elif not done.exists():
        own = sys.executable if sys.version_info[:2] == NEEDED else shutil.which("python3.11")
        assert own, f"TensorFlow 2.15 needs Python 3.11; let {FOLDER} name an environment that has that API"
        subprocess.run([own, "-m", "venv", "--clear", str(folder)], check=True)
        begun.touch()
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *PACKAGES], check=True)
        subprocess.run([*install, "--no-deps", API], check=True)
        done.write_text(f"{API}\n", encoding="utf-8")
    return python


def run_there(script: str, *arguments: str | Path) -> None:
    """Run one of the scripts beside this file; what it prints is shown if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python_there()), str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
