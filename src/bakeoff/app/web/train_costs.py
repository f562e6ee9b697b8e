"""What a training will cost and bring, in words: the cards of the recipes, and what stands beside the form."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bakeoff.app.web.network_options import list_networks
from bakeoff.app.web.robots import ROBOTS
from bakeoff.app.web.runs import list_accounts
from bakeoff.app.web.training_recipes import (
    RECIPES,
    Choice,
    TrainingData,
    choose,
    find_earlier_result,
    find_pace,
)
from bakeoff.experiments.planning.plan import Plan
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.foundation.formatting import format_duration, format_size
from bakeoff.foundation.html import template
from bakeoff.learning.plan.run_length import UNLIMITED, is_endless

Rows = list[tuple[str, str]]
PLACE = re.compile(r"^(?:[^\s:]+(?::\d+)?: )?(?P<key>[a-z_]+(?:\.[\w\[\]]+)*): (?P<text>.*)", re.DOTALL)
PERCENT = re.compile(r"\d+%")
UNFIT = "the labelled boxes have a size or a shape that this network hardly finds"
PLAIN = {  # by the key that a warning begins with: what it means for a person
    "train.init.weights": "It starts from random weights. With few photos it learns slowly and stays less exact.",
    "train.batch_size": "There are fewer photos than a batch holds, so the batches are smaller.",
    "train.steps": "Parts of the recipe were made for a longer training. They are cut to this one.",
    "data/records": "The pictures have changed since they were last checked. Start checks them again first.",
    "model.fit": "This robot shows the network the whole picture with bars, and this one learns from a stretched one.",
}


def list_choices(robot: str, data: TrainingData, runs: Sequence[KnownRun]) -> dict[str, Any]:
    """Return what the form offers for a robot and some data: the recipes, and networks with size and speed."""
    cards = []
    for recipe in RECIPES.values():
        choice = choose(recipe, robot, data, runs)
        earlier = find_earlier_result(data.name, choice.network, runs) if choice else None
        cards.append((recipe, choice, earlier))
    allowed = ROBOTS[robot].list_networks(data.task) if robot in ROBOTS else None
    models = []
    for name, network in list_networks(data.task).items():
        if allowed is None or name in allowed:
            pace, _ = find_pace(name, network.input_size, runs)
            models.append((name, f"{name}: {network.input_size} pixels, {pace:.3g} photos a second"))
    return {"cards": cards, "models": models, "known": data}


def render_choices(robot: str, data: TrainingData, length: str) -> dict[str, Any]:
    """Return the same as parts of the page."""
    choices = list_choices(robot, data, known_runs())
    return {
        "recipes": str(template.render("web_recipes.html.jinja", given={"length": length}, **choices)),
        "models": choices["models"],
    }


def describe_choice(choice: Choice, data: TrainingData) -> str:
    """Return what a recipe costs before the pictures are checked, as HTML."""
    figures = [
        *_list_time(choice.seconds, choice.pace_from, ""),
        *_list_lengths(choice.batch, choice.examples / choice.batch, choice.epochs, choice.steps),
        ("photos", f"about {data.train:,} to learn from, {data.validation:,} to judge by"),
        ("network", f"{choice.network}, {choice.side} pixels"), ("starts from", choice.start or "random weights"),
    ]  # fmt: skip
    return _render(choice, data.name, figures=figures, is_rough=True, lines=[])


def describe_plan(
    plan: Plan, choice: Choice | None, data: str, *, rate: Any, rows: Sequence[tuple[str, str]], lines: list[str],
    person: str,
) -> str:  # fmt: skip
    """Return what a plan says, in the words and the numbers of ftc-ml; all else is on request."""
    seconds, known_from = plan.seconds, "by earlier steps and stages of this machine"
    if seconds is None and choice is not None:
        seconds, known_from = choice.seconds, choice.pace_from
    first = plan.phases[0]
    memory = f"about {format_size(plan.memory_estimate_bytes)} of {format_size(plan.memory_budget_bytes)}"
    train, validation = plan.examples.get("train", 0), plan.examples.get("validation", 0)
    figures = [
        *_list_time(seconds, known_from, person), ("memory", memory),
        *_list_lengths(first.batch_size, first.steps_per_epoch, plan.epochs, plan.steps),
        ("photos", f"{train:,} to learn from, {validation:,} to judge by"),
        ("network", f"{plan.variant.get('model', plan.name)}, {plan.parameters:,} parameters"),
    ]  # fmt: skip
    if choice is not None:
        start = choice.start and f"{choice.start}{', which Start makes first' if choice.makes_start else ''}"
        figures.append(("starts from", start or "random weights"))
    warnings = [*word_warnings(plan.warnings, choice)]
    network = plan.variant.get("model", "")
    return _render(
        choice, data, figures=figures, lines=lines, warnings=warnings, raw=plan.warnings, rows=rows, rate=rate,
        network=network,
    )  # fmt: skip


def _render(choice: Choice | None, data: str, *, network: str = "", **values: Any) -> str:
    runs = known_runs()
    earlier = find_earlier_result(data, choice.network if choice else network, runs)
    empty: dict[str, Any] = {"warnings": [], "raw": [], "rows": [], "rate": "", "is_rough": False}
    return str(template.render("web_plan.html.jinja", earlier=earlier, choice=choice, **{**empty, **values}))


def _list_time(seconds: float | None, known_from: str, person: str) -> Rows:
    rows = [("time", f"about {format_duration(seconds)} ({known_from})" if seconds else "not known before it runs")]
    accounts = [account for account in list_accounts() if account.name in ("", person)]
    return [*rows, *(("budget", f"{one.left:.1f} of {one.minutes:g} minutes left for {one.owner}") for one in accounts)]


def _list_lengths(batch: int, steps_per_epoch: float, epochs: float, steps: int) -> Rows:
    length = UNLIMITED if is_endless(steps) else f"{steps:,}"
    return [
        ("steps", length), ("batch size", f"{batch:,} photos a step"),
        ("steps of an epoch", f"{max(1, round(steps_per_epoch)):,}"),
        ("epochs", "no end" if is_endless(steps) else f"{epochs:,.0f} times through all photos"),
    ]  # fmt: skip


def word_warnings(warnings: Sequence[str], choice: Choice | None) -> Iterator[str]:
    """Yield warnings of a plan as a person understands them, each once."""
    worded = dict.fromkeys(_word(warning) for warning in warnings)
    if choice is not None and choice.makes_start:  # the plan does not know them yet
        worded.pop(PLAIN["train.init.weights"], None)
    yield from worded


def _word(warning: str) -> str:
    match = PLACE.match(warning)
    key, text = (match["key"], match["text"]) if match else (warning.partition(":")[0], warning)
    if key == "model.anchors":
        share = PERCENT.search(text)
        return f"{share[0] if share else 'Some'} of {UNFIT}. A larger picture helps: choose the longer recipe."
    return PLAIN.get(key, f"{text[:1].upper()}{text[1:]}.")
