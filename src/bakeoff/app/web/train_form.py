"""A form over the options of the command line: it shows what `bakeoff plan` prints, and Start puts the run in line."""

import re
import shlex
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.activity import answer_with
from bakeoff.app.web.datasets import chosen_data, option_of, write_choice
from bakeoff.app.web.responses import Tree, changes, plain, show_page, text_of
from bakeoff.app.web.run_rows import make_row
from bakeoff.app.web.runs import find_run, list_accounts
from bakeoff.app.web.work_steps import count_sets
from bakeoff.dataset.records.manifest import FILE as MANIFEST
from bakeoff.experiments.runs.curve_drawings import draw_rate
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.sweep_manifest import load_manifest
from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps
from bakeoff.experiments.sweep.team_quota import PERSON, require_minutes
from bakeoff.foundation import shipped, workspace
from bakeoff.foundation.errors import BakeoffError, WorkspaceError
from bakeoff.foundation.html import template
from bakeoff.learning.plan.run_length import UNLIMITED, is_endless
from bakeoff.tracking.results.run_id import SWEEP_EXPERIMENT

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
UNBUILT = "<p>No records have been built yet. Start builds them first, and then checks the form.</p>"
AGAIN = "<p>This plan takes longer: a network is built, or batch sizes are tried. It will appear here.</p>"
PATIENCE_S = 4.0  # a request waits so long for a plan
KEPT_S = 30.0  # a plan that nobody asked for again is too old then
MOST_PLANS = 8  # that are made or kept


class StillPlanning(BakeoffError):
    """The plan is not ready yet; ask again."""


class Plans:
    """Plans for the form, made one after the other behind the requests, for one may take minutes."""

    def __init__(self) -> None:
        self._turn, self._lock = Lock(), Lock()  # Hydra composes for one at a time
        self._asked: dict[str, tuple[float, Future[str]]] = {}  # by form: when it was asked for last

    def ask(self, wanted: "Wanted") -> str:
        """Return the plan as HTML. Raises StillPlanning where that takes longer than a request may."""
        key = repr((wanted.overrides, wanted.data, wanted.person))
        future = self._find_or_begin(key, wanted)
        if future is None or not wait([future], PATIENCE_S).done:
            raise StillPlanning("the plan is not ready yet; ask again in a few seconds")
        with self._lock:
            self._asked.pop(key, None)
        return future.result()

    def _find_or_begin(self, key: str, wanted: "Wanted") -> Future[str] | None:
        with self._lock:
            now = time.monotonic()
            for other, (asked, future) in [*self._asked.items()]:
                if future.done() and now - asked > KEPT_S:
                    del self._asked[other]
            if key not in self._asked and len(self._asked) >= MOST_PLANS:
                return None
            future = self._asked[key][1] if key in self._asked else Future[str]()
            if key not in self._asked:
                Thread(target=self._make, args=(wanted, future), daemon=True).start()  # no exit waits for it
            self._asked[key] = now, future
            return future

    def _make(self, wanted: "Wanted", future: Future[str]) -> None:
        try:
            with self._turn:
                future.set_result(_describe(wanted))
        except BaseException as error:  # which the request raises
            future.set_exception(error)


_plans = Plans()


@dataclass(frozen=True)
class Wanted:
    """The training that a form asks for."""

    fields: dict[str, str]
    others: tuple[str, ...] = ()
    note: str = ""
    person: str = ""  # whose minutes it uses

    @property
    def overrides(self) -> list[str]:
        """Return the changes as `bakeoff plan` and `bakeoff queue add` take them, all but the data."""
        return [f"{KEYS[name]}={_quote(value)}" for name, value in self.fields.items() if value and name != "data"] + [
            *self.others
        ]

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
    if wrong:
        raise Mistakes(wrong)
    return Wanted(fields, tuple(others), " ".join(text_of(tree, "note").split()), text_of(tree, PERSON))


