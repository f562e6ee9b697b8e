"""What every runner shares, whatever Python runs it: only the standard library is needed here.

A job is a JSON file: `action` (train, predict or export), `task` (detection or classification), `data` (a folder that
`datasets.py` wrote), `model`, `side` in pixels, `seed`, `length` in the library's own unit, `settings` of the library,
`resume`, and `out`, a folder that the three actions of one training share. The answer is `out`/ACTION.json.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

LEAST_SCORE, MOST_BOXES = 0.001, 100
Action = Callable[[dict[str, Any], Path], dict[str, Any]]
first_step: dict[str, float] = {}


def run(job: dict[str, Any], train: Action, predict: Action, export: Action) -> None:
    """Do what the job says and write the answer, with the processor's seconds and the most memory of this process."""
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    answer = {"train": train, "predict": predict, "export": export}[job["action"]](job, out)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    costs = {"seconds": time.process_time(), "memory": memory, "python": sys.executable} | first_step
    file = out / f"{job['action']}.json"
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps(costs | answer), encoding="utf-8")
    partial.rename(file)


def note_step(*_: Any, **__: Any) -> None:
    """Keep the processor's seconds at the end of the first step; called after each."""
    first_step.setdefault("first_step", time.process_time())


def images_of_coco(job: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the number and the file of each image to answer."""
    data = Path(job["data"])
    for image in json.loads((data / "validation.json").read_text(encoding="utf-8"))["images"]:
        yield image["id"], str(data / "images" / image["file_name"])


def files_of_folders(job: dict[str, Any]) -> list[str]:
    return sorted(str(file) for file in Path(job["data"], "validation").glob("*/*"))


def row(image: int, category: int, corners: Sequence[float], score: float) -> dict[str, Any]:
    """Return a line of COCO's format of results; corners are x, y, right, bottom in pixels."""
    x, y, right, bottom = corners
    return {"image_id": image, "category_id": category, "bbox": [x, y, right - x, bottom - y], "score": score}
