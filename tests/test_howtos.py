"""Every how-to page is typed from its first line to its last, in one clone and in order: `make howtos`."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support import exporters
from support.doc_blocks import COMMANDS, ON_SITE, blocks_of
from support.drawing import pixels
from support.foreign_records import write_boxes, write_raw_clips
from support.howto_reader import ELSEWHERE, KEYS, Reader, commands_of, git, zip_folder
from support.imports import ROOT
from support.workspace_copy import TINY, Workspace

FOLDER = "docs/howto/"
TWO_STEPS = {"train": {"steps": 2, "batch_size": 4}}
FROM_NOTHING = {"init": {"weights": "none", "warm_start": []}}
DATA = {"data": "data: {use: digits, train_examples: 80, validation_examples: 40}"}
PIPELINE = ROOT / "tests/importing/api_config/files/tf2.config"
NOT_TYPED = {name for name in ELSEWHERE if name.endswith(".md")}
MANY = {"data": {"use": "digits", "train_examples": 200, "validation_examples": 40}}  # for shares of a curve


@dataclass(frozen=True)
class Page:
    """What the reader of a page has, and what he types besides it."""

    given: Callable[[Reader], None] = lambda reader: None
    shorter: Mapping[str, Any] = field(default_factory=lambda: TWO_STEPS)  # added to each block of params.yaml
    names: Mapping[str, str] = field(default_factory=dict)  # examples, such as how many runs, and what he types instead
    before: Mapping[str, Callable[[Reader], None]] = field(default_factory=dict)  # a line: what is done before it
    begins_in_a_clone: bool = True
    is_trained: bool = False  # whether the demo was trained before


def has(source: Callable[[Path], None], archive: str) -> Callable[[Reader], None]:
    """Return what puts a download of an exporter into the reader's home."""

    def give(reader: Reader) -> None:
        source(reader.home / "exported")
        zip_folder(reader.home / "exported", reader.home / "Downloads" / archive)

    return give


