"""Labels on the page: frames with their boxes, saved at once, and help from a tracker and from trained runs."""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bakeoff.app.web import background_commands
from bakeoff.app.web.activity import answer_with
from bakeoff.app.web.annotations import AnnotationFolder
from bakeoff.app.web.box_tracker import carry, has_tracker
from bakeoff.app.web.dataset_pages import answer_with_picture
from bakeoff.app.web.datasets import FOLDER
from bakeoff.app.web.label_troubles import find_slip
from bakeoff.app.web.presence import note_open
from bakeoff.app.web.responses import Tree, changes, plain, show_page, text_of
from bakeoff.app.web.work_steps import ENOUGH, ENOUGH_TO_TRY, PhotoCount, count_folder
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import ConfigError, DataError
from bakeoff.importing.datasets.pre_annotate import PixelBox
from bakeoff.learning.run_file.yaml_file import write_mapping

SCORE = re.compile(r"0?\.\d{1,3}|0|1|1\.0")
MOST_FOLDERS = 200
VOC = "pascal_voc"


@plain
def show_folders(request: Request) -> Response:
    """List the folders of data/raw/ that have pictures."""
    raw = workspace.RAW
    names = sorted(path.name for path in raw.iterdir() if path.is_dir()) if raw.is_dir() else []
    folders: list[tuple[str, PhotoCount]] = []
    refused: list[str] = []
    for name in names[:MOST_FOLDERS]:
        try:
            folders.append((AnnotationFolder(name).name, count_folder(name)))
        except DataError as error:  # a link that leads out, or a folder that is gone by now
            refused.append(str(error))
    listed = [(name, count) for name, count in folders if count.photos]
    return show_page("web_folders.html.jinja", "/labels", "Labels", folders=listed, refused=refused)


@plain
def show_editor(request: Request) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    done = [run for run in known_runs() if run.state == State.SUCCEEDED and run.run_id]
    return show_page(
        "web_labels.html.jinja", "/labels", f"Labels of {folder.name}", folder=folder.name,
        runs=[(run.run_id, f"{run.short} {run.status.name if run.status else ''}") for run in done],
        enough_to_try=ENOUGH_TO_TRY, enough=ENOUGH, has_tracker=has_tracker(),
        is_dataset=(FOLDER / f"{_option_name(folder)}.yaml").is_file(), option=_option_name(folder),
    )  # fmt: skip


@plain
def send_frames(request: Request) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    proposed = folder.list_proposed()
    labels = set(folder.list_labels())
    frames = [[name, folder.name_label(name) in labels, name in proposed] for name in folder.list_frames()]
    return JSONResponse({"frames": frames, "ignored": folder.list_ignored(), "classes": folder.list_classes()})


@plain
def send_frame(request: Request) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    return JSONResponse(folder.read(request.query_params.get("name", "")))


@changes
def note_presence(request: Request, tree: Tree) -> Response:
    """Return the photos that others have open, and note which one this tab has."""
    folder = AnnotationFolder(request.path_params["folder"])
    return JSONResponse({"taken": note_open(folder.root, text_of(tree, "tab")[:40], text_of(tree, "name"))})


@changes
def save_frame(request: Request, tree: Tree) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    return JSONResponse(folder.save(request.query_params.get("name", ""), tree))


@plain
def show_image(request: Request) -> Response:
    folder = AnnotationFolder(request.path_params["folder"])
    return answer_with_picture(folder.picture(request.query_params.get("name", "")), None)


@changes
def set_aside(request: Request, tree: Tree) -> Response:
    folder, name = AnnotationFolder(request.path_params["folder"]), text_of(tree, "name")
    moved = folder.take_back(name) if tree.get("back") is True else folder.ignore(name)
    return JSONResponse({"moved": moved})


