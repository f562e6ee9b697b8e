"""What a form of Train asks for: the fields -> the overrides that one would type, or the mistakes by field."""

import re
import shlex
from dataclasses import dataclass

from bakeoff.app.web.datasets import chosen_data
from bakeoff.app.web.responses import Tree, text_of
from bakeoff.app.web.robots import ROBOTS
from bakeoff.app.web.training_recipes import RECIPES, Choice, choose, describe_data
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.sweep.team_quota import PERSON
from bakeoff.foundation import shipped, workspace
from bakeoff.foundation.errors import BakeoffError
from bakeoff.learning.plan.run_length import UNLIMITED

KEYS = {  # the key that each field of the form sets; "" is the value of params.yaml or of the preset
    "data": "data", "recipe": "experiment", "model": "model", "steps": "train.steps", "epochs": "train.epochs",
    "batch": "train.batch_size", "minutes": "train.max_minutes", "weights": "train.init.weights",
    "more": "train.continue_from",
}  # fmt: skip
NUMBERS = ("steps", "epochs", "batch", "minutes")
NUMBER = re.compile(r"\d{1,9}(\.\d{1,6})?|auto")
REFUSED_HERE = re.compile(r"(track\b|hydra\b|.*@)")  # where copies go and what Hydra loads are not the page's to choose
BARE = re.compile(r"[\w./:@+-]*")  # what Hydra takes for a text as it stands
FIELD_OF = {**{key: field for field, key in KEYS.items()}, "train": "steps", PERSON: PERSON}


@dataclass(frozen=True)
class Wanted:
    """The training that a form asks for."""

    fields: dict[str, str]
    others: tuple[str, ...] = ()
    note: str = ""
    person: str = ""  # whose minutes it uses
    robot: str = ""  # that its files are for; "": as the variant says
    choice: Choice | None = None  # of a recipe in words

    @property
    def overrides(self) -> list[str]:
        """Return the changes as `bakeoff plan` and `bakeoff queue add` take them, all but the data."""
        return [*self._of_recipe(has_start=True), *self._own]

    @property
    def planned(self) -> list[str]:
        """Return them as they can be planned now, while first weights are still to be made."""
        return [*self._of_recipe(has_start=self.choice is None or not self.choice.makes_start), *self._own]

    @property
    def _own(self) -> list[str]:
        own = [f"{KEYS[name]}={_quote(value)}" for name, value in self.fields.items() if value and name != "data"]
        return [*own, *self.others]

    def _of_recipe(self, *, has_start: bool) -> list[str]:
        """Return what the recipe in words sets and nothing else does."""
        set_here = {override.lstrip("+~").partition("=")[0] for override in self._own}
        pairs = [("export", self.robot)] if self.robot else []
        if self.choice is not None and KEYS["recipe"] not in set_here:
            start = self.choice.start_overrides if has_start and KEYS["weights"] not in set_here else ()
            pairs = [*self.choice.overrides, *start]
        given = set_here | ({KEYS["steps"]} if KEYS["epochs"] in set_here else set())
        return [f"{key}={value}" for key, value in pairs if key not in given]

    @property
    def data(self) -> str:
        return self.fields.get("data") or chosen_data()


class Mistakes(BakeoffError):
    """What is wrong with fields of the form, by field; what belongs to none is under ""."""

    def __init__(self, by_field: dict[str, str]) -> None:
        self.by_field = by_field
        super().__init__("\n".join(by_field.values()))


def read_form(tree: Tree) -> Wanted:
    """Return the training that a form asks for. Raises Mistakes for values that the command line cannot hold."""
    fields = {name: text_of(tree, name) for name in KEYS}
    wrong = {
        name: f"must be a number above 0, got {fields[name]!r}"
        for name in NUMBERS
        if fields[name] and not NUMBER.fullmatch(fields[name]) and (name, fields[name]) != ("steps", UNLIMITED)
    }
    for name, group in (("data", "data"), ("recipe", "experiment"), ("model", "model")):
        if fields[name] and fields[name] not in list_options(group):
            wrong[name] = f"no such option {fields[name]!r} in conf/{group}/"
    if fields["steps"] and fields["epochs"]:
        wrong["epochs"] = "set either steps or epochs; leave one of them empty"
    try:
        others = shlex.split(text_of(tree, "others"))
    except ValueError as error:
        others, wrong["others"] = [], f"cannot be read: {error}; close the quote"
    if odd := [text for text in others if text.startswith("-") or not ("=" in text or text.startswith("~"))]:
        wrong["others"] = f"must be changes such as lr.peak=0.01, got {odd[0]!r}"
    keys = {override.lstrip("+~").partition("=")[0] for override in others}
    if keys & {"data", "data.use"}:
        wrong["others"] = "must not change the data; choose them above"
    if refused := [key for key in sorted(keys) if REFUSED_HERE.match(key)]:
        wrong["others"] = f"must not change {refused[0]} from here; params.yaml and the command line can"
    for name, value in (*fields.items(), ("others", " ".join(others))):
        if "${" in value:
            wrong[name] = "must not hold ${…}; params.yaml can refer to other values"
    length, robot = text_of(tree, "length"), text_of(tree, "robot")
    if length and length not in RECIPES:
        wrong["length"] = f"must be one of {', '.join(RECIPES)}, got {length!r}; reload the page"
    if robot and robot not in ROBOTS:
        wrong["robot"] = f"must be one of {', '.join(ROBOTS)}, got {robot!r}; reload the page"
    if wrong:
        raise Mistakes(wrong)
    choice = None
    if length and not fields["more"]:
        choice = choose(RECIPES[length], robot, describe_data(fields["data"]), known_runs(), fields["model"])
    note = " ".join(text_of(tree, "note").split())
    return Wanted(fields, tuple(others), note, text_of(tree, PERSON), robot, choice)


def list_options(group: str) -> list[str]:
    return shipped.list_options(workspace.CONF, group)


def _quote(value: str) -> str:
    if BARE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def sort_mistakes(error: BakeoffError, others: str = "") -> dict[str, str]:
    """Return the lines of an error by the field whose key they name; what names none is under "".

    `others` are the changes that were typed as on the command line.
    """
    if isinstance(error, Mistakes):
        return error.by_field
    messages: dict[str, list[str]] = {}
    for line in str(error).splitlines():
        message = re.sub(r"^[^\s:]*(?: line)?(?::\d+)?: (?=[a-z_]+[.:\w]*: )", "", line)
        key = message.partition(":")[0]
        field = FIELD_OF.get(key) or ("others" if f"{key}=" in others else "")
        messages.setdefault(field, []).append(message if field else line)
    return {field: "\n".join(lines) for field, lines in messages.items()}
