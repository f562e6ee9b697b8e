"""How far the tracker of `bakeoff web` carries boxes, and how much work it spares, on drawn films with known boxes.

    PYTHONPATH=tests python benchmarks/tracker.py            # in the repository, with OpenCV installed

A simulated person goes through the pictures in their order. They accept the proposals that overlap a thing by at least
0.5, refuse the others, draw what is missing, and let the tracker carry on from there. Every draw of the mouse and every
key is counted, as the page wants them.
"""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter
from sklearn.datasets import load_sample_image

from bakeoff.app.web.box_tracker import carry
from bakeoff.importing.datasets.pre_annotate import PixelBox
from support import moving_things
from support.moving_things import Place, overlap

SIZE = moving_things.SIZE
SECONDS = 50
GOOD = 0.5  # overlap from which on a proposal is accepted
HIDDEN = 0.5  # share of a thing that others may hide, beyond which nobody labels it


class Easy:
    """A ball and a cube before a photograph: they keep their looks and never meet."""

    name = "easy"

    def places(self, seconds: float) -> list[Place]:
        return moving_things.places(seconds)

    def draw(self, seconds: float) -> Image.Image:
        return moving_things.draw(seconds)


class Hard:
    """A camera in a hand, and two balls and a cube that turn, grow, blur, hide each other and leave the picture."""

    name = "hard"

    def __init__(self) -> None:
        self._ground = Image.fromarray(load_sample_image("china.jpg")).resize((800, 533)).convert("RGB")

    def _things(self, seconds: float) -> list[tuple[str, float, float, float, float]]:
        """Return class, middle, half a side and turn of each, the nearest last."""
        t = seconds
        return [
            ("cube", 250 + 260 * math.sin(0.31 * t), 230 + 70 * math.sin(0.53 * t), 34 + 14 * math.sin(0.4 * t), t / 2),
            ("ball", 240 + 190 * math.sin(0.55 * t + 1), 170 + 90 * math.sin(0.8 * t), 30 + 13 * math.sin(0.33 * t), t),
            ("ball", 230 - 200 * math.sin(0.47 * t), 220 - 80 * math.cos(0.7 * t), 32 + 12 * math.cos(0.37 * t), -t),
        ]  # fmt: skip

    def places(self, seconds: float) -> list[Place]:
        """Return what of each thing lies in the picture, without those that others hide."""
        boxes, things = [], self._things(seconds)
        for number, (name, x, y, r, turn) in enumerate(things):
            reach = r if name == "ball" else r * (abs(math.cos(turn)) + abs(math.sin(turn)))
            box = [max(0.0, x - reach), max(0.0, y - reach), min(SIZE[0], x + reach), min(SIZE[1], y + reach)]
            if box[2] - box[0] < reach or box[3] - box[1] < reach:
                continue
            nearer = [other for other in things[number + 1 :] if math.hypot(other[1] - x, other[2] - y) < 2 * r]
            if sum(_shared(r, other[3], math.hypot(other[1] - x, other[2] - y)) for other in nearer) < HIDDEN:
                boxes.append((name, *box))
        return boxes

    def draw(self, seconds: float) -> Image.Image:
        t, shake = seconds, np.random.default_rng(round(1000 * seconds))
        left = 160 + 120 * math.sin(0.2 * t) + shake.normal(0, 3)
        top = 80 + 50 * math.sin(0.33 * t) + shake.normal(0, 3)
        image = self._ground.crop((round(left), round(top), round(left) + SIZE[0], round(top) + SIZE[1]))
        for name, x, y, r, turn in self._things(seconds):
            self._paste(image, name, (x, y), r, turn)
        image = ImageEnhance.Brightness(image).enhance(1 + 0.2 * math.sin(0.9 * t) + shake.normal(0, 0.03))
        image = image.filter(ImageFilter.GaussianBlur(1.2 if shake.random() < 0.3 else 0.3))
        pixels = np.asarray(image, np.float32) + shake.normal(0, 8, (*SIZE[::-1], 3))
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

    def _paste(self, image: Image.Image, name: str, middle: tuple[float, float], r: float, turn: float) -> None:
        side = 4 * round(r)
        thing = Image.new("RGBA", (side, side))
        pen, half = ImageDraw.Draw(thing), side / 2
        box = (half - r, half - r, half + r, half + r)
        if name == "ball":
            pen.ellipse(box, "#e8d020", "#443300", 2)
            pen.pieslice(box, 0, 120, "#a07008", "#443300", 2)
        else:
            pen.rectangle(box, "#a030c0", "#200030", 2)
            pen.line(box, "#f0c0ff", 5)
        thing = thing.rotate(math.degrees(turn), Image.Resampling.BICUBIC)
        image.paste(thing, (round(middle[0] - half), round(middle[1] - half)), thing)


