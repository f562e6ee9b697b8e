"""Which numbers a variant is judged by. The tasks know them, but they compute, and a sweep does not load TensorFlow."""

from bakeoff.errors import ConfigError, choices
from bakeoff.sweep.search.settings import VALIDATION

SIZES = ("small", "medium", "large")
ONLY_EVALUATED = {"mAP_50": ("loss",)}  # what training does not count when it looks at validation
METRICS = {  # by the headline of the task
    "mAP_50": (
        "mAP", "mAP_50", "mAP_75", *(f"mAP_{size}" for size in SIZES), "AR_1", "AR_10", "AR_100",
        *(f"AR_{size}" for size in SIZES), "mAP_voc", "mAP_voc_11", "f1", "precision", "recall", "threshold", "loss",
    ),
    "accuracy": ("accuracy", "top_5", "loss", "ece", "macro_precision", "macro_recall", "macro_f1"),
    "mean_average_precision": (
        "mean_average_precision", "mean_auc", "f1", "precision", "recall", "loss", "best_f1", "best_threshold",
    ),
}  # fmt: skip


def require_metric(name: str, headline: str) -> None:
    """Of a task with that headline."""
    written = METRICS[headline]
    looked_at = [f"{VALIDATION}{one}" for one in written if is_looked_at(one, headline)]
    if name not in (*written, *looked_at):
        allowed = looked_at if name.startswith(VALIDATION) else written
        raise ConfigError(f"--metric: no stage writes {name!r}; {choices(name, allowed)}")


def is_looked_at(name: str, headline: str) -> bool:
    """By training, on its way; not only once it is over."""
    return name not in ONLY_EVALUATED.get(headline, ())
