"""A pipeline.config -> files of conf/: an option in each group that it knows, and a preset for every group."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.config.api_export.pipeline import PICTURES, SHUFFLED_GLOBALLY
from bakeoff.config.compose.variant import KINDS
from bakeoff.evaluation.settings import Evaluate
from bakeoff.foundation.errors import ConfigError
from bakeoff.importing.api_config.fields import Block, ConversionReport
from bakeoff.importing.api_config.model import read_model
from bakeoff.importing.api_config.pipeline_reader import read_message
from bakeoff.importing.api_config.training import read_training
from bakeoff.learning.run_file.parse import Problems, kind_of, parse_kind
from bakeoff.learning.run_file.yaml_file import write_mapping

EXPERIMENT = "experiment"
OTHERS = {"memory": "high", "evaluate": "standard", "export": "saved_model", "track": "mlflow"}  # no file says these
BUDGET = "10GB"  # of `memory: high`
BUFFERS = ("shuffle_buffer_size", "min_after_dequeue", "queue_capacity")  # called the same here
GLOBAL_SHUFFLE = re.compile(rf"^ *# {re.escape(SHUFFLED_GLOBALLY)}$", re.MULTILINE)


@dataclass(frozen=True)
class Imported:
    settings: dict[str, dict[str, Any]]  # by group: those that every file says, and what it says of the optional ones
    report: list[str]  # what became otherwise or was left behind, `file:line: key: …`


def import_pipeline(source: bytes, file: str, *, takes_nearest: bool = False) -> Imported:
    """Read a file's variant; raise ConfigError with every mistake in it at once.

    A network that this project lacks is refused, or replaced by the nearest if `takes_nearest`.
    """
    message, place, text = read_message(source, file)
    root, report = Block(message, place), ConversionReport(takes_nearest=takes_nearest)
    model = read_model(root.inner("model").inner("ssd"), report)
    if report.refusals:
        raise ConfigError("\n".join(_format_lines(report.refusals, file)))
    settings = {"model": model} | read_training(root.inner("train_config"), text, report)
    if memory := _read_readers(root, text, report):
        settings["memory"] = memory
    if evaluation := _read_evaluation(root.inner("eval_config")):
        settings["evaluate"] = evaluation
    report.drop_unused(root)
    return Imported(settings, _format_lines(report.lines, file))


def _format_lines(lines: list[tuple[int, str]], file: str) -> list[str]:
    return [f"{file}:{line}: {text}" if line else f"{file}: {text}" for line, text in sorted(lines)]


def _read_evaluation(block: Block) -> dict[str, Any]:
    """Return the settings of the group `evaluate` that the file says and that are not the usual ones."""
    usual = Evaluate()
    stated = block.take({field: key for field, key in PICTURES.items() if block.has(field)})
    return {key: value for key, value in stated.items() if value != getattr(usual, key)}


def _read_readers(root: Block, text: str, report: ConversionReport) -> dict[str, Any]:
    """Return settings of the group `memory`, none if the file says no number of them.

    The report names all other fields of the readers and why they are left behind.
    """
    training = root.inner("train_input_reader")
    if not training.get("shuffle"):
        report.drop(training, "shuffle", "training examples are always shuffled here")
    for reader in root.inners("eval_input_reader"):
        if reader.get("shuffle") and reader.has("shuffle"):
            report.drop(reader, "shuffle", "validation examples always come in order here")
    stated = {key: training.get(key) for key in BUFFERS if training.has(key)}
    if GLOBAL_SHUFFLE.search(text) or not any(stated.values()):
        return {}
    for key in BUFFERS[1:]:
        if stated.get(key):
            report.change(training, key, f"memory.{key}: {stated[key]}, which that API itself does not read any more")
    return {"budget": BUDGET, "shuffle": "buffer"} | {key: value for key, value in stated.items() if value}


def check_settings(trees: Mapping[str, dict[str, Any]], file: str) -> dict[str, Any]:
    """Return the settings object of each group; raise ConfigError with all that this project's own rules forbid."""
    problems = Problems(lambda key: file)
    objects = {group: parse_kind(KINDS[group], tree, group, problems) for group, tree in trees.items()}
    problems.raise_any()
    return objects


def write_options(trees: Mapping[str, dict[str, Any]], conf: Path, *, name: str, file: str, force: bool) -> list[Path]:
    """Write an import's settings and return the files; raise ConfigError if one is there already, unless `force`."""
    objects = check_settings(trees, file)
    paths = {group: conf / group / f"{name}.yaml" for group in (*trees, EXPERIMENT)}
    there = [path.as_posix() for path in paths.values() if path.exists()]
    if there and not force:
        raise ConfigError(f"{', '.join(there)}: there already; choose another --name, or replace with --force")
    for group, given in trees.items():
        tree = _option(group, given, objects[group])
        write_mapping(paths[group], tree, head=f"# From {file}, by `bakeoff import-config`.\n")
    chosen = OTHERS | dict.fromkeys(trees, name)
    choices = "".join(f"  - override /{group}: {option}\n" for group, option in chosen.items())
    head = f"# @package _global_\n# What {file} says: network, schedule, optimizer and training together.\n"
    paths[EXPERIMENT].parent.mkdir(parents=True, exist_ok=True)
    paths[EXPERIMENT].write_text(f"{head}defaults:\n{choices}", encoding="utf-8", newline="\n")
    return list(paths.values())


def _option(group: str, tree: dict[str, Any], settings: Any) -> dict[str, Any]:
    option = {"kind": tree["kind"]} if len(KINDS[group]) > 1 else {}
    return option | list_differences(settings)


def list_differences(settings: Any) -> dict[str, Any]:
    """Return the fields that are not their class's defaults, as YAML has them."""
    tree: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value != (field.default if field.default_factory is dataclasses.MISSING else field.default_factory()):
            tree[field.name] = _plain(value, field.metadata.get("kinds"))
    return tree


def _plain(value: Any, kinds: Mapping[str, type] | None = None) -> Any:
    """Return a value as YAML has it: where several kinds of settings may stand, with the one it is."""
    if dataclasses.is_dataclass(value):
        return ({"kind": kind_of(kinds, value)} if kinds else {}) | list_differences(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
