"""The table of metrics -> a page: the numbers of each kind of score, which way is better, and what each means."""

from bakeoff.evaluation.headline_json import FIRST
from bakeoff.evaluation.metric_meanings import ERROR_MEANINGS, meaning_of
from bakeoff.learning.metrics.names import BY_KIND, METRICS, Judgement
from reference.texts import as_sentence, make_table, read_texts

HEADS = ("metric", "better", "in headline.json", "meaning")


def make_metric_page() -> str:
    texts = read_texts("metrics")
    page = f"# Metrics\n\n{texts['intro']}\n"
    for kind, title in texts["tasks"].items():
        page += f"## {title}\n\n{_tables(BY_KIND[kind])}"
    errors = [(f"`{kind}`", _meaning(kind, text)) for kind, text in ERROR_MEANINGS.items()]
    return f"{page}## Kinds of errors\n\n{make_table(('kind', 'meaning'), errors)}"


def _tables(judgement: Judgement) -> str:
    of_all = dict.fromkeys((judgement.headline, *judgement.numbers))
    text = make_table(HEADS, [_row(name, name) for name in of_all])
    parts = {"class": judgement.of_classes, "kind": judgement.of_errors}
    for part, names in parts.items():
        if names:
            text += f"For each {part}:\n\n"
            text += make_table(HEADS, [_row(name, f"{name}.<{part}>") for name in names])
    return text


def _row(name: str, shown: str) -> tuple[str, ...]:
    way = {True: "higher", False: "lower", None: "neither"}[METRICS[name].is_higher_better]
    comes_first = "yes" if shown == name and name in FIRST else "no"
    return f"`{shown}`", way, comes_first, _meaning(name, meaning_of(name).text)


def _meaning(name: str, text: str) -> str:
    texts: dict[str, str] = read_texts("metrics")["keys"]
    return texts.get(name) or as_sentence(text)
