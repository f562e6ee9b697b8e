"""What a finished run is worth: in words, its costliest mistake with pictures, and its answers at any score.

The answers to validation photos are those that the evaluation kept. Photos that are sent are answered by the model, in
a process of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web.dataset_pages import answer_with_picture
from bakeoff.app.web.datasets import option_of
from bakeoff.app.web.model_process import ModelProcess
from bakeoff.app.web.refusals import BadRequest, NotFound
from bakeoff.app.web.responses import plain
from bakeoff.app.web.run_rows import make_row
from bakeoff.app.web.runs import find_run
from bakeoff.app.web.safe_paths import own_folder, require_file
from bakeoff.evaluation.headline_json import FIRST
from bakeoff.evaluation.metric_meanings import meaning_of
from bakeoff.experiments.runs.curve_drawings import read_last_values
from bakeoff.experiments.runs.list_runs import KnownRun, known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError
from bakeoff.foundation.html import template
from bakeoff.tracking.journal.entries import ParamsEntry
from bakeoff.tracking.journal.journal import entries
from bakeoff.tracking.journal.journal_folder import FILE as JOURNAL

if TYPE_CHECKING:
    from bakeoff.experiments.compare.found_words import DetectorJudgement

MOST_PICTURES = 6  # of the costliest mistake
MOST_PHOTOS = 60  # that the slider shows, those with most mistakes first
LEAST_SCORE = 0.05  # of boxes that a browser gets
MOST_BYTES = 40_000_000  # of a photo that is sent
INTERVAL = "evaluation/interval."


@dataclass(frozen=True)
class MeasuredNumber:
    name: str
    meaning: str
    value: str
    interval: str  # of 95 %; "" where there is none


@dataclass(frozen=True)
class MistakePicture:
    number: int  # of the example
    file: str
    editor: str  # address of the photo's label; "" where it is not in a folder of data/raw/
    boxes: list[list[Any]]  # left, top, right, bottom, words, kind


@plain
def show_judgement(request: Request) -> Response:
    """Return the judgement of a run as a part of its page, which need not wait for it."""
    from bakeoff.experiments.compare.found_words import describe_answers, judge_boxes

    run = find_run(request.path_params["name"])
    file = find_examples_of(run)
    boxes = judge_boxes(file)
    point = boxes.count_at(boxes.threshold) if boxes else None
    mistake = next((one for one in boxes.mistakes if one.count), None) if boxes else None
    html = template.render(
        "web_judgement.html.jinja", row=make_row(run), sentences=point.sentences if point else describe_answers(file),
        mistake=mistake, pictures=_show_mistake(run, boxes, mistake.name) if boxes and mistake else [],
        shares=_list_shares(point) if point else [], numbers=list_numbers(run),
        score=f"{boxes.threshold:.2f}" if boxes else "", has_before=_find_before(run) is not None,
    )  # fmt: skip
    return HTMLResponse(str(html))


def _show_mistake(run: KnownRun, boxes: "DetectorJudgement", kind: str) -> list[MistakePicture]:
    pictures = []
    for number, wrong in boxes.show_mistake(kind, MOST_PICTURES):
        file = boxes.rows[number]["file"]
        words = [(_describe(box), "wrong" if "score" in box else "missed", box) for box in wrong]
        drawn = [[box["xmin"], box["ymin"], box["xmax"], box["ymax"], text, kind] for text, kind, box in words]
        pictures.append(MistakePicture(number, file, _find_editor(run, file), drawn))
    return pictures


def _describe(box: Mapping[str, Any]) -> str:
    return f"{box['label']} {box['score']:.2f}" if "score" in box else str(box["label"])


def _list_shares(point: Any) -> list[MeasuredNumber]:
    """Return the two shares of the sentences with their intervals."""
    from bakeoff.experiments.compare.found_words import find_interval

    shares = (
        ("objects found", point.found, point.true, "Of the objects in the photos, how many it finds."),
        ("boxes right", point.given - point.wrong, point.given, "Of the boxes that it gives, how many are right."),
    )
    return [
        MeasuredNumber(name, meaning, f"{part:,} of {whole:,}", "{:.0%} to {:.0%}".format(*find_interval(part, whole)))
        for name, part, whole, meaning in shares
        if whole
    ]


def list_numbers(run: KnownRun) -> list[MeasuredNumber]:
    """Return the numbers of the run's evaluation that one looks at first."""
    last = read_last_values(run.run_id)
    numbers = []
    for name in (name for name in FIRST if f"evaluation/{name}" in last):
        low, high = last.get(f"{INTERVAL}{name}.low"), last.get(f"{INTERVAL}{name}.high")
        interval = f"{low:.3f} to {high:.3f}" if low is not None and high is not None else ""
        meaning = meaning_of(name)
        value = f"{last[f'evaluation/{name}']:.3f}"
        numbers.append(MeasuredNumber(meaning.heading or name, meaning.text, value, interval))
    return numbers


