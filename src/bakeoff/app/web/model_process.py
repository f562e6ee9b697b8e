"""A run's model in a process of its own, which answers photos one after the other for as long as it is asked.

    python -m bakeoff.app.web.model_process 4f2a91c0

reads names of files from its input, and prints a line of JSON for each: {"width": 640, "height": 480, "boxes": [...]}.
The page's server so needs no TensorFlow, and a photo that kills the model kills nothing else.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from bakeoff.foundation.errors import BakeoffError, DataError, WorkspaceError, errors_in_one_line, one_line

SECONDS_KEPT = 300.0  # after the last photo; then its memory is given back
LEAST_SCORE = 0.05  # of boxes that are answered
READY = "ready"
MODULE = ["-m", "bakeoff.app.web.model_process"]


class ModelProcess:
    """The one model that the page has open, that of the run which was asked last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self._run, self._end = "", Timer(0, self.close)

    @property
    def pid(self) -> int | None:
        """Return the number of the process; None while no model is open."""
        return self._process.pid if self._process is not None else None

    def answer(self, run: str, photo: bytes, folder: Path) -> dict[str, Any]:
        """Return the size of a photo and its boxes. Raises BakeoffError with what the model's process says."""
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._end.cancel()
            process = self._open(run)
            with tempfile.NamedTemporaryFile(dir=folder) as file:
                file.write(photo)
                file.flush()
                tree = _ask(process, file.name)
            if tree is None:
                self._end_process()  # it closes its output a moment before the system says that it ended
            self._end = Timer(SECONDS_KEPT, self.close)
            self._end.daemon = True
            self._end.start()
        if tree is None:
            raise WorkspaceError("the model's process ended while it answered, for want of memory perhaps; try again")
        if "problem" in tree:
            raise DataError(tree["problem"])
        return tree

    def _open(self, run: str) -> "subprocess.Popen[str]":
        if self._process is not None and self._process.poll() is None and self._run == run:
            return self._process
        self._end_process()
        self._process = subprocess.Popen(
            [sys.executable, *MODULE, run], text=True, encoding="utf-8", stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._run = run
        ready = _read(self._process)
        if ready != {READY: run}:
            self._end_process()
            raise WorkspaceError((ready or {}).get("problem") or "the model's process did not start; try again")
        return self._process

    def close(self) -> None:
        with self._lock:
            self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def _ask(process: "subprocess.Popen[str]", name: str) -> dict[str, Any] | None:
    assert process.stdin is not None
    try:
        process.stdin.write(f"{json.dumps(name)}\n")
        process.stdin.flush()
    except OSError:
        return None
    return _read(process)


def _read(process: "subprocess.Popen[str]") -> dict[str, Any] | None:
    """Return the next line; None if the process has ended."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return dict(json.loads(line)) if line else None


def main() -> None:
    with errors_in_one_line():
        run = sys.argv[1]
        try:
            model = _load(run)
        except BakeoffError as error:
            print(json.dumps({"problem": str(error)}), flush=True)
            return
        print(json.dumps({READY: run}), flush=True)
        for line in sys.stdin:
            print(json.dumps(answer_file(model, Path(json.loads(line)))), flush=True)


def _load(run: str) -> Any:
    from bakeoff.foundation.tf_loading import load_tensorflow
    from bakeoff.inference.predict.select_model import find_run

    source, _ = find_run(run)
    load_tensorflow()
    from bakeoff.inference.predict.model_interface import opened

    model = opened(source)
    if model.task == "video":
        raise DataError("this model looks at clips, not at photos; `bakeoff predict` answers films")
    return model


def answer_file(model: Any, file: Path) -> dict[str, Any]:
    from bakeoff.inference.predict.output_formats import image_row, rows_of
    from bakeoff.inference.predict.read_images import read_image

    try:
        pixels = read_image(file)
        image = image_row(1, file.name, pixels)
        rows = rows_of(model.answer(pixels), model.labels, image)
    except (BakeoffError, OSError) as error:
        return {"problem": f"the photo cannot be read: {one_line(error)}; choose a JPEG or a PNG"}
    boxes = [_describe(row) for row in rows if row["score"] >= LEAST_SCORE]
    return {"width": image["width"], "height": image["height"], "boxes": boxes}


def _describe(row: dict[str, Any]) -> dict[str, Any]:
    left, top, wide, high = row.get("bbox", (0, 0, 0, 0))
    return {
        "label": row["category"], "score": row["score"], "xmin": left, "ymin": top, "xmax": left + wide,
        "ymax": top + high,
    }  # fmt: skip


if __name__ == "__main__":
    main()