def _shared(r: float, other: float, apart: float) -> float:
    """Return about which share of a thing of half a side `r` lies behind another one."""
    return min(1.0, max(0.0, (r + other - apart) / (2 * r)))


@dataclass
class Count:
    frames: int = 0
    boxes: int = 0
    proposed: int = 0
    good: int = 0
    draws: int = 0
    keys: int = 0

    def row(self) -> str:
        hundred = 100 / self.frames
        alone = (self.boxes + self.frames) * hundred  # a key for each next frame; classes are kept
        share = self.good / self.proposed
        return (
            f"{self.frames:6} {self.boxes:6} {self.proposed:8} {share:8.1%} {self.draws * hundred:9.0f} "
            f"{self.keys * hundred:9.0f} {self.boxes * hundred:9.0f} {alone - self.boxes * hundred:9.0f}"
        )


def label(film: Easy | Hard, pictures: Sequence[Path], times: Sequence[float]) -> Count:
    """Label all pictures as a person with a tracker does."""
    count, proposals = Count(), iter(())
    for number, seconds in enumerate(times):
        truth = film.places(seconds)
        proposed: list[PixelBox] = next(proposals, [])
        accepted, missing, wrong = _match(proposed, truth)
        count.frames, count.boxes = count.frames + 1, count.boxes + len(truth)
        count.proposed, count.good = count.proposed + len(proposed), count.good + len(accepted)
        count.draws += len(missing)
        count.keys += len(missing) + 2 * wrong + 1  # a digit; choose and refuse; accept, or go on
        if missing:
            count.keys += 2 if proposed else 1  # back to the frame, and the tracker
        if missing or wrong:
            boxes = [*accepted, *(PixelBox(name, *corners) for name, *corners in missing)]
            proposals = carry(boxes, pictures[number:]) if boxes else iter(())
    return count


def _match(proposed: Sequence[PixelBox], truth: Sequence[Place]) -> tuple[list[PixelBox], list[Place], int]:
    """Return the proposals that are right, the things without one, and how many proposals are wrong."""
    left, accepted = list(truth), []
    for box in proposed:
        same = [place for place in left if place[0] == box.label]
        best = max(same, key=lambda place: overlap(box.corners, place[1:]), default=None)
        if best is not None and overlap(box.corners, best[1:]) >= GOOD:
            left.remove(best)
            accepted.append(box)
    return accepted, left, len(proposed) - len(accepted)


def write_pictures(film: Easy | Hard, times: Sequence[float], folder: Path) -> Iterator[Path]:
    for number, seconds in enumerate(times):
        path = folder / f"{number:05d}.jpg"
        film.draw(seconds).save(path, quality=90)
        yield path


def main() -> None:
    print("of a hundred pictures, with the tracker and without it:")
    print(f"{'film':12}frames  boxes  carried    right     draws      keys   draws w.    keys w.")
    for film in (Easy(), Hard()):
        for every in (0.5, 0.2):
            times = [number * every for number in range(round(SECONDS / every))]
            with tempfile.TemporaryDirectory() as folder:
                pictures = list(write_pictures(film, times, Path(folder)))
                print(f"{film.name + f' {every} s':12}{label(film, pictures, times).row()}", flush=True)


if __name__ == "__main__":
    main()