def find_examples_of(run: KnownRun) -> Path:
    """Return the examples of a run's evaluation, wherever they are. Raises WorkspaceError."""
    from bakeoff.experiments.compare.examples import find_examples
    from bakeoff.experiments.compare.load_runs import gather
    from bakeoff.experiments.compare.run_row import Contender
    from bakeoff.experiments.compare.select_runs import select_named

    if run.state != State.SUCCEEDED or not run.run_id:
        raise NotFound(f"{make_row(run).name}: has no evaluation yet")
    journal = workspace.journals() / run.run_id
    here = Contender(
        run.run_id, run.label, run.state.value, {}, {}, experiment=run.status.experiment if run.status else None,
        journal=journal if (journal / JOURNAL).is_file() else None,
    )  # fmt: skip
    try:
        return find_examples(here, "")
    except BakeoffError:  # the store may have them, or the run that made this one's result
        gathered = gather()
        [known] = select_named(gathered, [run.run_id])
        return find_examples(gathered.maker_of(known), gathered.target.address)


@plain
def send_validation(request: Request) -> Response:
    """Return the answers to validation photos, and what they come to at each score of the slider."""
    from bakeoff.experiments.compare.found_words import STEPS

    boxes = _require_boxes(find_run(request.path_params["name"]))
    order = sorted(range(len(boxes.rows)), key=lambda number: boxes.rows[number]["score"] or 0.0)
    photos = [_describe_photo(boxes, number) for number in order[:MOST_PHOTOS]]
    return JSONResponse({
        "classes": boxes.classes, "threshold": boxes.threshold, "photos": photos, "of": len(boxes.rows),
        "chosen": boxes.count_at(boxes.threshold).sentences,
        "steps": [[score, boxes.count_at(score).sentences] for score in STEPS],
    })  # fmt: skip


def _require_boxes(run: KnownRun) -> "DetectorJudgement":
    from bakeoff.experiments.compare.found_words import judge_boxes

    boxes = judge_boxes(find_examples_of(run))
    if boxes is None:
        raise BadRequest("only a detector's answers are boxes; the report has those of other models")
    return boxes


def _describe_photo(boxes: "DetectorJudgement", number: int) -> dict[str, Any]:
    row, right = boxes.rows[number], boxes.list_right(number)
    found = [
        {**{side: round(box[side], 1) for side in SIDES}, "label": box["label"], "score": round(box["score"], 3),
         "right": is_right}
        for box, is_right in zip(row["prediction"], right, strict=True)
        if box["score"] >= LEAST_SCORE
    ]  # fmt: skip
    truth = [{**{side: round(box[side], 1) for side in SIDES}, "label": box["label"]} for box in row["truth"]]
    return {"number": number, "file": row["file"], "found": found, "truth": truth}


SIDES = ("xmin", "ymin", "xmax", "ymax")