def list_options(group: str) -> list[str]:
    return shipped.list_options(workspace.CONF, group)


def _quote(value: str) -> str:
    if BARE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@plain
def show_form(request: Request) -> Response:
    more = request.query_params.get("more")
    given = dict.fromkeys([*KEYS, "others", "note", PERSON], "") | {
        "data": request.query_params.get("data") or _propose_data()
    }
    run = find_run(more) if more else None
    if run is not None:
        given |= _continued(run)
    return show_page(
        "web_train.html.jinja", "/train", "Train", given=given, data=list_options("data"), chosen=chosen_data(),
        recipes=list_options("experiment"), models=list_options("model"), starts=_list_starts(),
        more=make_row(run) if run else None, accounts=list_accounts(),
    )  # fmt: skip


def _propose_data() -> str:
    """Return the set of photos with most labels; "" where there is none, or params.yaml chooses one already."""
    options = list_options("data")
    labelled = {name: count.labelled for name, count in count_sets().items() if count.labelled and name in options}
    return max(labelled, key=lambda name: labelled[name]) if labelled and chosen_data() not in labelled else ""


def _continued(run: KnownRun) -> dict[str, str]:
    """Return the form as it was for a run, with twice as many steps and the run to continue."""
    steps = run.status.steps if run.status else 0
    given = {"steps": UNLIMITED if is_endless(steps) else str(2 * steps), "more": run.fingerprint}
    others = []
    for override in _read_overrides(run):
        key, _, value = override.lstrip("+").partition("=")
        field = next((field for field, its_key in KEYS.items() if its_key == key), None)
        if field in ("steps", "epochs", "more"):
            continue
        if field is not None and field not in given:
            given[field] = value.strip("\"'")
        else:
            others.append(override)
    return {**given, "others": shlex.join(others)}


def _read_overrides(run: KnownRun) -> list[str]:
    """Return the changes with which a run of the queue was asked for; none of a run of params.yaml itself."""
    experiment = (run.status.experiment if run.status else None) or ""
    match = SWEEP_EXPERIMENT.fullmatch(experiment)
    try:
        manifest = load_manifest(workspace.sweeps() / match[1]) if match else None
    except WorkspaceError:
        return []
    job = next((job for job in manifest.jobs if job.experiment == experiment), None) if manifest else None
    return [*job.configurations[0]] if job else []


def _list_starts() -> list[tuple[str, str]]:
    """Return first weights to choose from, each with what it is."""
    starts = [("none", "random"), ("imagenet", "Keras' ImageNet weights, downloaded")]
    if workspace.WEIGHTS.is_dir():
        folders = sorted(path for pattern in ("*", "zoo/*") for path in workspace.WEIGHTS.glob(pattern))
        starts += [(path.as_posix(), "in data/weights") for path in folders if path.is_dir() and path.name != "zoo"]
    done = [run for run in known_runs() if run.state == State.SUCCEEDED and run.names.mlflow_id]
    runs = ((run.names.mlflow_id, f"run {run.short}, {run.status.name if run.status else ''}") for run in done)
    return [*starts, *runs]


@changes
def send_plan(request: Request, tree: Tree) -> Response:
    """Return what `bakeoff plan` prints for the form, or the mistakes of its fields."""
    try:
        wanted = read_form(tree)
        html = _check(wanted)
    except StillPlanning:
        return JSONResponse({"problems": {}, "html": AGAIN, "again": True})
    except BakeoffError as error:
        return JSONResponse({"problems": sort_mistakes(error, text_of(tree, "others"))})
    return JSONResponse({"problems": {}, "html": str(html)})


def _check(wanted: Wanted) -> str:
    """Return what `bakeoff plan` prints for a form. Raises BakeoffError for what `bakeoff queue add` would refuse, as
    far as that can be known before records are built.
    """
    if (workspace.RECORDS / MANIFEST).is_file():
        return _plans.ask(wanted)
    minutes = wanted.fields["minutes"]
    require_minutes([float(minutes)] if minutes else [], wanted.person)
    return UNBUILT


