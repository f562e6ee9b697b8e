"""Two runs or more side by side, and whether one is better, as `compare` and `better` print it."""

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bakeoff.app.web.responses import plain, show_page, show_report
from bakeoff.app.web.run_rows import make_row
from bakeoff.app.web.runs import find_run
from bakeoff.foundation.errors import BakeoffError, WorkspaceError

if TYPE_CHECKING:
    from bakeoff.experiments.compare.load_runs import Gathered

MOST = 12  # runs at once
MOST_VERDICTS = 4


@plain
def show_comparison(request: Request) -> Response:
    from bakeoff.experiments.compare.load_runs import gather

    names = _names(request)
    runs = [find_run(name) for name in names]
    ids = [run.run_id or run.fingerprint for run in runs]
    gathered = gather()
    verdicts = [_judge(gathered, ids[0], other) for other in ids[1 : 1 + MOST_VERDICTS]]
    lines = [f"bakeoff compare {shlex.join(ids)}", *(f"bakeoff better {ids[0]} {other}" for other in ids[1:])]
    return show_page(
        "web_comparison.html.jinja", "/models", f"{len(ids)} runs compared", rows=[make_row(run) for run in runs],
        verdicts=verdicts, lines=lines[: 1 + MOST_VERDICTS],
        table="/compare/table?" + urlencode([("run", name) for name in names]),
    )  # fmt: skip


@plain
def show_table(request: Request) -> Response:
    """Return the page that `bakeoff compare --html` writes."""
    from bakeoff.experiments.compare.comparison_report import write_page
    from bakeoff.experiments.compare.comparison_table import make_table
    from bakeoff.experiments.compare.load_runs import gather
    from bakeoff.experiments.compare.select_runs import select_named

    ids = [run.run_id for run in map(find_run, _names(request))]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "compare.html"
        write_page(file, make_table(select_named(gather(), ids)))
        return show_report(file)


def _names(request: Request) -> list[str]:
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not 2 <= len(names) <= MOST:
        raise WorkspaceError(f"compare: must be given 2 to {MOST} runs, got {len(names)}; go back and tick others")
    return names


def _judge(gathered: "Gathered", one: str, other: str) -> tuple[str, list[str]]:
    """Return whether the other is better, and the first lines that `bakeoff better` prints."""
    from bakeoff.experiments.compare.verdict_text import describe_verdict, judge_named

    try:
        verdict = judge_named(gathered, (one, other))
    except BakeoffError as error:
        return "not known", [str(error)]
    better = {"A": f"{one[:8]} is better", "B": f"{other[:8]} is better"}
    return better.get(verdict.difference.better or "", "no difference shown"), [*describe_verdict(verdict)][:4]


ROUTES = [Route("/compare", show_comparison), Route("/compare/table", show_table)]
