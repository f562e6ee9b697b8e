"""A form over the options of the command line: it shows what `bakeoff plan` prints, and Start puts the run in line."""

import shlex
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.background_commands import BackgroundCommand
from bakeoff.app.web.datasets import chosen_data, list_datasets, option_of, write_choice
from bakeoff.app.web.responses import Tree, changes, plain, show_page, text_of
from bakeoff.app.web.robots import ROBOTS
from bakeoff.app.web.run_rows import make_row
from bakeoff.app.web.runs import find_run, find_training, list_accounts
from bakeoff.app.web.train_costs import describe_choice, describe_plan, list_choices, render_choices
from bakeoff.app.web.train_request import KEYS, Wanted, list_options, read_form, sort_mistakes
from bakeoff.app.web.training_progress import Preparation, find_source
from bakeoff.app.web.training_recipes import (
    ZOO,
    TrainingData,
    describe_data,
    find_earlier_result,
)
from bakeoff.app.web.work_steps import count_sets
from bakeoff.dataset.records.manifest import FILE as MANIFEST
from bakeoff.experiments.runs.curve_drawings import draw_rate
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.experiments.sweep.sweep_manifest import load_manifest
from bakeoff.experiments.sweep.sweep_queue import list_queued_sweeps
from bakeoff.experiments.sweep.team_quota import PERSON, require_minutes
from bakeoff.foundation import git, shipped, workspace
from bakeoff.foundation.errors import BakeoffError, WorkspaceError
from bakeoff.learning.plan.run_length import UNLIMITED, is_endless
from bakeoff.tracking.results.run_id import SWEEP_EXPERIMENT

UNBUILT = "<p>No records have been built yet. Start builds them first, and then checks the form.</p>"
AGAIN = "<p>This plan takes longer: a network is built, or batch sizes are tried. It will appear here.</p>"
LOCK = "dvc.lock"
NOBODY = {"user.name": "bakeoff", "user.email": "bakeoff@localhost"}  # who commits where git knows no user
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


@plain
def show_form(request: Request) -> Response:
    asked, runs = request.query_params, known_runs()
    more, like = asked.get("more"), asked.get("like")
    run, old = find_run(more) if more else None, find_training(like) if like else None
    data = asked.get("data") or _find_data(run or old) or _propose_data()
    known = describe_data(data)
    given = dict.fromkeys([*KEYS, "others", "note", PERSON], "") | {"data": data}
    given |= {
        "robot": asked.get("robot", _last_robot(runs)),
        "length": asked.get("length", _propose_length(known, runs)),
    }
    if run is not None or old is not None:
        given |= {"robot": "", "length": "", **(_continued(run) if run else _fill_in(_read_overrides(old)))}
    return show_page(
        "web_train.html.jinja", "/train", "Train", given=given, data=_list_data(given["data"]), chosen=chosen_data(),
        presets=list_options("experiment"), starts=_list_starts(), robots=ROBOTS.values(),
        more=make_row(run) if run else None, accounts=list_accounts(),
        **list_choices(given["robot"], known, runs),
    )  # fmt: skip


def _list_data(given: str) -> list[str]:
    """Return the options that have files here, and the chosen one."""
    there = set(list_datasets())
    for name in list(there):
        merged: Any = option_of(name).get("merge")
        if isinstance(merged, list) and not {*merged} <= there:
            there.remove(name)
    return sorted(there | ({given, chosen_data()} & set(list_options("data"))))


def _last_robot(runs: Sequence[KnownRun]) -> str:
    """Return the robot that the last run was for."""
    return next((robot for run in runs if (robot := find_source(run).robot) in ROBOTS), "")


def _propose_length(data: TrainingData, runs: Sequence[KnownRun]) -> str:
    """Return the quick look for data that nothing has learnt from yet, else the recipe for a good model."""
    if data.is_drawn:
        return ""
    return "quick" if find_earlier_result(data.name, "", runs) is None else "good"


def _propose_data() -> str:
    """Return the set of photos with most labels; "" where there is none, or params.yaml chooses one already."""
    options = list_options("data")
    labelled = {name: count.labelled for name, count in count_sets().items() if count.labelled and name in options}
    return max(labelled, key=lambda name: labelled[name]) if labelled and chosen_data() not in labelled else ""


def _continued(run: KnownRun) -> dict[str, str]:
    """Return the form as it was for a run, with twice as many steps and the run to continue."""
    steps = run.status.steps if run.status else 0
    length = {"steps": UNLIMITED if is_endless(steps) else str(2 * steps), "epochs": "", "more": run.fingerprint}
    return _fill_in(_read_overrides(run)) | length


def _fill_in(overrides: Sequence[str]) -> dict[str, str]:
    """Return the form that asks for these changes."""
    given: dict[str, str] = {}
    others = []
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        field = next((field for field, its_key in KEYS.items() if its_key == key), None)
        if field is not None and field not in given:
            given[field] = value.strip("\"'")
        else:
            others.append(override)
    return {**given, "others": shlex.join(others)}


def _find_data(training: KnownRun | Preparation | None) -> str:
    if isinstance(training, Preparation):
        return training.data
    return find_source(training).data if training else ""


