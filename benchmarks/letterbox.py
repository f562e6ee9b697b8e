"""What a network loses that is trained on stretched pictures and fed letterboxed ones, with and without training so.

    python benchmarks/letterbox.py folder/of/pascal_voc --sides 4:3 16:9 --steps 1500 --seeds 0 1 2 --keep folder

The folder has `images/` and `annotations/`. Pictures are cropped around their middle to each of the proportions. For
each seed one network is trained on stretched pictures and one on letterboxed ones, as many steps by one thread. Both
are exported as model.tflite, and the file answers the validation pictures. Printed is its mAP_50 in three arms:
trained and fed stretched; trained stretched and fed letterboxed, as a reader such as PhotonVision does it; trained and
fed letterboxed. Then come the differences over the seeds, each with its interval.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

from PIL import Image
from trials import OWN_DATA, describe_difference, make_workspace, run, write_params

ARMS = {  # how the network is trained, and how its file is fed
    "stretched, fed stretched": ("stretch", "stretch"),
    "stretched, fed letterboxed": ("stretch", "letterbox"),
    "letterboxed, fed letterboxed": ("letterbox", "letterbox"),
}
LEAST_SEEN = 0.5  # of a box, for it to stay in a cropped picture
SAMPLES = 1000  # of the bootstrap
QUALITY = 95
EDGES = ("xmin", "ymin", "xmax", "ymax")


def crop_dataset(data: Path, out: Path, sides: str) -> None:
    """Write the pictures and their boxes, cut around the middle to `sides`, such as 16:9."""
    wide, high = map(int, sides.split(":"))
    for name in ("images", "annotations"):
        (out / name).mkdir(parents=True)
    for file in sorted((data / "annotations").glob("*.xml")):
        tree = ElementTree.parse(file)
        picture = Image.open(next((data / "images").glob(f"{file.stem}.*"))).convert("RGB")
        width, height = picture.size
        shown = min(width, height * wide // high), min(height, width * high // wide)
        left, top = (width - shown[0]) // 2, (height - shown[1]) // 2
        _crop_boxes(tree.getroot(), (left, top), shown)
        picture.crop((left, top, left + shown[0], top + shown[1])).save(
            out / "images" / f"{file.stem}.jpg", quality=QUALITY
        )
        tree.write(out / "annotations" / file.name)


def _crop_boxes(root: ElementTree.Element, corner: tuple[int, int], shown: tuple[int, int]) -> None:
    for name, side in zip(("width", "height"), shown, strict=True):
        node = root.find(f"size/{name}")
        assert node is not None
        node.text = str(side)
    for one in root.findall("object"):
        box = one.find("bndbox")
        assert box is not None
        edges = [float(box.findtext(edge) or 0) - corner[place % 2] for place, edge in enumerate(EDGES)]
        cut = [min(max(edge, 0), shown[place % 2]) for place, edge in enumerate(edges)]
        if _area(cut) <= 0 or _area(cut) < LEAST_SEEN * _area(edges):
            root.remove(one)
            continue
        for edge, value in zip(EDGES, cut, strict=True):
            node = box.find(edge)
            assert node is not None
            node.text = str(round(value))


def _area(edges: list[float]) -> float:
    return max(0, edges[2] - edges[0]) * max(0, edges[3] - edges[1])


def params(fit: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "experiment": "demo_points",
        "seed": seed,
        "data": {"use": "pascal_voc", "path": OWN_DATA, "split": {"by": "fraction", "validation": 0.25}},
        "model": {"use": arguments.model, "fit": fit},
        "lr": {"use": "points"},
        "train": {
            "use": "smoke", "batch_size": 8, "steps": arguments.steps, "epochs": None, "validate_every_steps": 0,
            "ema_decay": 0.99, "samples": 0, "checkpoint_every_steps": arguments.steps,
            "augment": {"turn": {"mirror": 0.5}, "zoom": {"smallest": 0.8, "largest": 1.2}},
        },
        "export": {
            "use": "tflite", "formats": ["float32"], "max_detections": 100, "sample": 8, "max_drop": 1.0,
            "latency_calls": 1,
        },
        "track": {"use": "none"},
    }  # fmt: skip


def judge_file(place: Path, fit: str) -> tuple[float, float, float]:
    """Return mAP_50 of the exported file on the validation pictures, fed so, and its interval."""
    from bakeoff.dataset.records.manifest import read_manifest
    from bakeoff.dataset.records.record import VALIDATION
    from bakeoff.export.accuracy_report import answer_of
    from bakeoff.inference.predict.light_runtime import small_model, view_of
    from bakeoff.learning.input.batches import evaluation_batches
    from bakeoff.learning.input.record_reader import RecordReader
    from bakeoff.learning.input.view import Shape
    from bakeoff.learning.tasks.task import judge, make_judge

    records, file = place / "data/records", small_model(place / "models/export/model.tflite")
    view = replace(view_of(file), fit=fit)  # type: ignore[arg-type]
    store = RecordReader(records, read_manifest(records).splits[VALIDATION], "error")
    shape = Shape("detection", view.size, 1, 8, 1, 1, fit=view.fit)
    judge_of_boxes = make_judge("detection", file.labels, multi_label=False)
    answers = {"file": answer_of(file, store, view)}
    score = judge(judge_of_boxes, answers, evaluation_batches(store, shape))["file"]
    interval = score.intervals([str(number) for number in range(store.examples)], SAMPLES)["mAP_50"]
    return score.result()["mAP_50"], interval["low"], interval["high"]


def measure(folder: Path, data: Path, sides: str, arguments: argparse.Namespace) -> None:
    cropped = folder / f"cropped_{sides.replace(':', '_')}"
    if not cropped.is_dir():
        crop_dataset(data, cropped, sides)
    values: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for seed in arguments.seeds:
        for arm, (fit, fed) in ARMS.items():
            place = folder / f"{sides.replace(':', '_')}_{fit}_{seed}"
            if not (place / "models/export/model.tflite").is_file():
                make_workspace(place, cropped, params(fit, seed, arguments))
                write_params(place, params(fit, seed, arguments))
                for stage in ("render_config", "train", "export"):
                    run(place, stage)
            value, low, high = judge_file(place, fed)
            values[arm].append(value)
            print(f"| {sides} | {seed} | {arm} | {value:.3f} ({low:.3f} to {high:.3f}) |", flush=True)
    stretched, as_today, letterboxed = values.values()
    for name, one, other in (
        ("fed letterboxed instead of stretched", as_today, stretched),
        ("trained letterboxed, too", letterboxed, as_today),
    ):
        differences = [a - b for a, b in zip(one, other, strict=True)]
        print(f"| {sides} | all | {name} | {describe_difference(differences)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sides", nargs="+", default=["4:3", "16:9"])
    parser.add_argument("--model", default="point_nano_128")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--keep", type=Path, help="a folder that keeps data and models")
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        print("| sides | seed | trained, fed | mAP_50 of the file (95 %) |\n|---|---|---|---|", flush=True)
        for sides in arguments.sides:
            measure(folder, arguments.data, sides, arguments)


if __name__ == "__main__":
    main()
