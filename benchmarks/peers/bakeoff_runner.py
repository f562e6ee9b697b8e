"""Train, ask or export a network of bakeoff: the stages in a workspace of their own, as `benchmarks/trials.py` has it.

python bakeoff_runner.py job.json        # job.py says what a job is; `settings` are keys of params.yaml
"""

import hashlib
import json
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import job

sys.path.append(str(Path(__file__).resolve().parent.parent))

from trials import BEGIN, OWN_DATA, make_workspace, run, write_params

RECIPES = {"digits": "demo", "pascal_voc": "photographs_from_scratch", "image_folders": "demo_images"}  # experiments
DATA = {
    "detection": {
        "use": "coco", "path": OWN_DATA, "images": "images", "annotations": "train.json",
        "validation_annotations": "validation.json",
    },
    "classification": {"use": "image_folders", "path": OWN_DATA},
}  # fmt: skip
JUDGED = {"suppression": {"min_score": job.LEAST_SCORE, "max_detections": job.MOST_BOXES}}  # training has no part in it


def params(task: dict[str, Any]) -> dict[str, Any]:
    """Return a params.yaml: the recipe that the configuration has for random weights, for so many steps."""
    kind, length, settings = task["kind"], task["length"], task["settings"]
    return {
        "experiment": RECIPES[kind], "seed": task["seed"],
        "model": {"use": task["model"], "input_size": task["side"], **(JUDGED if task["task"] == "detection" else {})},
        "track": {"use": "none"}, "export": {"use": "onnx"}, **settings,
        "data": DATA[task["task"]] | settings.get("data", {}),
        "train": {
            "use": "preset", "steps": length, "epochs": None, "validate_every_steps": 0, "validate_every_epochs": None,
            "samples": 0, "checkpoint_every_steps": min(length, 100), **settings.get("train", {}),
        },
    }  # fmt: skip


def train(task: dict[str, Any], out: Path) -> dict[str, Any]:
    place = out / "workspace"
    before = make_workspace(place, Path(task["data"]), params(task))
    write_params(place, params(task))
    before += run(place, "render_config")
    begun = out / "first_step"
    seconds = run(place, "train", [str(BEGIN), str(begun)])
    state = json.loads((place / "models/train/state.json").read_text(encoding="utf-8"))
    measured = place / ".bakeoff/results" / f"{state['lineage']['fingerprint']}.json"
    memory = json.loads(measured.read_text(encoding="utf-8"))["peak_memory_bytes"]
    digest = hashlib.sha256((place / "models/train/final.weights.h5").read_bytes())
    return {
        "seconds": seconds, "memory": memory, "weights": digest.hexdigest(), "parameters": state["parameters"],
        "before": before, "first_step": before + float(begun.read_text(encoding="utf-8")),
    }  # fmt: skip


def predict(task: dict[str, Any], out: Path) -> dict[str, Any]:
    import bakeoff

    with chdir(out / "workspace"):
        handle = bakeoff.run()
        if task["task"] == "classification":
            files = job.files_of_folders(task)
            answers = handle.predict(files, min_score=0)
            return {"labels": {file: one.names[0] for file, one in zip(files, answers, strict=True)}}
        numbers, files = zip(*job.images_of_coco(task), strict=True)
        answers = handle.predict(files, min_score=0)
    tree = json.loads(Path(task["data"], "validation.json").read_text(encoding="utf-8"))
    categories = {one["name"]: one["id"] for one in tree["categories"]}
    found = []
    for image, answer in zip(numbers, answers, strict=True):
        for label, score, (x, y, wide, high) in zip(answer.names, answer.scores, answer.boxes, strict=True):
            found.append(job.row(image, categories[label], (x, y, x + wide, y + high), score))
    return {"boxes": found}


def export(task: dict[str, Any], out: Path) -> dict[str, Any]:
    run(out / "workspace", "export")
    return {"file": str(out / "workspace/models/export/model.onnx")}


if __name__ == "__main__":
    job.run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), train, predict, export)