def _describe(wanted: Wanted) -> str:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.experiments.planning.plan import make_plan
    from bakeoff.experiments.planning.plan_rows import list_rows
    from bakeoff.experiments.planning.stage_status import RUNS
    from bakeoff.experiments.planning.time_estimate import TRAIN
    from bakeoff.learning.plan.phases import plan_phases

    overrides = [f"data={wanted.data}", *wanted.overrides] if wanted.data != chosen_data() else wanted.overrides
    plan, run = make_plan(overrides), read_variant(overrides=overrides).whole()
    require_minutes([run.train.max_minutes] if plan.stages[TRAIN] == RUNS else [], wanted.person)
    return template.render(
        "web_plan.html.jinja", name=plan.name, rows=list_rows(plan), warnings=plan.warnings,
        rate=draw_rate(plan_phases(run)), lines=[f"bakeoff plan {shlex.join(overrides)}".strip()],
    )  # fmt: skip


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


@changes
def start(request: Request, tree: Tree) -> Response:
    """Put the training of the form into the queue, and run the queue."""
    try:
        wanted = read_form(tree)
        options = [f"--{name}={text}" for name, text in (("note", wanted.note), (PERSON, wanted.person)) if text]
        add = ["bakeoff", "queue", "add", *wanted.overrides, *options, "--yes"]
        if (same := background_commands.find(text_of(tree, "key"), add)) is not None:
            return answer_with(same)
        _check(wanted)
        _refuse_another(wanted)
    except StillPlanning:
        return JSONResponse({"again": True})
    except BakeoffError as error:
        return JSONResponse({"problems": sort_mistakes(error, text_of(tree, "others")), "problem": str(error)}, 400)
    notes = write_choice(wanted.data)
    commands = prepare(wanted.data)
    commands += [add, [*background_commands.QUEUE]]
    title = f"Train on {wanted.data}"
    return answer_with(background_commands.begin(text_of(tree, "key"), title, commands, notes=notes, after="/models"))


def _refuse_another(wanted: Wanted) -> None:
    """Refuse a training that waits or runs already, such as one that a second tab has started."""
    for sweep in list_queued_sweeps() if wanted.data == chosen_data() else ():
        manifest = load_manifest(workspace.sweeps() / sweep)
        if (manifest.overrides, manifest.note or "") == (tuple(wanted.overrides), wanted.note):
            raise WorkspaceError(f"{sweep} is the same training, and waits or runs; give this one another note or seed")


def prepare(data: str) -> list[list[str]]:
    """Return the commands after which jobs find a dataset's files, its option and its records."""
    added: list[str] = []
    commands: list[list[str]] = []
    for name in _parts(data):
        option, path = workspace.CONF / "data" / f"{name}.yaml", option_of(name).get("path")
        if isinstance(path, str) and path.startswith(f"{workspace.RAW.as_posix()}/"):
            top = workspace.RAW / Path(path).relative_to(workspace.RAW).parts[0]
            if not any(Path(f"{outer}.dvc").is_file() for outer in (Path(path), *Path(path).parents)):
                commands.append(["dvc", "add", top.as_posix()])
                added += [f"{top.as_posix()}.dvc", (workspace.RAW / ".gitignore").as_posix()]
        added += [option.as_posix()] if option.is_file() else []  # git has no built-in one
    commands.append(["git", "add", *dict.fromkeys(added)])
    return [*commands, ["dvc", "repro", "build_records"]]


def _parts(data: str) -> Sequence[str]:
    """Return the options of a merged dataset, and it itself."""
    merged: Any = option_of(data).get("merge")
    return [*merged, data] if isinstance(merged, list) else [data]


ROUTES = [
    Route("/train", show_form, methods=["GET"]),
    Route("/train/plan", send_plan, methods=["POST"]),
    Route("/train/start", start, methods=["POST"]),
]