def draw_photographs(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        Image.fromarray(pixels(number, 96, 80)).save(folder / name)


def type_repro(reader: Reader) -> None:
    reader.type("dvc repro")


def has_label_studio(reader: Reader) -> None:
    has(exporters.label_studio_voc, "project-1.zip")(reader)


def unpack_and_train(reader: Reader) -> None:
    """The page goes on where images were missing, and with a first model."""
    exporters.label_studio_voc(reader.home / "Downloads/project-1")
    shutil.rmtree(reader.clone / "data/raw/field")
    for file in ("data/raw/field.dvc", "conf/data/field.yaml"):
        (reader.clone / file).unlink()


def before_propose(reader: Reader) -> None:
    draw_photographs(reader.clone / "data/raw/new", ["a.png", "b.png"])
    type_repro(reader)


def has_server(reader: Reader) -> None:
    git("init", "--bare", "--quiet", "--initial-branch=main", str(reader.home / "server.git"), folder=reader.home)


def has_server_and_dataset(reader: Reader) -> None:
    has_server(reader)
    has(exporters.cvat_coco, "field.zip")(reader)
    if reader.here == reader.clone:  # team.md begins with data that are imported
        reader.type("bakeoff import ~/Downloads/field.zip --name field")


def has_new_version(reader: Reader) -> None:
    upstream = reader.home / "upstream"
    git("clone", "--quiet", str(reader.clone), str(upstream), folder=reader.home)
    (upstream / "NEWS.md").write_text("A new version.\n")
    git("add", "NEWS.md", folder=upstream)
    git("commit", "--quiet", "-m", "A new version", folder=upstream)
    git("remote", "add", "upstream", str(upstream), folder=reader.clone)
    (reader.clone / "notes.txt").write_text("ours\n")


def has_clips(reader: Reader) -> None:
    take_presets(reader)
    write_raw_clips(reader.clone / "data/raw/clips", frames=8, side=224)


def has_flowers(reader: Reader) -> None:
    take_presets(reader)
    for number, name in enumerate(("daisy", "tulip")):
        for side, count in (("train", 4), ("validation", 2)):
            names = [f"{10 * number + place}.jpg" for place in range(count)]
            draw_photographs(reader.clone / "data/raw/flowers" / side / name, names)
    (reader.clone / "data/raw/flowers/labels.txt").write_text("daisy\ntulip\n")


def has_old_records(reader: Reader) -> None:
    take_presets(reader)
    (reader.clone / "path/to").mkdir(parents=True)
    shutil.copy(PIPELINE, reader.clone / "path/to/pipeline.config")
    write_boxes(reader.clone / "data/raw/old", "train.record-00000-of-00001", "val.record-00000-of-00001",
                "label_map.pbtxt", 1)  # fmt: skip


def has_ftc_records(reader: Reader) -> None:
    take_presets(reader)
    write_boxes(reader.clone / "data/raw/ftc", "train_dataset.record-00000-00001", "eval_dataset.record-00000-00001",
                "label.pbtxt", 0)  # fmt: skip


def take_presets(reader: Reader) -> None:
    """Take back what makes the demo small: the page is about a preset."""
    reader.write_params(dict.fromkeys(("model", "lr", "optimizer", "train", "export"), "preset"))


def has_a_store(reader: Reader) -> None:
    (reader.clone / ".venv").mkdir(exist_ok=True)
    reader.type(f"dvc remote add --default store {reader.home / 'store'}")
    (reader.clone / "mlartifacts").mkdir(exist_ok=True)


def has_many_images(reader: Reader) -> None:
    draw_photographs(reader.clone / "data/new", [f"{number}.png" for number in range(60)])
    reader.write_params(MANY)
    reader.type("dvc repro build_records")


def run_a_sweep(reader: Reader) -> None:
    reader.type("bakeoff sweep seed=3,4 --until render_config --quiet")


def name_own_experiment(reader: Reader) -> None:
    """In the own clone: the page was in a team mate's."""
    reader.here = reader.clone
    name_experiment(reader)


def name_experiment(reader: Reader) -> None:
    reader.type("dvc exp run --temp -n tall-kite -S seed=3")


SERVER = {"URL": "~/server.git", "/mnt/share/store": "~/store"}
FTC = {"train": {"steps": 2, "batch_size": 2, **FROM_NOTHING}}
SMALL_CLIPS = {
    "model": {"use": "s3dg_small"},
    "train": {"phases": [{"name": "logits", "steps": 2}], **FROM_NOTHING},
}
PAGES = {
    "bad-model.md": Page(is_trained=True),
    "choose-network.md": Page(is_trained=True, given=lambda reader: reader.type("dvc exp run --temp -S seed=3")),
    "coral.md": Page(),
    "cvat.md": Page(has(exporters.cvat_coco, "task_12.zip")),
    "free-disk.md": Page(
        has_a_store,
        is_trained=True,
        before={"bakeoff sweep prune --keep 2": run_a_sweep, "dvc push --all-commits": name_experiment},
    ),
    "from-ftc-ml.md": Page(has_ftc_records, shorter=FTC),
    "from-inception.md": Page(
        has_flowers, shorter={"model": {"use": "cnn_small"}, "train": {"steps": 2, "batch_size": 4, **FROM_NOTHING}}
    ),
    "from-object-detection-api.md": Page(has_old_records, shorter=FTC | {"lr": {"warmup_steps": 1}}),
    "from-s3dg.md": Page(has_clips, shorter=SMALL_CLIPS),
    "ftc-sdk.md": Page(),
    "gpu-linux.md": Page(),
    "gpu-not-used.md": Page(),
    "how-long.md": Page(is_trained=True),
    "how-many-images.md": Page(
        has_many_images, names={"bakeoff curve": "bakeoff curve --seeds 1 --shares 0.25,0.5,1"}, is_trained=True
    ),
    "label-studio.md": Page(
        has_label_studio,
        before={
            "bakeoff import ~/Downloads/project-1 --name field": unpack_and_train,
            "bakeoff propose a1b2c3d4 data/raw/new --as coco": before_propose,
        },
    ),
    "learning-rate.md": Page(
        lambda reader: reader.type("dvc repro build_records"), names={"--trials 20": "--trials 2"}
    ),
    "limelight.md": Page(),
    "macos.md": Page(begins_in_a_clone=False),
    "own-repository.md": Page(has_server_and_dataset, begins_in_a_clone=False, names=SERVER),
    "phone.md": Page(lambda reader: draw_photographs(reader.clone, ["photo.jpg"])),
    "roboflow.md": Page(has(exporters.roboflow_coco, "field.v3i.coco.zip")),
    "team.md": Page(
        has_server_and_dataset,
        names=SERVER,
        is_trained=True,
        before={"dvc exp push origin tall-kite": name_own_experiment},
    ),
    "two-boxes.md": Page(lambda reader: draw_photographs(reader.clone, ["field.jpg"]), is_trained=True),
    "upgrade.md": Page(has_new_version, is_trained=True),
    "windows.md": Page(begins_in_a_clone=False),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's repository, with a variant that takes seconds, and a history of two commits.

    DVC reads every commit of a history before it pushes all of them, which takes minutes where there are a thousand.
    """
    folder = tmp_path_factory.mktemp("project") / "bakeoff"
    git("clone", "--quiet", str(ROOT), str(folder), folder=ROOT)
    git("checkout", "--quiet", "--orphan", "short", folder=folder)
    git("commit", "--quiet", "--message", "The project", folder=folder)
    git("branch", "--force", "--move", "main", folder=folder)
    params = (folder / "params.yaml").read_text(encoding="utf-8")
    for key, line in (TINY | DATA).items():
        params = re.sub(rf"^{key}:.*$", line, params, flags=re.MULTILINE)
    (folder / "params.yaml").write_text(params, encoding="utf-8")
    Workspace(folder).commit()
    return folder


@pytest.fixture(scope="module")
def trained(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the demo was trained."""
    clone = tmp_path_factory.mktemp("trained") / "clone"
    git("clone", "--quiet", str(project), str(clone), folder=project)
    workspace = Workspace(clone)
    workspace.run("bakeoff", "repro")
    workspace.commit()
    return clone


def test_every_page_is_typed_or_has_its_reason() -> None:
    there = {Path(page).name for page in ON_SITE if page.startswith(FOLDER)}
    assert {*PAGES, *NOT_TYPED} == there and not {*PAGES} & NOT_TYPED


def test_every_block_of_a_page_that_sets_a_value_can_be_put_into_params() -> None:
    """A block in another language would be passed over by the reader."""
    passed_over = {
        str(block)
        for name in PAGES
        for block in blocks_of(FOLDER + name)
        if block.language == "yaml" and not KEYS.match(block.text)
    }
    assert not passed_over


def test_what_is_left_out_is_on_a_page() -> None:
    blocks = [block for name in (*PAGES, *NOT_TYPED) for block in blocks_of(FOLDER + name)]
    lines = [line for block in blocks if block.language in COMMANDS for line in commands_of(block)]
    starts = {*ELSEWHERE} - NOT_TYPED
    assert not [start for start in starts if not any(line.startswith(start) for line in lines)]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_can_be_typed_from_its_first_line_to_its_last(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    page, project = PAGES[name], request.getfixturevalue("project")
    clone = tmp_path / "clone"
    if page.is_trained:
        shutil.copytree(request.getfixturevalue("trained"), clone, symlinks=True)
    elif page.begins_in_a_clone:
        git("clone", "--quiet", str(project), str(clone), folder=tmp_path)
    reader = Reader(tmp_path, clone, page.shorter, {"<this repository>": str(project), **page.names})
    reader.here = clone if page.begins_in_a_clone else tmp_path
    page.given(reader)
    reader.read(FOLDER + name, page.before)
    commands = [line for block in blocks_of(FOLDER + name) if block.language in COMMANDS for line in commands_of(block)]
    assert len(reader.typed) + len(reader.left_out) >= len([line for line in commands if "--watch" not in line])
    print(f"{name}: {len(commands)} commands, of which {len(reader.left_out)} are left out: {reader.left_out}")
    assert re.search(r"^(experiment|data|model):", (reader.here / "params.yaml").read_text(encoding="utf-8"), re.M)
