"""Two data sets -> what is distributed otherwise in B than in A, beyond chance: light, sizes, classes."""

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from PIL import Image

from bakeoff.experiments.data_diff.open_data import Example, OpenData
from bakeoff.foundation.tf_loading import quiet_pillow
from bakeoff.inference.drift.drift_statistics import FEWEST, ImageSample, compare_samples, measure

MOST = 300  # pictures of each that are opened: the same ones of both, where both have them
SIDE = 96  # pixels at which they are measured; NumPy starts threads for more, which costs more than it saves
SHOWN = 3  # classes whose shares moved most
CLASSES, BOX_SIZE, OBJECTS, BRIGHTNESS = "classes", "box size", "boxes a picture", "brightness"
UNITS = {BOX_SIZE: " % of the picture's side", OBJECTS: "", BRIGHTNESS: " of 255"}


def find_drift(a: OpenData, b: OpenData, renamed: Mapping[str, str]) -> list[str]:
    """Return a sentence for each aspect that differs by more than chance explains."""
    if a.task == "video" or min(len(a.examples), len(b.examples)) < FEWEST:
        return []
    classes = sorted({*b.labels, *(renamed.get(label, label) for label in a.labels)})
    old, new = (_sample(_choose(one.examples), classes, names) for one, names in ((a, renamed), (b, dict[str, str]())))
    sentences = []
    for aspect in compare_samples(old, new):
        if not aspect.differs:
            continue
        if aspect.name == CLASSES:
            what = _describe_shares(a, b, renamed)
        elif aspect.is_one_number:
            unit = UNITS.get(aspect.name, "")
            (was, spread), (now, other) = aspect.own, aspect.new
            what = f"{was:.3g} ± {spread:.2g} → {now:.3g} ± {other:.2g}{unit}"
        else:
            what = "by their mean over the picture"
        sentences.append(f"{aspect.name}: {what} (chance {aspect.chance:.3f})")
    return sentences


def _choose(examples: Sequence[Example]) -> list[Example]:
    """Choose by the digest, which is as good as chance, and the same in both data sets."""
    return sorted(examples, key=lambda one: one.digest)[:MOST]


def _sample(examples: Sequence[Example], classes: Sequence[str], renamed: Mapping[str, str]) -> ImageSample:
    rows = [_measure(one, classes, renamed) for one in examples]
    names = [one.name for one in examples]
    return ImageSample(names, {key: np.array([row[key] for row in rows], np.float64) for key in rows[0]})


def _measure(one: Example, classes: Sequence[str], renamed: Mapping[str, str]) -> dict[str, list[float]]:
    aspects = measure((one.height, one.width), _open_small(one.read() or b""))
    counts = _count_labels([one], renamed)
    aspects[CLASSES] = [counts[label] for label in classes]
    if one.boxes or not one.labels:
        sides = [((box.ymax - box.ymin) * (box.xmax - box.xmin)) ** 0.5 for box in one.boxes]
        aspects |= {OBJECTS: [len(sides)], BOX_SIZE: [100 * float(np.mean(sides or [0]))]}
    return aspects


def _open_small(encoded: bytes) -> np.ndarray:
    with quiet_pillow():
        opened = Image.open(io.BytesIO(encoded))
    opened.draft("RGB", (SIDE, SIDE))
    image = opened.convert("RGB")
    image.thumbnail((SIDE, SIDE))
    return np.asarray(image)


def _count_labels(examples: Iterable[Example], renamed: Mapping[str, str]) -> Counter[str]:
    labels = (label for one in examples for label in (*one.labels, *(box.label for box in one.boxes)))
    return Counter(renamed.get(label, label) for label in labels)


def _describe_shares(a: OpenData, b: OpenData, renamed: Mapping[str, str]) -> str:
    """Return the classes whose shares of all boxes, or labels, moved most."""
    old, new = _count_labels(a.examples, renamed), _count_labels(b.examples, {})
    shares = {
        label: (old[label] / max(1, old.total()), new[label] / max(1, new.total())) for label in sorted({*old, *new})
    }
    moved = sorted(shares.items(), key=lambda share: -abs(share[1][1] - share[1][0]))[:SHOWN]
    return ", ".join(f"{label} {was:.1%} → {now:.1%}" for label, (was, now) in moved)
