"""`headline.json`: the few numbers of metrics.json that one looks at first, for `dvc metrics diff --targets`.

    {"mAP_50": 0.837, "mAP": 0.598, "mAP_75": 0.750, "AR_100": 0.720, "f1": 0.779, …}

The one by which the task is judged stands first. MLflow has the same ones above all others.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "headline.json"
FIRST = (
    "mAP_50", "mAP", "mAP_75", "AR_100", "f1", "accuracy", "top_5", "macro_f1", "macro_precision", "macro_recall",
    "mean_average_precision", "mean_auc", "best_f1", "precision", "recall", "ece", "loss",
)  # fmt: skip


def first_numbers(metrics: Mapping[str, Any], headline: str) -> dict[str, float]:
    """Return those of all examples; what is there of each class only, such as a classifier's recall, is left out."""
    names = sorted(FIRST, key=lambda name: name != headline)
    return {name: metrics[name] for name in names if isinstance(metrics.get(name), int | float)}


def write_headline(folder: Path, metrics: Mapping[str, Any], headline: str) -> None:
    (folder / FILE).write_text(json.dumps(first_numbers(metrics, headline), indent=1) + "\n", encoding="utf-8")