@plain
def show_photo(request: Request) -> Response:
    """Return a photo of a run's evaluation."""
    run, text = find_run(request.path_params["name"]), request.path_params["number"]
    rows = _require_boxes(run).rows
    if not text.isdecimal() or len(text) > 9 or int(text) >= len(rows):
        raise NotFound(f"photo {text}: the evaluation has none of this number")
    file = rows[int(text)]["file"]
    folder = _find_folder(run, file)
    if folder is None:
        raise NotFound(f"{file}: is no longer in data/raw/")
    return answer_with_picture(require_file(*folder), None)


def _find_folder(run: KnownRun, file: str) -> tuple[Path, str] | None:
    """Return the folder that the run's data were read from, and the name of a photo in it; None where it is gone."""
    params = read_params(run.run_id)
    first, _, rest = file.partition("/")
    places = [(Path(params.get("data.path") or workspace.RAW), file), (workspace.RAW, file)]
    if rest and (merged := option_of(first).get("path") if _is_option(first) else None):
        places.insert(0, (Path(str(merged)), rest))  # of data that are merged, the first part names the option
    return next(((root, name) for root, name in places if _is_raw(root) and (root / name).is_file()), None)


def _is_option(name: str) -> bool:
    return (workspace.CONF / "data" / f"{name}.yaml").is_file()


def _is_raw(root: Path) -> bool:
    return root.resolve().is_relative_to(workspace.RAW.resolve())


def read_params(run_id: str) -> dict[str, str]:
    """Return what a run was asked for, as its journal has it."""
    folder = workspace.journals() / run_id
    if not run_id or not (folder / JOURNAL).is_file():
        return {}
    values: dict[str, str] = {}
    for entry, _ in entries(folder, 0):
        if isinstance(entry, ParamsEntry):
            values |= entry.values
    return values


def _find_editor(run: KnownRun, file: str) -> str:
    found = _find_folder(run, file)
    if found is None:
        return ""
    root, name = found
    inside = (root / name).relative_to(workspace.RAW)
    return f"/labels/{inside.parts[0]}#{'/'.join(inside.parts[1:])}"


def _find_before(run: KnownRun) -> KnownRun | None:
    """Return the run that had ended well before this one began to be the newest."""
    done = [one for one in known_runs() if one.state == State.SUCCEEDED and one.run_id]
    earlier = [one for one in done if one.updated < run.updated and one.run_id != run.run_id]
    return max(earlier, key=lambda one: one.updated, default=None)


@plain
def show_against_last(request: Request) -> Response:
    """Return whether a run is better than the one before it, as `bakeoff better` finds it, in words."""
    from bakeoff.experiments.compare.load_runs import gather
    from bakeoff.experiments.compare.verdict_text import judge_named

    run = find_run(request.path_params["name"])
    before = _find_before(run)
    if before is None:
        raise NotFound("there is no earlier run that ended well")
    verdict, trouble = None, ""
    try:
        verdict = judge_named(gather(), (before.run_id, run.run_id))
    except BakeoffError as error:
        trouble = str(error)
    html = template.render(
        "web_against_last.html.jinja", row=make_row(run), before=make_row(before), verdict=verdict, trouble=trouble,
        lines=[f"bakeoff better {before.run_id} {run.run_id}"],
    )  # fmt: skip
    return HTMLResponse(str(html))


_models = ModelProcess()


async def answer_photo(request: Request) -> Response:
    """Return the boxes that a run's model gives in a photo that was sent."""
    run = await run_in_threadpool(find_run, request.path_params["name"])
    if run.state != State.SUCCEEDED or not run.run_id:
        raise NotFound(f"{make_row(run).name}: has not ended well, so it has no model to ask")
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BYTES:
            raise BadRequest(f"a photo must have at most {MOST_BYTES // 1_000_000} MB; send a smaller one")
    return JSONResponse(await run_in_threadpool(_models.answer, run.run_id, bytes(content), own_folder("asked")))


ROUTES = [
    Route("/runs/{name}/judgement", show_judgement),
    Route("/runs/{name}/against-last", show_against_last),
    Route("/runs/{name}/validation", send_validation),
    Route("/runs/{name}/photos/{number}", show_photo),
    Route("/runs/{name}/predict", answer_photo, methods=["POST"]),
]
