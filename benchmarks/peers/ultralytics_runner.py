"""Train, ask or export a network of Ultralytics by its documented calls. Run by its own Python: its licence is AGPL.

    /of/its/own/bin/python ultralytics_runner.py job.json        # job.py says what a job is

Its settings are those of the job, and its defaults otherwise, but for what would fetch, log or draw.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import job
from torch.optim.optimizer import register_optimizer_step_post_hook
from ultralytics import YOLO, settings

QUIET = {"val": False, "plots": False, "amp": False, "pretrained": False, "verbose": False, "workers": 0}


def train(task: dict[str, Any], out: Path) -> dict[str, Any]:
    last = out / "run/weights/last.pt"
    register_optimizer_step_post_hook(job.note_step)
    if task["resume"]:
        YOLO(last).train(resume=True)
    else:
        data = Path(task["data"])
        YOLO(f"{task['model']}.yaml").train(
            data=str(data / "data.yaml" if task["task"] == "detection" else data), imgsz=task["side"],
            epochs=task["length"], seed=task["seed"], device="cpu", cache="ram", project=str(out), name="run",
            exist_ok=True, **QUIET, **task["settings"],
        )  # fmt: skip
    network = YOLO(last).model
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return {"weights": digest.hexdigest(), "parameters": sum(one.numel() for one in network.parameters())}


def predict(task: dict[str, Any], out: Path) -> dict[str, Any]:
    network = YOLO(out / "run/weights/last.pt")
    about = {"imgsz": task["side"], "device": "cpu", "verbose": False}
    if task["task"] == "classification":
        files = job.files_of_folders(task)
        return {"labels": {file: network.names[network(file, **about)[0].probs.top1] for file in files}}
    found = []
    for image, file in job.images_of_coco(task):
        [answer] = network(file, conf=job.LEAST_SCORE, max_det=job.MOST_BOXES, **about)
        boxes = zip(answer.boxes.xyxy.tolist(), answer.boxes.conf.tolist(), answer.boxes.cls.tolist(), strict=True)
        found += [job.row(image, int(label) + 1, corners, score) for corners, score, label in boxes]
    return {"boxes": found}


def export(task: dict[str, Any], out: Path) -> dict[str, Any]:
    file = YOLO(out / "run/weights/last.pt").export(format="onnx", imgsz=task["side"], simplify=False, device="cpu")
    return {"file": str(Path(file).resolve())}


if __name__ == "__main__":
    settings.update({"sync": False, "mlflow": False, "tensorboard": False})
    job.run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), train, predict, export)
