"""A variant -> a picture of training examples as its network would get them."""

from collections.abc import Sequence
from pathlib import Path

from bakeoff import workspace
from bakeoff.config.variant import read_variant
from bakeoff.errors import ConfigError
from bakeoff.quiet import load_tensorflow
from bakeoff.records.manifest import read_manifest
from bakeoff.records.record import TRAIN

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
    from bakeoff.input.store import Store
    from bakeoff.training.augmented import draw_augmented

    store = Store(workspace.RECORDS, manifest.splits[TRAIN], run.memory.on_bad_record)
    sheet = draw_augmented(run, store, manifest.classes, EXAMPLES)
    file.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(file, quality=90)
