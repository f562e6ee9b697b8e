"""A comparison of new images with those of a run, in lines and as a page with the most foreign ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from bakeoff.foundation.html import template
from bakeoff.foundation.html.template import embed_jpeg
from bakeoff.inference.drift.drift_statistics import MEANINGS, SAMPLES, Aspect, OutlyingImage
from bakeoff.inference.predict.read_images import read_image

SHOWN = 24  # of the most foreign images
SIDE = 220  # pixels


def describe(aspects: Sequence[Aspect]) -> Iterator[str]:
    """Yield what is said: a line for each aspect that differs, or that none does."""
    different = [aspect for aspect in aspects if aspect.differs]
    if not aspects:
        yield "no difference: all images are the same in every aspect"
    elif not different:
        least = min(aspect.chance for aspect in aspects)
        yield f"no difference shown: chance explains what differs in {len(aspects)} aspects (least chance {least:.3f})"
    else:
        yield f"they differ in {len(different)} of {len(aspects)} aspects by more than chance explains:"
        for aspect in different:
            yield f"  {aspect.name}{_numbers(aspect)}: chance {aspect.chance:.3f}"


def write_drift(
    page: Path, folder: Path, counted: str, aspects: Sequence[Aspect], foreign: Sequence[OutlyingImage]
) -> None:
    shown = [(one, _embed(read_image(folder / one.name))) for one in foreign[:SHOWN]]
    template.write_page(
        page, "drift.html.jinja", title=f"Drift: {folder.name}", counted=counted, sentences=list(describe(aspects)),
        aspects=aspects, shown=shown, meanings=MEANINGS, samples=SAMPLES,
    )  # fmt: skip


def _numbers(aspect: Aspect) -> str:
    if not aspect.is_one_number:
        return ""
    (new, new_spread), (own, own_spread) = aspect.new, aspect.own
    return f" {new:.3g} ± {new_spread:.2g}, the run's {own:.3g} ± {own_spread:.2g}"


def _embed(pixels: np.ndarray) -> str:
    image = Image.fromarray(pixels)
    image.thumbnail((SIDE, SIDE))
    return embed_jpeg(image)
