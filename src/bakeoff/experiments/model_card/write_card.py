"""Facts of a run -> README.md as Hugging Face reads it: metadata in YAML, then the model card in Markdown.

It holds what the run's files and conf/card.yaml say, no clock and no machine: the same run gives the same bytes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import yaml

from bakeoff.evaluation.metric_meanings import meaning_of
from bakeoff.experiments.model_card.card_texts import FILE, UNKNOWN, CardTexts
from bakeoff.experiments.model_card.run_facts import RunFacts
from bakeoff.export.licences import state_licences
from bakeoff.foundation.formatting import format_size, make_printable
from bakeoff.learning.metrics.names import choose_judgement
from bakeoff.tracking.results.results import name_of
from bakeoff.tracking.sync.system_metrics import GPUS, PROCESSORS

DATASHEET, README_OF_FILES = "DATASHEET.md", "FILES.md"
PIPELINES = {"detection": "object-detection", "classification": "image-classification", "video": "video-classification"}
LIBRARIES = {".tflite": "tflite", ".onnx": "onnx"}  # by the ending of a file; else TensorFlow's SavedModel
POWERED = {PROCESSORS: "processors and their memory", GPUS: "GPUs"}
JOULES_OF_KWH = 3.6e6
SHOWN = 3  # weak slices
FEW = 50  # things of a class, below which its number is a guess
UNSAFE = re.compile(r"[\s`|\[\]]+")  # what ends code, a cell or a line, and what makes links
NOT_WRITTEN = f"Nobody has written this: `{{}}` in `{FILE.as_posix()}`."
Row = Sequence[str]


def format_card(facts: RunFacts, texts: CardTexts, certificate: Sequence[str] = ()) -> str:
    """`certificate` are lines of a section that says who vouches for the folder."""
    parts = (
        _describe(facts, texts), _intend(texts), _limit(facts, texts), _start(facts), _train(facts),
        _state_energy(facts), _evaluate(facts), _list_files(facts), _state_lineage(facts, texts), _repeat(facts),
        certificate, _contact(texts),
    )  # fmt: skip
    metadata = yaml.safe_dump(make_metadata(facts, texts), sort_keys=False, allow_unicode=True)
    return f"---\n{metadata}---\n\n" + "\n".join(line for part in parts for line in part) + "\n"


def make_metadata(facts: RunFacts, texts: CardTexts) -> dict[str, Any]:
    """Return what stands on top of the card, for programs."""
    endings = [name[name.rfind(".") :] for name in facts.files]
    library = next((library for ending, library in LIBRARIES.items() if ending in endings), "tf-keras")
    pipeline = PIPELINES[facts.task]
    measured = [{"type": name, "name": name, "value": round(value, 4)} for name, value in list_numbers(facts)]
    dataset = {"type": "records", "name": _name_data(texts), "split": "validation"}
    result = {"task": {"type": pipeline}, "dataset": dataset, "metrics": measured}
    return {
        "license": texts.licence, "library_name": library, "pipeline_tag": pipeline,
        "tags": ["bakeoff", str(facts.model.get("kind", ""))], "metrics": [name for name, _ in list_numbers(facts)],
        "model-index": [{"name": _name(facts, texts), "results": [result]}],
    } | _state_emissions(facts, texts)  # fmt: skip


def _state_emissions(facts: RunFacts, texts: CardTexts) -> dict[str, Any]:
    """Return nothing unless the energy was counted, and somebody wrote what a kWh causes."""
    if texts.co2_per_kwh is None or not facts.energy:
        return {}
    grams = sum(facts.energy.values()) / JOULES_OF_KWH * texts.co2_per_kwh
    source = "joules counted by " + " and ".join(POWERED[name] for name in facts.energy) + ", times co2_per_kwh"
    return {"co2_eq_emissions": {"emissions": float(f"{grams:.3g}"), "source": source}}


def list_numbers(facts: RunFacts) -> list[tuple[str, float]]:
    """Return the numbers that come first, of a task the headline."""
    metrics = facts.result.metrics
    first = choose_judgement(facts.task, multi_label=facts.manifest.multi_label).headline
    names = dict.fromkeys([first, *(metrics.get("interval") or ())])
    return [(name, float(metrics[name])) for name in names if isinstance(metrics.get(name), int | float)]


def _name(facts: RunFacts, texts: CardTexts) -> str:
    return texts.name or name_of(facts.result.variant)


def _name_data(texts: CardTexts) -> str:
    return texts.data_name or "the team's own pictures"


def _describe(facts: RunFacts, texts: CardTexts) -> Iterator[str]:
    state = facts.result.state
    yield from (f"# {plain(_name(facts, texts))}", "")
    classes = ", ".join(code(label) for label in facts.manifest.classes)
    yield f"A network for {facts.task}, made with bakeoff. Its classes: {classes}."
    yield from ("", "## Model details", "")
    weights = str(facts.export.get("weights", "best"))
    rows = [
        ("network", str(facts.model.get("kind", "not known"))),
        ("input", f"{facts.model.get('input_size', '?')} pixels"),
        ("parameters", f"{state.parameters:,}" if state.parameters else "not known"),
        ("weights", f"{weights}, of step {state.step_of(weights):,} of {state.steps:,}"),
        ("made by", ", ".join(texts.authors) or "not known"),
        ("licence", texts.licence),
        ("run", str(state.lineage.fingerprint or "not known")),
    ]
    yield from table(("what", "is"), rows)


def _intend(texts: CardTexts) -> Iterator[str]:
    yield from ("", "## Intended use", "", plain(texts.intended_use or "") or NOT_WRITTEN.format("intended_use"))


def _limit(facts: RunFacts, texts: CardTexts) -> Iterator[str]:
    yield from ("", "## Limits", "")
    yield f"- {plain(texts.limits)}" if texts.limits else f"- {NOT_WRITTEN.format('limits')}"
    yield f"- It knows {len(facts.manifest.classes):,} classes. It takes all else for one of them or for none."
    if few := [label for label, count in facts.manifest.splits["validation"].counts.items() if count < FEW]:
        yield f"- Fewer than {FEW} things of {', '.join(map(code, few))} were judged: these numbers are guesses."
    yield "- The numbers are of the validation, which chose the weights. Those of a test tend to be lower."
    if statement := facts.slices.get("statement"):
        yield f"- Slices: {plain(str(statement))}."
    if not facts.result.state.is_known or facts.result.state.is_stopped:
        yield "- Its training did not come to its end."


def _start(facts: RunFacts) -> Iterator[str]:
    files = facts.export.get("files") or {}
    file = next((one["file"] for one in files.values()), "model.tflite")
    yield from ("", "## How to use it", "", "```console", f"$ bakeoff predict photo.jpg --model {file}", "```", "")
    yield f"`{README_OF_FILES}` says how each file is fed without bakeoff, and what it gives."


def _train(facts: RunFacts) -> Iterator[str]:
    variant, manifest = facts.result.variant, facts.manifest
    yield from (
        "",
        "## Training",
        "",
        f"`{DATASHEET}` describes the data. Their digest is `{manifest.digest[:16]}`.",
        "",
    )
    rows = [(name, f"{split.examples:,}", f"{sum(split.counts.values()):,}") for name, split in manifest.splits.items()]
    yield from table(("split", "examples", "boxes" if facts.task == "detection" else "labels"), rows)
    keys = {"train": ("steps", "batch_size"), "optimizer": ("kind",), "lr": ("kind", "peak")}
    given = [
        (f"{group}.{key}", str((variant.get(group) or {}).get(key))) for group, some in keys.items() for key in some
    ]
    yield ""
    yield from table(("setting", "value"), [*given, ("seed", str(variant.get("seed")))])
    yield from ("", "`models/config/run.yaml` of the commit below has every other setting.")


def _state_energy(facts: RunFacts) -> Iterator[str]:
    """Say nothing where nothing was counted."""
    if not facts.energy:
        return
    yield from ("", "## Energy of the training", "")
    rows = [
        (what, f"{joules:,.0f} J", f"{joules / JOULES_OF_KWH:.3g} kWh")
        for name, what in POWERED.items()
        if (joules := facts.energy.get(name)) is not None
    ]
    yield from table(("counted", "energy", "is"), rows)
    yield from ("", "Counters of the machine say so. What else ran on it is in them; what is not in this table is not.")


def _evaluate(facts: RunFacts) -> Iterator[str]:
    metrics, intervals = facts.result.metrics, facts.result.metrics.get("interval") or {}
    examples = facts.manifest.splits["validation"].examples
    yield from (
        "",
        "## Evaluation",
        "",
        f"On {examples:,} validation examples. Intervals are of 95 %, over the examples.",
        "",
    )
    yield from table(
        ("metric", "value", "interval", "means"),
        [
            (name, f"{value:.3f}", _interval(intervals.get(name)), meaning_of(name).text)
            for name, value in list_numbers(facts)
        ],
    )
    by_class = {
        name: numbers for name, numbers in metrics.items() if name in ("AP_50", "class_f1", "average_precision")
    }
    if by_class:
        labels = facts.manifest.classes
        counts = facts.manifest.splits["validation"].counts
        rows = [
            (label, f"{counts.get(label, 0):,}", *(_number(numbers.get(label)) for numbers in by_class.values()))
            for label in labels
        ]
        yield from ("", *table(("class", "judged", *by_class), rows))
    weak = sorted(facts.slices.get("slices") or (), key=lambda row: -row["weakness"])[:SHOWN]
    if weak:
        rows = [
            (f"{row['fact']} {row['slice']}", f"{row['examples']:,}", _number(row["value"]), _number(row["rest"]))
            for row in weak
        ]
        metric = facts.slices.get("metric", "")
        yield from (
            "",
            "The weakest slices of the examples; chance alone may explain them, if none is named under Limits:",
            "",
        )
        yield from table(("slice", "examples", str(metric), "of all others"), rows)


def _interval(ends: Mapping[str, float] | None) -> str:
    return f"{ends['low']:.3f} to {ends['high']:.3f}" if ends else ""


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _list_files(facts: RunFacts) -> Iterator[str]:
    headline = str(facts.export.get("headline", ""))
    yield from ("", "## Files", "")
    rows = [
        (str(file["file"]), format_size(file["bytes"]), _number(file.get(headline)), _number(file.get("drop")))
        for file in (facts.export.get("files") or {}).values()
    ]
    yield from table(("file", "size", headline, "lost by the export"), rows)
    yield from ("", "`export.json` has the SHA-256 of each.")


def _state_lineage(facts: RunFacts, texts: CardTexts) -> Iterator[str]:
    lineage = facts.export.get("lineage") or {}
    yield from ("", "## Licences and origin", "")
    if texts.licence == UNKNOWN:
        yield f"- licence of the model: {NOT_WRITTEN.format('licence')}"
    known = texts.data_licence != UNKNOWN
    yield f"- licence of the data: {texts.data_licence if known else NOT_WRITTEN.format('data_licence')}"
    yield from (f"- {plain(line)}" for line in state_licences(lineage.get("starts") or (), lineage.get("own")))


def _repeat(facts: RunFacts) -> Iterator[str]:
    run = facts.result.state.lineage.fingerprint or ""
    yield from ("", "## How to repeat it", "")
    if facts.commit is None:
        yield "It is in no commit: commit what the workspace changed, with `dvc.lock`, and write this card again."
        return
    yield from (
        "```console",
        f"$ git checkout {facts.commit}",
        "$ dvc pull",
        f"$ bakeoff reproduce {run[:8]}",
        "```",
        "",
    )
    yield "On the same kind of processor with the same versions the weights come out the same to the bit."


def _contact(texts: CardTexts) -> Iterator[str]:
    if texts.contact:
        yield from ("", "## Contact", "", plain(texts.contact))


def table(head: Row, rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(plain(cell) for cell in row)} |" for row in rows)


def code(text: str) -> str:
    """Return a text of anybody's as code, which a page shows as it is."""
    return f"`{UNSAFE.sub(' ', make_printable(text)).strip()}`"


def plain(text: str) -> str:
    return escape(UNSAFE.sub(" ", make_printable(text)), quote=False).strip()
