"""A variant -> a picture of training examples as its network would get them."""

from collections.abc import Sequence
from pathlib import Path

from bakeoff.config.compose.variant import read_variant
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.records.record import TRAIN
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError
from bakeoff.foundation.tf_loading import load_tensorflow

FILE = Path(workspace.IN_FLIGHT) / "augmented.jpg"
KINDS = (".jpg", ".jpeg", ".png")
EXAMPLES = 12


def draw_sheet(overrides: Sequence[str], file: Path) -> None:
    """Draw the first examples of a training of the workspace's variant, changed by the overrides."""
    if file.suffix.lower() not in KINDS:
        rule = f"must be a file that ends in {', '.join(KINDS)}, got {file.as_posix()!r}"
        raise ConfigError(f"--show: {rule}; changes of the variant stand before it")
    variant = read_variant(
        workspace.PARAMS, workspace.CONF, workspace.RECORDS, facts=workspace.facts(), overrides=overrides
    )
    run, manifest = variant.whole(), read_manifest(workspace.RECORDS)
    load_tensorflow()
    from bakeoff.evaluation.augmented_samples import draw_augmented
    from bakeoff.learning.input.record_reader import RecordReader

    store = RecordReader(workspace.RECORDS, manifest.splits[TRAIN], run.memory.on_bad_record)
    sheet = draw_augmented(run, store, manifest.classes, EXAMPLES)
    file.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(file, quality=90)
