"""Train, ask or export a network of LibreYOLO by its documented calls. Run by its own Python.

    /of/its/own/bin/python libreyolo_runner.py job.json        # job.py says what a job is

Its settings are those of the job, and its defaults otherwise, but for what would fetch or draw.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import job
import libreyolo
from torch.optim.optimizer import register_optimizer_step_post_hook


def train(task: dict[str, Any], out: Path) -> dict[str, Any]:
    family, size = task["model"].split("-")
    last = out / "run/weights/last.pt"
    register_optimizer_step_post_hook(job.note_step)
    if task["resume"]:
        network = libreyolo.LibreYOLO(str(last), device="cpu")
        network.train(resume=True, data=f"{task['data']}/data.yaml", device="cpu", workers=0)
    else:
        network = getattr(libreyolo, family)(None, size=size, device="cpu")
        network.train(
            data=f"{task['data']}/data.yaml", imgsz=task["side"], epochs=task["length"], seed=task["seed"],
            device="cpu", workers=0, amp=False, pretrained=False, val=False, project=str(out), name="run",
            exist_ok=True, **task["settings"],
        )  # fmt: skip
    weights = libreyolo.LibreYOLO(str(last), device="cpu").model.state_dict()
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return {"weights": digest.hexdigest(), "parameters": sum(one.numel() for one in network.model.parameters())}


def predict(task: dict[str, Any], out: Path) -> dict[str, Any]:
    network = libreyolo.LibreYOLO(str(out / "run/weights/last.pt"), device="cpu")
    found = []
    for image, file in job.images_of_coco(task):
        answer = network(file, conf=job.LEAST_SCORE, max_det=job.MOST_BOXES, imgsz=task["side"])
        boxes = zip(answer.boxes.xyxy.tolist(), answer.boxes.conf.tolist(), answer.boxes.cls.tolist(), strict=True)
        found += [job.row(image, int(label) + 1, corners, score) for corners, score, label in boxes]
    return {"boxes": found}


def export(task: dict[str, Any], out: Path) -> dict[str, Any]:
    network = libreyolo.LibreYOLO(str(out / "run/weights/last.pt"), device="cpu")
    return {"file": str(Path(network.export(format="onnx", imgsz=task["side"])).resolve())}


if __name__ == "__main__":
    job.run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), train, predict, export)