@changes
def add_class(request: Request, tree: Tree) -> Response:
    """Add a class; of one that looks like another that is there, ask first."""
    folder, label = AnnotationFolder(request.path_params["folder"]), text_of(tree, "label")
    known = folder.list_classes()
    if label not in known and tree.get("sure") is not True and (other := find_slip(label, known)) is not None:
        return JSONResponse({"classes": known, "slip_of": other})
    return JSONResponse({"classes": folder.add_class(label)})


@changes
def track(request: Request, tree: Tree) -> Response:
    """Propose the boxes of a frame for those after it, up to one with a label, or to where the tracker is unsure."""
    folder, name = AnnotationFolder(request.path_params["folder"]), text_of(tree, "name")
    frames = folder.list_frames()
    if name not in frames:
        raise DataError(f"{name}: no such frame; it may have been ignored")
    first = frames.index(name)
    following = frames[first + 1 :]
    end = next((at for at, one in enumerate(following) if folder.annotation(one).is_file()), len(following))
    boxes = [PixelBox(**{**one, "score": None}) for one in folder.read(name)["boxes"]]
    if not boxes:
        raise DataError("the tracker needs a box to carry; draw one in this frame first")
    proposals: dict[str, list[Any]] = {}
    pictures = [folder.picture(one) for one in (name, *following[:end])]
    for frame, carried in zip(following[:end], carry(boxes, pictures), strict=False):
        proposals[frame] = carried
    folder.propose(proposals)
    return JSONResponse({"frames": [*proposals], "boxes": sum(map(len, proposals.values()))})


@changes
def ask_run(request: Request, tree: Tree) -> Response:
    """Let a trained run propose boxes for pictures without a label."""
    folder, run, score = (
        AnnotationFolder(request.path_params["folder"]),
        text_of(tree, "run"),
        text_of(tree, "score") or "0.5",
    )
    if not SCORE.fullmatch(score):
        raise DataError(f"score: must be between 0 and 1, got {score!r}")
    if run not in {known.run_id for known in known_runs()}:
        raise DataError(f"{run!r}: no such run; reload the page")
    command = ["bakeoff", "propose", run, folder.root.as_posix(), "--as", "coco", "--min-score", score]
    title = f"Propose boxes in {folder.name}"
    return answer_with(
        background_commands.begin(text_of(tree, "key"), title, [command], after=f"/labels/{folder.name}")
    )


@changes
def make_dataset(request: Request, tree: Tree) -> Response:
    """Write the option that reads a folder; frames without a label are left out."""
    from bakeoff.importing.datasets.detect_format import survey_folder

    folder = AnnotationFolder(request.path_params["folder"])
    file = FOLDER / f"{_option_name(folder)}.yaml"
    if file.exists():
        raise ConfigError(f"{file.as_posix()}: there already; it reads what is labelled now")
    survey, _ = survey_folder(folder.root, VOC)
    tree = {"kind": VOC, "path": folder.root.as_posix(), **survey.layout.settings, "unlabelled": "skip"}
    write_mapping(file, tree, head=f"# Labelled in a browser: {folder.name}.\n")
    return JSONResponse({"written": file.as_posix(), "goto": f"/train?data={file.stem}"})


def _option_name(folder: AnnotationFolder) -> str:
    return workspace.choose_option_name(None, folder.name, reserved="preset")


ROUTES = [
    Route("/labels", show_folders),
    Route("/labels/{folder}", show_editor),
    Route("/labels/{folder}/frames", send_frames),
    Route("/labels/{folder}/frame", send_frame, methods=["GET"]),
    Route("/labels/{folder}/frame", save_frame, methods=["PUT"]),
    Route("/labels/{folder}/here", note_presence, methods=["POST"]),
    Route("/labels/{folder}/image", show_image),
    Route("/labels/{folder}/aside", set_aside, methods=["POST"]),
    Route("/labels/{folder}/classes", add_class, methods=["POST"]),
    Route("/labels/{folder}/track", track, methods=["POST"]),
    Route("/labels/{folder}/propose", ask_run, methods=["POST"]),
    Route("/labels/{folder}/dataset", make_dataset, methods=["POST"]),
]
