"""What predictions are worth, by the ground truth of the annotations: pycocotools, or the share of right labels."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def judge_boxes(truth: Path, boxes: list[dict[str, Any]]) -> dict[str, float]:
    """Return mAP and mAP_50 of at most 100 detections an image."""
    if not boxes:
        return {"mAP": 0.0, "mAP_50": 0.0}
    with redirect_stdout(io.StringIO()):
        coco = COCO(str(truth))
        evaluation = COCOeval(coco, coco.loadRes(boxes), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return {"mAP": float(evaluation.stats[0]), "mAP_50": float(evaluation.stats[1])}


def judge_labels(labels: dict[str, str]) -> dict[str, float]:
    """Return the share of files whose label is the name of their folder."""
    return {"accuracy": sum(Path(file).parent.name == label for file, label in labels.items()) / len(labels)}
