"""What of a pipeline.config came back after it was imported and written again, and what the import said of the rest."""

import re
from collections.abc import Callable

from google.protobuf import text_format
from google.protobuf.message import Message

from bakeoff.config.api_export.messages import new_message
from bakeoff.config.api_export.pipeline import format_pipeline
from bakeoff.config.compose.whole_run import Run
from bakeoff.dataset.records.manifest import Manifest
from bakeoff.importing.api_config.options import import_pipeline

Key, Text = str, str
Lines = list[tuple[Key, Text]]  # of an import's report
LINE = re.compile(r"[^:]*:(?:\d+:)? ?(?P<key>[\w.]+): (?P<text>.*)")
STEPS = 25_000  # of a run whose file says none
# What a workspace decides by itself, whatever such a file says.
OWN = ("train_input_reader", "eval_input_reader", "eval_config", "model.ssd.num_classes")
CHECKPOINT = "train_config.fine_tune_checkpoint"
GO_ALONG = (  # with a checkpoint that has a line of its own
    "train_config.fine_tune_checkpoint_type",
    "train_config.fine_tune_checkpoint_version",
    "train_config.from_detection_checkpoint",
    "train_config.load_all_detection_checkpoint_vars",
)


def write_again(source: bytes, file: str, variant: Callable[..., Run], manifest: Manifest) -> tuple[str, Lines]:
    """Return the file after it was imported and written, with the import's lines by field."""
    imported = import_pipeline(source, file, takes_nearest=True)
    settings = imported.settings
    settings["train"].setdefault("steps", STEPS)
    run = variant(**{"memory": {"budget": "9000GB"}} | settings, export={"num_steps": True})
    lines = [match.group("key", "text") for match in map(LINE.fullmatch, imported.report) if match]
    assert len(lines) == len(imported.report)
    return format_pipeline(run, manifest), [(key, text) for key, text in lines]


def parse(text: str) -> Message:
    return text_format.Parse(text, new_message(), allow_unknown_field=True)


def names_of(key: Key, lines: Lines) -> list[Text]:
    """Return what names a field that differs: lines of it, of a block around it or of one inside a list."""
    if key.startswith(OWN):
        return ["decided by the workspace"]
    keys = (key, CHECKPOINT) if key in GO_ALONG else (key,)
    return [text for named, text in lines for one in keys if _is_inside(one, named) or _is_inside(named, one)]


def _is_inside(key: Key, block: Key) -> bool:
    return f"{key}.".startswith(f"{block}.")