def _read_overrides(run: KnownRun | Preparation | None) -> list[str]:
    """Return the changes with which a run of the queue was asked for; none of a run of params.yaml itself."""
    if run is None or isinstance(run, Preparation):
        return [*run.overrides] if run else []
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
    """Return what the training of the form will take, or the mistakes of its fields; and what there is to choose."""
    shown: Tree = {"problems": {}}
    try:
        wanted = read_form(tree)
        shown |= render_choices(wanted.robot, describe_data(wanted.fields["data"]), text_of(tree, "length"))
        html = _check(wanted)
    except StillPlanning:
        return JSONResponse({**shown, "html": AGAIN, "again": True})
    except BakeoffError as error:
        return JSONResponse({**shown, "problems": sort_mistakes(error, text_of(tree, "others"))})
    return JSONResponse({**shown, "html": str(html)})


def _check(wanted: Wanted) -> str:
    """Return what `bakeoff plan` prints for a form. Raises BakeoffError for what `bakeoff queue add` would refuse, as
    far as that can be known before records are built.
    """
    known = describe_data(wanted.fields["data"])
    if (workspace.RECORDS / MANIFEST).is_file() and (wanted.choice is None or known.manifest is not None):
        return _plans.ask(wanted)
    minutes = wanted.fields["minutes"]
    require_minutes([float(minutes)] if minutes else [], wanted.person)
    return describe_choice(wanted.choice, known) if wanted.choice else UNBUILT


def _describe(wanted: Wanted) -> str:
    from bakeoff.config.compose.variant import read_variant
    from bakeoff.experiments.planning.plan import make_plan
    from bakeoff.experiments.planning.plan_rows import list_rows
    from bakeoff.experiments.planning.stage_status import RUNS
    from bakeoff.experiments.planning.time_estimate import TRAIN
    from bakeoff.learning.plan.phases import plan_phases

    overrides = [f"data={wanted.data}", *wanted.planned] if wanted.data != chosen_data() else wanted.planned
    plan, run = make_plan(overrides), read_variant(overrides=overrides).whole()
    require_minutes([run.train.max_minutes] if plan.stages[TRAIN] == RUNS else [], wanted.person)
    return describe_plan(
        plan, wanted.choice, wanted.data, rate=draw_rate(plan_phases(run)), rows=[*list_rows(plan)],
        lines=[f"bakeoff plan {shlex.join(overrides)}".strip()], person=wanted.person,
    )  # fmt: skip


@changes
def start(request: Request, tree: Tree) -> Response:
    """Put the training of the form into the queue, and run the queue."""
    try:
        wanted = read_form(tree)
        options = [f"--{name}={text}" for name, text in (("note", wanted.note), (PERSON, wanted.person)) if text]
        add = ["bakeoff", "queue", "add", *wanted.overrides, *options, "--yes"]
        if (same := background_commands.find(text_of(tree, "key"), add)) is not None:
            return lead_to(same)
        _check(wanted)
        _refuse_another(wanted)
    except StillPlanning:
        return JSONResponse({"again": True})
    except BakeoffError as error:
        return JSONResponse({"problems": sort_mistakes(error, text_of(tree, "others")), "problem": str(error)}, 400)
    notes = write_choice(wanted.data)
    commands = prepare(wanted.data)
    if wanted.choice is not None and (start := wanted.choice.start) and f"train.init.weights=zoo/{start}" in add:
        commands += fetch_start(start, is_made=wanted.choice.makes_start)
    commands += [add, [*background_commands.QUEUE]]
    title = f"Train on {wanted.data}"
    return lead_to(background_commands.begin(text_of(tree, "key"), title, commands, notes=notes, after="/models"))


def lead_to(errand: BackgroundCommand) -> Response:
    """Return the address of the page of a training, which it has from the click on."""
    return JSONResponse({"errand": errand.id, "goto": f"/runs/{errand.id}"})


def fetch_start(start: str, *, is_made: bool) -> list[list[str]]:
    """Return the commands after which jobs find the weights that a training starts from."""
    folder = (ZOO / start).as_posix()
    commands = [["bakeoff", "weights", "get", start]] if is_made else []
    if not Path(f"{folder}.dvc").is_file():
        commands += [["dvc", "add", folder], ["git", "add", f"{folder}.dvc", (ZOO / ".gitignore").as_posix()]]
    return commands


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
    added += git.untracked((workspace.CONF / "data").as_posix())  # of other sets of photos, which jobs must not lack
    commands.append(["git", "add", *dict.fromkeys(added)])
    commands.append(["dvc", "repro", "build_records"])
    written = [LOCK, *([workspace.CODE.as_posix()] if shipped.code_stage() else [])]
    unknown = [name for name in written if name not in git.tracked(*written)]  # in a workspace that is new
    if unknown:
        commands.append(["git", "add", *unknown])
    return commands if git.commit() else [*commands, *_begin_history()]


def _begin_history() -> list[list[str]]:
    """Return the commands after which git has the first commit, which `bakeoff init` leaves to the user: all but the
    photos, which are DVC's.
    """
    try:
        git.git("var", "GIT_AUTHOR_IDENT")
        author = []
    except WorkspaceError:  # git does not know who the user is
        author = [part for key, text in NOBODY.items() for part in ("-c", f"{key}={text}")]
    return [
        ["git", "add", "--all", "--", ".", f":(exclude){workspace.RAW.as_posix()}"],
        ["git", *author, "commit", "--quiet", "--allow-empty", "-m", "Begin"],  # also where it is tried again
    ]


def _parts(data: str) -> Sequence[str]:
    """Return the options of a merged dataset, and it itself."""
    merged: Any = option_of(data).get("merge")
    return [*merged, data] if isinstance(merged, list) else [data]


ROUTES = [
    Route("/train", show_form, methods=["GET"]),
    Route("/train/plan", send_plan, methods=["POST"]),
    Route("/train/start", start, methods=["POST"]),
]
