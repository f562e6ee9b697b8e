"""The step Robot: a finished model, the robots that take it, and the zip for each."""

from dataclasses import dataclass
from typing import IO, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.activity import answer_with
from bakeoff.app.web.background_commands import BackgroundCommand
from bakeoff.app.web.downloads import sends_zip
from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.responses import Tree, changes, plain, show_page, text_of
from bakeoff.app.web.robot_zip import pack_for, read_own_device
from bakeoff.app.web.robots import ROBOTS, Robot
from bakeoff.app.web.run_rows import Row, make_row
from bakeoff.app.web.runs import find_run
from bakeoff.app.web.training_progress import find_source
from bakeoff.app.web.work_steps import ROBOT
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.errors import BakeoffError
from bakeoff.inference.device.run_export import find_export, read_network, read_run_file

MOST_MODELS = 30  # that can be chosen


@dataclass(frozen=True)
class RobotCard:
    """A robot beside the chosen model: its file is there, can be made, or fits not."""

    robot: Robot
    obstacle: str  # why it cannot run the network; "" if it can
    lack: str  # of photos that its maker's compiler needs; "" if there are enough
    has_file: bool
    errand: BackgroundCommand | None  # the last one that made its file

    @property
    def is_grey(self) -> bool:
        return bool(self.obstacle or self.lack)

    @property
    def is_being_made(self) -> bool:
        return self.errand is not None and self.errand.state == "runs" and not self.has_file

    @property
    def trouble(self) -> str:
        """Return why the file was not made."""
        errand = self.errand
        return errand.last_line if errand is not None and errand.state != "runs" and not self.has_file else ""


@plain
def show_robots(request: Request) -> Response:
    """Return the finished models to choose from, and the robots beside the chosen one; the newest without a choice."""
    done = [run for run in known_runs() if run.state == State.SUCCEEDED][:MOST_MODELS]
    wanted = request.query_params.get("run")
    run = find_run(wanted) if wanted else done[0] if done else None
    if run is not None and run.state != State.SUCCEEDED:
        raise NotFound(f"{make_row(run).name}: has not ended well, so there is no model to take along")
    return show_page(
        "web_robot.html.jinja", ROBOT, "Robot", models=[make_row(one) for one in done],
        row=make_row(run) if run else None, cards=list_cards(run) if run else [],
    )  # fmt: skip


def list_cards(run: KnownRun) -> list[RobotCard]:
    """Return those that take the model first, of these the ones whose file is there."""
    errands = {errand.commands[0]: errand for errand in reversed(background_commands.list_recent()) if errand.commands}
    network, device = _read_network(run), read_own_device(run)
    cards = [
        RobotCard(
            robot, robot.find_obstacle(network) if network is not None else "", _find_lack(robot, run),
            robot.option == device or bool(find_export(run, robot.option)), errands.get(tuple(_command(run, robot))),
        )
        for robot in ROBOTS.values()
    ]  # fmt: skip
    return sorted(cards, key=lambda card: (card.is_grey, not card.has_file))


def _find_lack(robot: Robot, run: KnownRun) -> str:
    examples = find_source(run).examples
    if examples is None or examples >= robot.least_photos:
        return ""
    return f"needs a model that has learned from at least {robot.least_photos} photos, and this one had {examples}"


def _read_network(run: KnownRun) -> Any:
    try:
        return read_network(read_run_file(run))
    except (BakeoffError, KeyError):  # the command says what is wrong
        return None


def _command(run: KnownRun, robot: Robot) -> list[str]:
    return ["bakeoff", "export", run.run_id or run.fingerprint, "--as", robot.option]


@changes
def make_file(request: Request, tree: Tree) -> Response:
    """Export a run for a robot, by the command that does so, unless the robot cannot run it."""
    run, robot = find_run(request.path_params["name"]), _find_robot(request)
    row: Row = make_row(run)
    network = _read_network(run)
    if network is not None and (obstacle := robot.find_obstacle(network)):
        raise NotFound(f"{robot.name} {obstacle}; train for it first")
    if lack := _find_lack(robot, run):
        raise NotFound(f"{robot.name} {lack}; label more photos, and train again")
    title = f"Make the file for {robot.name}"
    after = f"{ROBOT}?run={row.id}#{robot.option}"
    return answer_with(background_commands.begin(text_of(tree, "key"), title, [_command(run, robot)], after=after))


@sends_zip
def download(request: Request) -> tuple[IO[bytes], str]:
    return pack_for(find_run(request.path_params["name"]), _find_robot(request))


def _find_robot(request: Request) -> Robot:
    name = request.path_params["robot"]
    if name not in ROBOTS:
        raise NotFound(f"{name}: no such robot; it must be one of {', '.join(ROBOTS)}")
    return ROBOTS[name]


ROUTES = [
    Route("/robot", show_robots),
    Route("/runs/{name}/robots/{robot}", make_file, methods=["POST"]),
    Route("/runs/{name}/robots/{robot}/zip", download),
]
