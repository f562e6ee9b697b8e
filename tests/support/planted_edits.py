"""A data set as files in memory, edits of every kind in it, and what a comparison of both must find.

{"train/images/1.jpg": Scene(b"...", [("cat", 4, 6, 20, 18)])} is Pascal VOC; without boxes a folder names the class.
"""

import io
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from PIL import Image, ImageEnhance

from support.drawing import voc, write

Corners = tuple[str, int, int, int, int]  # label, xmin, ymin, xmax, ymax
Expected = Counter[tuple[str, str]]  # the kind of a change and the picture, or the class


@dataclass(frozen=True)
class Scene:
    picture: bytes
    boxes: tuple[Corners, ...] = ()

    @property
    def image(self) -> Image.Image:
        return Image.open(io.BytesIO(self.picture)).convert("RGB")


Files = dict[str, Scene]


def write_files(root: Path, files: Mapping[str, Scene], *, has_boxes: bool) -> Path:
    for name, scene in files.items():
        write(root / name, scene.picture)
        if has_boxes:
            text = voc(list(scene.boxes), scene.image.size)
            write(root / PurePosixPath(name.replace("/images/", "/annotations/")).with_suffix(".xml"), text)
    return root


def save_again(scene: Scene, kind: str = "JPEG", *, side: float = 1, light: float = 1, **options: int) -> Scene:
    """Return the picture in other bytes; `side` and `light` are factors."""
    image = ImageEnhance.Brightness(scene.image).enhance(light)
    width, height = image.size
    buffer = io.BytesIO()
    image.resize((round(width * side), round(height * side)), Image.Resampling.LANCZOS).save(buffer, kind, **options)
    boxes = tuple((label, *(round(place * side) for place in corners)) for label, *corners in scene.boxes)
    return Scene(buffer.getvalue(), boxes)  # type: ignore[arg-type]


@dataclass
class Planter:
    """Edits a data set, one picture after the other, and keeps what must be found."""

    before: Files
    after: Files
    spare: list[Scene]  # pictures that the data set does not have
    draw: random.Random
    expected: Expected = field(default_factory=Counter)
    untouched: list[str] = field(default_factory=list)

    def take(self, suits: Callable[[str, Scene], bool] = lambda name, scene: True) -> str:
        name = next(name for name in self.untouched if suits(name, self.after[name]))
        self.untouched.remove(name)
        return name

    def expect(self, kind: str, name: str) -> None:
        self.expected[kind, name] += 1

    def rename(
        self, kind: str, change: Callable[[str], str], suits: Callable[[str, Scene], bool] | None = None
    ) -> None:
        old = self.take(suits) if suits else self.take()
        self.after[change(old)] = self.after.pop(old)
        self.expect(kind, change(old))

    def box(self, kind: str, change: Callable[[Corners], Sequence[Corners]]) -> None:
        """Change the only box of a picture, which is large enough for it."""
        name = self.take(lambda name, scene: len(scene.boxes) == 1 and _is_roomy(scene))
        scene = self.after[name]
        self.after[name] = replace(scene, boxes=tuple(change(scene.boxes[0])))
        self.expect(kind, name)


def _is_roomy(scene: Scene) -> bool:
    (_, x0, y0, x1, y1), (width, height) = scene.boxes[0], scene.image.size
    return 0.15 * width < x1 - x0 < 0.8 * width and 0.15 * height < y1 - y0 < 0.8 * height


def halve(box: Corners) -> tuple[Corners, Corners]:
    label, x0, y0, x1, y1 = box
    middle = (x0 + x1) // 2
    return (label, x0, y0, middle, y1), (label, middle, y0, x1, y1)


