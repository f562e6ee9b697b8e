"""run.yaml as params of MLflow: what variants are compared by, flat, with derived values under `derived.`."""

from collections.abc import Mapping
from typing import Any

COMPARED_BY_NOBODY = (
    "digest", "track", "variant.track", "train.fresh", "train.checkpoint_every_steps", "train.checkpoint_every_seconds",
    "train.keep_every_steps", "train.log_every_steps", "train.samples", "train.tensorboard", "evaluate.pictures",
    "evaluate.picture_min_score", "evaluate.report_examples", "export.num_steps", "export.count_background",
    "derived.batch_size_because", "derived.decode_threads", "derived.memory_parts", "derived.prefetch_batches",
)  # fmt: skip


def params_of(tree: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in flattened(tree) if not _is_left_out(key)}


def flattened(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Rows such as ("lr.peak", 0.5); parts of a list that have names, such as phases, go by them."""
    rows: list[tuple[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
            value = {item["name"]: {name: part for name, part in item.items() if name != "name"} for item in value}
        rows += flattened(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return rows


def _is_left_out(key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in COMPARED_BY_NOBODY)
