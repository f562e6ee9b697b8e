"""Photos: brought in one by one, seen as they come, left out where they are alike or blurred."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web import uploads
from bakeoff.app.web.annotations import AnnotationFolder
from bakeoff.app.web.dataset_pages import SIDE, answer_with_picture
from bakeoff.app.web.datasets import chosen_data, list_datasets, list_unread_folders
from bakeoff.app.web.photo_sets import NoPhoto, find_set, list_marks
from bakeoff.app.web.qr_code import MOST_BYTES, draw_qr_code
from bakeoff.app.web.refusals import BadRequest, NotFound
from bakeoff.app.web.responses import Tree, changes, plain, show_page, text_of
from bakeoff.app.web.work_steps import PHOTOS, count_folder, count_sets
from bakeoff.dataset.sources.paths import make_printable
from bakeoff.foundation import workspace
from bakeoff.foundation.html.svg import Element
from bakeoff.importing.datasets.unlabelled import IMAGES

MOST_ASKED = 20_000  # files at once
PHOTOS_ON_A_PAGE = 120
PROPOSED_NAME = "photos"


@dataclass(frozen=True)
class Phone:
    address: str
    drawing: Element


@plain
def show_photos(request: Request) -> Response:
    """Return the page on which photos are brought in, with the sets that are here."""
    sets = {name: count for name, count in count_sets().items() if count.photos}
    return show_page(
        "web_photos.html.jinja", PHOTOS, "Photos", sets=sets, proposed=propose_name(), phone=_find_phone(request),
        names=list_datasets(), unread=list_unread_folders(), chosen=chosen_data(),
        has_report=workspace.RECORDS_PAGE.is_file(),
    )  # fmt: skip


def _find_phone(request: Request) -> Phone | None:
    """Return how a phone gets here; None where the server lets no other machine in."""
    address = request.app.state.door.make_phone_address(PHOTOS)
    return Phone(address, draw_qr_code(address)) if address and len(address) <= MOST_BYTES else None


def propose_name() -> str:
    """Return the set to which photos came last, else a new name."""
    folders = [path for path in workspace.RAW.iterdir() if (path / IMAGES).is_dir()] if workspace.RAW.is_dir() else []
    own = [path for path in folders if (workspace.CONF / "data" / f"{path.name}.yaml").is_file()]
    return max(own, key=lambda path: (path / IMAGES).stat().st_mtime_ns).name if own else PROPOSED_NAME


@changes
def send_known(request: Request, tree: Tree) -> Response:
    """Return which of the files that a browser holds are in a set already, so that it need not send them."""
    files = tree.get("files")
    if not isinstance(files, list) or len(files) > MOST_ASKED:
        raise BadRequest(f"files: must be a list of at most {MOST_ASKED:,}; choose fewer at once")
    return JSONResponse({"known": find_set(text_of(tree, "set")).find_known([_parse_file(file) for file in files])})


def _parse_file(file: Any) -> dict[str, Any]:
    tree = file if isinstance(file, dict) else {}
    if not isinstance(tree.get("size"), int):
        raise BadRequest("files: must have a name, a size and a digest each; reload the page")
    return {"name": text_of(tree, "name"), "size": tree["size"], "digest": text_of(tree, "digest")}


@changes
def take_photo(request: Request, tree: Tree) -> Response:
    """Take a file that was sent into a set; of a file that is no photo return what can be done with it."""
    name, upload, sent = text_of(tree, "set"), text_of(tree, "upload"), text_of(tree, "file")
    photos = find_set(name)
    try:
        taken = photos.take(uploads.take_whole(upload, sent), make_printable(Path(sent).name))
    except NoPhoto as error:
        return JSONResponse({"problem": str(error), "remedy": error.remedy}, 400)
    uploads.forget(upload)
    return JSONResponse({"photo": taken.photo, "marks": taken.marks, "new": taken.is_new})


@plain
def show_set(request: Request) -> Response:
    """Return the photos of a set, or those alone of which there is something to notice."""
    name, query = request.path_params["name"], request.query_params
    folder = AnnotationFolder(name)
    frames, marks = folder.list_frames(), list_marks(name)
    only_marked = query.get("marked") == "yes"
    listed = [frame for frame in frames if frame in marks] if only_marked else frames
    pages = max(1, -(-len(listed) // PHOTOS_ON_A_PAGE))
    text = query.get("page", "1")
    page = min(max(1, int(text) if text.isdecimal() and len(text) < 9 else 1), pages)
    labels = set(folder.list_labels())
    shown = [
        (frame, folder.name_label(frame) in labels, marks.get(frame, ()))
        for frame in listed[(page - 1) * PHOTOS_ON_A_PAGE : page * PHOTOS_ON_A_PAGE]
    ]
    return show_page(
        "web_set.html.jinja", PHOTOS, name, name=name, count=count_folder(name), shown=shown, page=page, pages=pages,
        marked=len(marks.keys() & set(frames)), only_marked=only_marked, ignored=folder.list_ignored(),
    )  # fmt: skip


@plain
def show_thumbnail(request: Request) -> Response:
    folder = AnnotationFolder(request.path_params["name"])
    return answer_with_picture(folder.picture(request.query_params.get("name", "")), SIDE)


@changes
def leave_out_marked(request: Request, tree: Tree) -> Response:
    """Move the photos that are marked to `ignored/`."""
    folder = AnnotationFolder(request.path_params["name"])
    marked = [frame for frame in list_marks(folder.name) if (folder.root / frame).is_file()]
    for frame in marked:
        folder.ignore(frame)
    return JSONResponse({"moved": len(marked), "goto": f"{PHOTOS}/{folder.name}"})


@changes
def name_as_film(request: Request, tree: Tree) -> Response:
    """Give a file that was sent the name of a film, for what it holds is one."""
    path = uploads.take_whole(text_of(tree, "upload"), text_of(tree, "file"))
    if not path.is_file():
        raise NotFound(f"{path.name}: is a folder")
    named = path.with_suffix(".mp4")
    shutil.move(path, named)
    return JSONResponse({"file": named.relative_to(uploads.folder_of(text_of(tree, "upload"))).as_posix()})


ROUTES = [
    Route("/photos", show_photos),
    Route("/photos/known", send_known, methods=["POST"]),
    Route("/photos/take", take_photo, methods=["POST"]),
    Route("/photos/film", name_as_film, methods=["POST"]),
    Route("/photos/{name}", show_set),
    Route("/photos/{name}/small", show_thumbnail),
    Route("/photos/{name}/leave-out-marked", leave_out_marked, methods=["POST"]),
]
