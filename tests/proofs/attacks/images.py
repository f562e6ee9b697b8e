"""Any bytes in the place of an image or a film become a record, an answer, a picture of the page, or are named.

Each image takes one of the ways in: build_records, import, predict, the pictures of a film, or the page.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from bakeoff.app.web.dataset_pages import answer_with_picture
from bakeoff.dataset.building.validate import examine, make_record
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.dataset import Dataset
from bakeoff.foundation.errors import DataError
from bakeoff.foundation.progress import progress
from bakeoff.importing.datasets.import_dataset import Request, bring_in
from bakeoff.importing.datasets.video_frames import take_frames
from bakeoff.inference.predict.light_runtime import Small
from bakeoff.inference.predict.read_images import sources
from bakeoff.inference.predict.run import IMAGES, FilePredictor
from proofs.attacks.campaign import Attempt, Campaign, Wrong
from proofs.attacks.odd_images import MAKERS, many_frames
from support.asking import Page, served
from support.colour_model import write_colour_model
from support.drawing import encoded, write

SIDES = [(None, False), (300, False), (300, True)]


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    model = Small(write_colour_model(folder / "model.onnx"))
    (folder / "conf/data").mkdir(parents=True)
    (folder / "data/raw").mkdir(parents=True)
    ways = {"build": build, "import": import_it, "predict": partial(predict, model), "film": film}
    with served() as page:
        ways["page"] = partial(ask_page, page)
        for random in randoms:
            make = random.choice(MAKERS)
            name, data = make(random)
            # predict answers each of 100,000 frames and shows how far it is, which takes minutes
            way = random.choice([way for way in ways if make is not many_frames or way != "predict"])
            shutil.rmtree(folder / "data/raw")
            shutil.rmtree(folder / "out", ignore_errors=True)
            path = write(folder / "data/raw/set/images" / name, data)
            yield Attempt(f"{make.__name__}, {len(data):,} bytes, {way}", partial(ways[way], path, random))


def build(path: Path, random: Random) -> None:
    """Make a record as a worker of build_records does, of an image or of a film."""
    side, square = random.choice(SIDES)
    kinds: list[Dataset] = [ImageFolders(path="x", max_side=side, square=square), Clips(path="x", max_side=side or 300)]
    for dataset in kinds if path.suffix in (".gif", ".mp4", ".avi") else kinds[:1]:
        item = next(iter(dataset.items(path.parents[1])))
        verdict = examine(dataset, path.parents[1], item)
        if verdict.reason:
            refusal = f"{item.name}: {verdict.reason}"
            continue
        record, _ = make_record(dataset, path.parents[1], item, verdict)
        if len(record.frames) != verdict.frames or not all(record.frames):
            raise Wrong(f"{len(record.frames)} frames, not {verdict.frames}")
        return
    raise DataError(refusal)


def import_it(path: Path, random: Random) -> None:
    """Import it among sound pictures: it is counted, or named as one that cannot be used."""
    source = path.parents[3] / "source"
    shutil.rmtree(source, ignore_errors=True)
    for number in range(3):
        write(source / f"cat/{number}.jpg", encoded(number))
    (source / "dog").mkdir()
    path.rename(source / "dog" / path.name)
    option = Path("conf/data/set2.yaml")
    option.unlink(missing_ok=True)
    survey = bring_in(Request(source, "set2", Path("data/raw/set2"))).survey
    if survey.total + survey.rejected + survey.ignored != 4:
        raise Wrong(f"{survey.total} counted, {survey.rejected} rejected, {survey.ignored} ignored")


def predict(model: Small, path: Path, random: Random) -> None:
    """Predict on it: there is an answer, or it is passed over by name."""
    out = Path("out").absolute()
    work = FilePredictor(model, out, 0.5, draws=True)
    files = sources([str(path)], out)
    with progress("predict", work.units(files), "images") as bar:
        tally = work.run(files, bar)
    answered = [json.loads(line) for line in (out / IMAGES).read_text(encoding="utf-8").splitlines()]
    if tally.failures:
        raise DataError("\n".join(f"{failed.name}: {why}" for failed, why in tally.failures))
    if not answered:
        raise Wrong("neither an answer nor a failure")


def film(path: Path, random: Random) -> None:
    taken = take_frames(path, Path("out").absolute(), random.choice([0.01, 1.0, 1e9]))
    if not taken.files and not taken.broken:
        raise Wrong("no picture, and no reason")


def ask_page(page: Page, path: Path, random: Random) -> None:
    """Send it in pieces as a browser does, then let the label editor show it."""
    data = path.read_bytes()
    key = f"up-{random.getrandbits(60):016x}"
    offset = 0
    while offset < len(data) or not offset:
        piece = data[offset : offset + (50 << 20)]
        address = f"/uploads/{key}/{path.name}?offset={offset}&size={len(data)}"
        sent = page.ask("PUT", address, piece, X_Bakeoff="page", Accept="application/json")
        if sent.code != 200:
            raise DataError(f"{path.name}: {sent.code} {sent.text}")
        offset += len(piece) or 1
    shutil.rmtree(".bakeoff/web/uploads")
    answer = page.get(f"/labels/set/image?name=images/{path.name}")
    if answer.code >= 500:
        raise Wrong(f"{answer.code}: {answer.text[:300]}")
    if answer.code != 200:
        answer_with_picture(path, None)
        raise Wrong(f"{answer.code}: {answer.text[:300]}, and the picture can be shown")


CAMPAIGN = Campaign(500, attempts)