def _shift(box: Corners, width: int) -> Corners:
    """Return it a sixth of its width farther to where there is room."""
    label, x0, y0, x1, y1 = box
    step = max(1, (x1 - x0) // 6)
    step = -min(step, x0) if x0 > width - x1 else min(step, width - x1)
    return label, x0 + step, y0, x1 + step, y1


def _split_of(name: str) -> str:
    return PurePosixPath(name).parts[0]


def _other_split(name: str) -> str:
    split = _split_of(name)
    return name.replace(f"{split}/", {"train": "validation/", "validation": "train/"}[split], 1)


def _change_stem(name: str) -> str:
    path = PurePosixPath(name)
    return path.with_name(f"called otherwise {path.stem}{path.suffix}").as_posix()


def _deeper(name: str) -> str:
    path = PurePosixPath(name)
    return (path.parent / "more" / path.name).as_posix()


def plant_pictures(planter: Planter) -> None:
    """Edit pictures in each way that has nothing to do with what they show."""
    after, spare = planter.after, planter.spare
    after.pop(gone := planter.take())
    planter.expect("picture went", gone)
    like = planter.take()
    after[new := _change_stem(like)] = replace(spare.pop(), boxes=())
    planter.expect("picture came", new)
    other = planter.take()
    after[other] = replace(spare.pop(), boxes=())
    planter.expect("picture replaced", other)
    planter.rename("picture renamed", _change_stem)
    planter.rename("picture moved", _deeper)
    planter.rename("picture changed split", _other_split)
    one, two = planter.take(), planter.take()  # each gets the name of the other
    if PurePosixPath(one).parent == PurePosixPath(two).parent:
        after[one], after[two] = after[two], after[one]
        planter.expect("picture renamed", one)
        planter.expect("picture renamed", two)
    saved, small = planter.take(), planter.take()
    after[saved] = save_again(after[saved], quality=70)
    planter.expect("picture re-encoded", saved)
    after[small] = save_again(after[small], side=0.5, quality=95)
    planter.expect("picture re-encoded", small)
    png = planter.take()
    after[as_png := PurePosixPath(png).with_suffix(".png").as_posix()] = save_again(after.pop(png), "PNG")
    planter.expect("picture re-encoded", as_png)
    copied = planter.take()
    after[copy := _change_stem(copied)] = save_again(after[copied], light=1.06, quality=85)
    planter.expect("picture came", copy)
    planter.expect("near-duplicate", copy)
    leaking = planter.take(lambda name, scene: _split_of(name) == "train")
    after[leak := _change_stem(_other_split(leaking))] = save_again(after[leaking], light=0.95, quality=85)
    planter.expect("picture came", leak)
    planter.expect("leak", leak)


def plant_boxes(planter: Planter) -> None:
    planter.box("box went", lambda box: ())
    planter.box("box came", lambda box: (box, (box[0], 0, 0, max(3, box[1] // 2), max(3, box[2] // 2))))
    name = planter.take(lambda name, scene: len(scene.boxes) == 1 and _is_roomy(scene))
    scene = planter.after[name]
    planter.after[name] = replace(scene, boxes=(_shift(scene.boxes[0], scene.image.width),))
    planter.expect("box moved", name)
    planter.box("box resized", lambda box: ((*box[:4], box[4] - max(1, (box[4] - box[2]) // 5)),))
    planter.box("box split", halve)
    planter.box("box re-classed", lambda box: (("fox", *box[1:]),))
    joined = planter.take(lambda name, scene: len(scene.boxes) == 1 and _is_roomy(scene))
    planter.before[joined] = replace(planter.before[joined], boxes=halve(planter.before[joined].boxes[0]))
    planter.expect("boxes joined", joined)


def plant_labels(planter: Planter, classes: Sequence[str]) -> None:
    def change_class(name: str) -> str:
        split, label, file = name.split("/")
        return f"{split}/{classes[(classes.index(label) + 1) % len(classes)]}/{file}"

    planter.rename("label changed", change_class)


def rename_class(planter: Planter, old: str, new: str, *, has_boxes: bool) -> None:
    """Call a class otherwise everywhere, and so the names of what must be found, if they hold it."""
    if has_boxes:
        planter.after = {name: replace(scene, boxes=tuple(_rename_boxes(scene.boxes, old, new)))
                         for name, scene in planter.after.items()}  # fmt: skip
    else:
        for name in [name for name in planter.after if f"/{old}/" in name]:
            now = name.replace(f"/{old}/", f"/{new}/")
            planter.after[now] = planter.after.pop(name)
            if planter.expected.pop(("picture replaced", name), 0):  # its folder and its bytes are others
                planter.expect("picture went", name)
                planter.expect("picture came", now)
        planter.expected = Counter(
            {
                (kind, name if kind == "picture went" else name.replace(f"/{old}/", f"/{new}/")): count
                for (kind, name), count in planter.expected.items()
            }
        )
    planter.expect("class renamed", new)


def _rename_boxes(boxes: Sequence[Corners], old: str, new: str) -> Iterator[Corners]:
    yield from ((new if box[0] == old else box[0], *box[1:]) for box in boxes)


def start(files: Files, seed: int, spares: int = 2) -> Planter:
    """Keep some pictures aside, which come later, and choose the order in which the others are edited."""
    draw = random.Random(seed)
    names = sorted(files)
    draw.shuffle(names)
    spare, names = names[:spares], names[spares:]
    before = {name: files[name] for name in sorted(names)}
    return Planter(before, dict(before), [files[name] for name in spare], draw, untouched=names)
