"""What training and export left -> lines of a journal, each a model that MLflow is to have.

{"kind": "model", "name": "best", "step": 1800, "weights": "best", "by_reference": false,
 "files": [{"name": "best.weights.h5", "sha256": "5d1c…", "bytes": 1310720, "path": "/…/best.weights.h5", …}]}

One that was exported has beside it what makes it a predictor (`pyfunc_model`): its task's kind of answers, whether it
takes clips, the libraries that it needs, and the name under which it is registered.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bakeoff.run.options import Mlflow
from bakeoff.tracking.kept import measured

FINAL, BEST, EXPORTED = "final", "best", "exported"
SUFFIX = ".weights.h5"
SAVED_MODEL, LABELS = "saved_model", "labels.txt"
LIBRARIES = (("tensorflow", "tensorflow-cpu"), ("numpy",), ("pandas",), ("pillow",))  # the first that is installed


def kept_weights(trained: Path, state: Mapping[str, Any], settings: Mlflow) -> Iterator[dict[str, Any]]:
    """The newest and the best."""
    for name in (FINAL, BEST):
        file = trained / f"{name}{SUFFIX}"
        if file.is_file():
            yield {
                "name": name, "step": _step(state, name), "weights": name,
                "by_reference": _is_too_large([file], settings), "files": [_described(file, file.name)],
            }  # fmt: skip


def exported_model(
    exported: Path, state: Mapping[str, Any], settings: Mlflow, *, weights: str, task: str, multi_label: bool
) -> dict[str, Any]:
    """One that is to be registered is sent whatever its size, for what is registered must load."""
    files = [*sorted(path for path in (exported / SAVED_MODEL).rglob("*") if path.is_file()), exported / LABELS]
    return {
        "name": EXPORTED, "step": _step(state, weights), "weights": weights,
        "by_reference": settings.register is None and _is_too_large(files, settings),
        "files": [_described(path, path.relative_to(exported).as_posix()) for path in files],
        "answers": "detection" if task == "detection" else "several labels" if multi_label else "one label",
        "clips": task == "video", "requirements": [_requirement(names) for names in LIBRARIES],
        "register": settings.register,
    }  # fmt: skip


def _step(state: Mapping[str, Any], weights: str) -> int:
    """Without a look at validation the best weights are the last."""
    last = int(state.get("step", state.get("steps", 0)))
    return int(state.get("best_step") or last) if weights == BEST else last


def _is_too_large(files: list[Path], settings: Mlflow) -> bool:
    return sum(path.stat().st_size for path in files) > settings.largest_model_mb * 1e6


def _described(path: Path, name: str) -> dict[str, Any]:
    return {"name": name, **measured(path), "path": str(path.resolve()), "shown": path.as_posix()}


def _requirement(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return f"{name}=={version(name)}"
        except PackageNotFoundError:
            continue
    return names[0]
