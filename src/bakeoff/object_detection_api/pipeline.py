"""A detection variant -> the Object Detection API's `pipeline.config`, and back."""

from dataclasses import dataclass
from typing import Any

from bakeoff.errors import ConfigError
from bakeoff.networks.ssd import Ssd
from bakeoff.networks.ssd_fpn import SsdFpn
from bakeoff.networks.ssd_multibox import SsdMultibox
from bakeoff.object_detection_api import input_readers, model, training
from bakeoff.object_detection_api.block import Mistakes, checked
from bakeoff.object_detection_api.report import Report
from bakeoff.object_detection_api.text_reader import read
from bakeoff.object_detection_api.text_writer import comment, document
from bakeoff.object_detection_api.tokens import SyntaxMistake
from bakeoff.records.manifest import Manifest
from bakeoff.run.settings import Run

MOST_SAID = 30  # mistakes
MOST_BYTES = 1_000_000  # the largest of that API's own files has 6,000


def pipeline_config(run: Run, manifest: Manifest) -> str:
    """The same variant in that API's words; the same run gives the same bytes."""
    network = run.model
    assert isinstance(network, Ssd | SsdFpn | SsdMultibox), type(network)
    head = comment(
        "Written by render_config: the variant of models/config/run.yaml in the words of the TF Object Detection API, "
        "which bakeoff itself does not use. Paths are relative to the workspace. An edit here is overwritten: edit "
        "params.yaml or conf/."
    )
    classes = len(manifest.classes)
    return document(
        head,
        model.written(network, classes, count_background=run.export.count_background),
        training.written(run),
        input_readers.written_for_training(run, manifest),
        input_readers.written_evaluation(run),
        input_readers.written_for_evaluation(run, manifest),
    )


@dataclass(frozen=True)
class Imported:
    settings: dict[str, dict[str, Any]]  # by group: model, lr, optimizer, train
    report: list[str]  # what became otherwise or was left behind, `file:line: key: …`


def imported(source: bytes, file: str) -> Imported:
    """A file's variant, or every mistake in it at once."""
    text = _text(source, file)
    mistakes = Mistakes()
    try:
        root = checked(read(text), mistakes)
    except SyntaxMistake as mistake:
        raise ConfigError(f"{file}:{mistake.line}: not protobuf text format: {mistake.reason}{_hint(text)}") from None
    is_ssd = root.has("model") and root.inner("model").chosen("model") in (None, "ssd")
    if mistakes.found and is_ssd:
        said = [f"{file}:{line}: {text}" for line, text in sorted(mistakes.found)]
        more = [f"{file}: and {len(said) - MOST_SAID} more"] if len(said) > MOST_SAID else []
        raise ConfigError("\n".join(said[:MOST_SAID] + more))
    ssd = model.ssd_of(root, file)
    report = Report()
    settings = {"model": model.read(ssd, report)} | training.read(root.inner("train_config"), report)
    settings["train"] |= training.own_words(text)
    root.inner("eval_config")
    input_readers.read(root, report)
    for left in root.left():
        report.leftover(left)
    lines = [f"{file}:{line}: {text}" if line else f"{file}: {text}" for line, text in sorted(report.lines)]
    return Imported(settings, lines)


def _text(source: bytes, file: str) -> str:
    if len(source) > MOST_BYTES:
        raise ConfigError(f"{file}: must be at most {MOST_BYTES:,} bytes, got more; is it a pipeline.config?")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not a text in UTF-8 (byte {error.start}); pipeline.config is one") from None
    if "\0" in text:
        raise ConfigError(f"{file}: a binary file; pipeline.config is a text")
    return text


def _hint(text: str) -> str:
    """What the file may be instead."""
    first = next((line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] != "#"), "")
    if first.startswith(("{", "[")):
        return "; it looks like JSON"
    return "; it looks like YAML" if first.endswith(":") or first == "---" else ""
