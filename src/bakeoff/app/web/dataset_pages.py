"""The datasets: what each holds, pictures of it, and new ones from zips, folders and films."""

import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands, uploads
from bakeoff.app.web.activity import answer_with
from bakeoff.app.web.datasets import (
    combine,
    option_file,
    option_of,
    read_contents,
    recall_contents,
)
from bakeoff.app.web.refusals import NotFound
from bakeoff.app.web.responses import Tree, changes, plain, show_page, show_report, text_of
from bakeoff.app.web.safe_paths import require_inside
from bakeoff.dataset.building.image_check import RejectedItem, check_image, encode_stored, read_image
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError, DataError
from bakeoff.foundation.html import template
from bakeoff.importing.datasets.unlabelled import IMAGES, UNLABELLED, has_no_labels, open_set
from bakeoff.inference.predict.read_images import is_video

PICTURES = 24  # on a page
SIDE = 320  # pixels of a small picture
MOST_CLASSES = 60
SECONDS = re.compile(r"\d{1,5}(\.\d{1,3})?")


@plain
def show_summary(request: Request) -> Response:
    """Return what a dataset holds as a part of the page, which need not wait for it."""
    name = request.path_params["name"]
    tree = option_of(name)
    contents, trouble = None, ""
    try:
        contents = None if "merge" in tree else read_contents(name)
    except BakeoffError as error:
        trouble = str(error)
    html = template.render(
        "web_data_summary.html.jinja", name=name, contents=contents, trouble=trouble, merged=tree.get("merge", []),
        path=str(tree.get("path", "")), most=MOST_CLASSES,
    )  # fmt: skip
    return HTMLResponse(str(html))


@plain
def show_dataset(request: Request) -> Response:
    name, text = request.path_params["name"], request.query_params.get("page", "1")
    contents = read_contents(name)
    pages = max(1, -(-len(contents.pictures) // PICTURES))
    page = min(max(1, int(text) if text.isdecimal() and len(text) < 9 else 1), pages)
    first = (page - 1) * PICTURES
    shown = [*enumerate(contents.pictures)][first : first + PICTURES]
    return show_page(
        "web_dataset.html.jinja", "/photos", name, name=name, contents=contents, shown=shown, page=page, pages=pages,
        option=option_file(name).read_text(encoding="utf-8"),
    )  # fmt: skip


@plain
def show_picture(request: Request) -> Response:
    """Return an image of a dataset, small, and encoded anew, whatever its file holds besides."""
    name, text = request.path_params["name"], request.path_params["number"]
    pictures = recall_contents(name).pictures  # of the page that shows it
    if not text.isdecimal() or len(text) > 9 or int(text) >= len(pictures):
        raise NotFound(f"{name}: has no picture {text}")
    picture = pictures[int(text)]
    return answer_with_picture(require_inside(picture.root, picture.path), SIDE)


def answer_with_picture(path: Path, side: int | None) -> Response:
    try:
        data = read_image(path)
        checked = check_image(data, side)
        jpeg = encode_stored(data, checked, side)
    except RejectedItem as error:
        raise DataError(f"{path.name}: {error}") from None
    headers = {"cache-control": "private, max-age=3600", "x-size": f"{checked.width}x{checked.height}"}
    return Response(jpeg, media_type="image/jpeg", headers=headers)


@plain
def show_records(request: Request) -> Response:
    if not workspace.RECORDS_PAGE.is_file():
        raise NotFound("no records have been built yet; `dvc repro build_records` builds them")
    return show_report(workspace.RECORDS_PAGE)


@changes
def bring_in(request: Request, tree: Tree) -> Response:
    """Make a dataset of an upload, or of a folder that lies in data/raw/ already."""
    key, name = text_of(tree, "key"), text_of(tree, "name")
    called = ["--name", name] if name else []
    if folder := text_of(tree, "folder"):
        path = require_inside(workspace.RAW, folder)
        command = ["bakeoff", "import", path.as_posix(), *called]
        return answer_with(background_commands.begin(key, f"Read {path.as_posix()}", [command], after="/photos"))
    path = uploads.take_whole(text_of(tree, "upload"), text_of(tree, "file"))
    own = path.relative_to(workspace.main_workspace()).as_posix()
    if path.is_file() and not path.name.lower().endswith(".zip"):
        return answer_with(_take_frames(tree, key, path, own))
    chosen = text_of(tree, "as") or (UNLABELLED if has_no_labels(path) else "")
    kind = ["--as", chosen] if chosen else []
    command = ["bakeoff", "import", own, *called, *kind]
    return answer_with(background_commands.begin(key, f"Import {path.name}", [command], after="/photos"))


def _take_frames(tree: Tree, key: str, path: Path, own: str) -> background_commands.BackgroundCommand:
    if not is_video(path):
        raise DataError(f"{path.name}: must be a zip, a folder or a film")
    every = text_of(tree, "every") or "1"
    if not SECONDS.fullmatch(every):
        raise DataError(f"seconds between pictures: must be a number such as 0.5, got {every!r}")
    from bakeoff.importing.datasets.video_frames import name_film

    name = text_of(tree, "name")
    folder = open_set(workspace.choose_option_name(name, "", reserved="preset")) if name else None
    command = ["bakeoff", "frames", own, "--every", every]
    command += ["--out", (folder / IMAGES).as_posix()] if folder else []
    after = f"/labels/{folder.name if folder else name_film(path)}"
    return background_commands.begin(key, f"Pictures of {path.name}", [command], after=after)


@changes
def write_combination(request: Request, tree: Tree) -> Response:
    file = combine(text_of(tree, "names").splitlines(), text_of(tree, "name"))
    return JSONResponse({"written": file.as_posix(), "goto": "/photos"})


ROUTES = [
    Route("/data-report", show_records),
    Route("/data-import", bring_in, methods=["POST"]),
    Route("/data-combine", write_combination, methods=["POST"]),
    Route("/data/{name}", show_dataset),
    Route("/data/{name}/summary", show_summary),
    Route("/data/{name}/pictures/{number}", show_picture),
]
