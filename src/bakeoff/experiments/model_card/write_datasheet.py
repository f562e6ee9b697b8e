"""Facts of the records -> DATASHEET.md: the questions of Datasheets for Datasets (Gebru et al., arXiv:1803.09010)."""

from collections.abc import Iterator

from bakeoff.dataset.records.manifest import Manifest
from bakeoff.experiments.model_card.card_texts import UNKNOWN, CardTexts
from bakeoff.experiments.model_card.run_facts import RunFacts
from bakeoff.experiments.model_card.write_card import NOT_WRITTEN, plain, table

NAMED = 10  # files of a kind


def format_datasheet(facts: RunFacts, texts: CardTexts) -> str:
    parts = (
        _motivate(texts), _compose(facts.manifest, facts, texts), _prepare(facts), _use(texts),
        _distribute(texts), _keep_up(texts),
    )  # fmt: skip
    return "\n".join(line for part in parts for line in part) + "\n"


def _motivate(texts: CardTexts) -> Iterator[str]:
    yield from (f"# Datasheet: {plain(texts.data_name or 'the data of this model')}", "")
    yield from ("## Motivation and collection", "")
    yield from ("Who took them, how, where, when and why, and who labelled them?", "")
    yield _answer(texts.data_origin, "data_origin")


def _compose(manifest: Manifest, facts: RunFacts, texts: CardTexts) -> Iterator[str]:
    yield from ("", "## Composition", "", f"Examples for {manifest.task}, with {len(manifest.classes):,} classes.", "")
    things = "boxes" if manifest.task == "detection" else "labels"
    splits = manifest.splits
    rows = [(label, *(f"{split.counts.get(label, 0):,}" for split in splits.values())) for label in manifest.classes]
    yield from table((things, *splits), [*rows, ("examples", *(f"{split.examples:,}" for split in splits.values()))])
    empty = {name: counts.get("without objects", 0) for name, counts in (facts.data_report.get("counts") or {}).items()}
    if any(empty.values()):
        counted = ", ".join(f"{count:,} for {name}" for name, count in empty.items() if count)
        yield from ("", f"Without any of these: {counted}.")
    if pairs := facts.data_report.get("near-duplicates"):
        yield from ("", f"{len(pairs):,} pairs of pictures on two sides look alike.")
    yield from ("", "Can people be recognised, and did they agree?", "", _answer(texts.data_people, "data_people"))


def _prepare(facts: RunFacts) -> Iterator[str]:
    report = facts.data_report
    yield from ("", "## Preparation", "", "Every file was decoded in full before it counted.", "")
    yield from (f"- {plain(str(line))}" for line in (*report.get("split", ()), *report.get("warnings", ())))
    for kind in ("rejected", "left out", "changed"):
        if names := list(report.get(kind) or ()):
            named = ", ".join(plain(name) for name in names[:NAMED])
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            yield f"- {kind}: {len(names):,} files: {named}{more}"
    yield f"- The digest of training and validation is `{facts.manifest.digest}`."


def _use(texts: CardTexts) -> Iterator[str]:
    yield from ("", "## Uses", "", "What are they for, and what must they not be used for?", "")
    yield _answer(texts.intended_use, "intended_use")
    yield from ("", _answer(texts.limits, "limits"))


def _distribute(texts: CardTexts) -> Iterator[str]:
    licence = None if texts.data_licence == UNKNOWN else texts.data_licence
    yield from ("", "## Distribution", "", "Under which licence?", "", _answer(licence, "data_licence"))


def _keep_up(texts: CardTexts) -> Iterator[str]:
    yield from ("", "## Upkeep", "", "Who corrects them, and where can a mistake be told?", "")
    yield _answer(texts.data_upkeep or texts.contact, "data_upkeep")


def _answer(text: str | None, key: str) -> str:
    return plain(text) if text else NOT_WRITTEN.format(key)
