"""Folders of data that nobody should build from, as the campaign `data_folders` draws them.

A sound dataset of some layout is written, and files of it are damaged, renamed, linked, moved, doubled or removed.
"""

import os
import re
import shutil
import socket
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from bakeoff.dataset.records.record import Box, Record, encode_record
from bakeoff.dataset.records.shards import ShardWriter
from support.drawing import encoded, write, write_images, write_video
from support.exporters import BOXES

NUMBER = re.compile(r"-?\d+(\.\d+)?")
NUMBERS = (
    "NaN",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1",
    "0",
    "1e9",
    "1e308",
    "9" * 5000,
    "1_000",
    "٣",
    "0x10",
    "",
    "null",
    '""',
    "1e-320",
)
NAMES = (
    "ÄÖÜ",
    "日本語",
    "e\u0301",
    "é",
    "a b",
    " a",
    "a ",
    "-rf",
    "$(id)",
    "${oc.env:HOME}",
    "<b>",
    "a\nb",
    "a\x1b[2Jb",
    "\u202egnp",
    "²1",
    "\udcff\udcfe",
    "x" * 240,
    "..a",
    "~",
    "a%2fb",
    "CON",
    "train",
    "images",
    "'",
    '"',
    "a;b",
    "a,b",
    "a|b",
    "#a",
    "1e5",
    "null",
)
BYTES = (
    b"",
    b"\0" * 100,
    b"\xff" * 5000,
    b"\xff\xfe" + "cat".encode("utf-16-le"),
    b"\xef\xbb\xbf",
    b"<html>",
    b"version https://git-lfs.github.com",
    b"[" * 200_000,
    b"{" * 3000,
    b'{"images": [{}], "categories": [], "annotations": []}',
    b"a" * 3_000_000,
    b"\n" * 2_000_000,
    b'"' * 100_000,
    b"," * 2_000_000,
    b"<a>" * 20_000,
    b"<annotation>" + b"<object/>" * 200_000 + b"</annotation>",
    b"0 0.5 0.5 0.2 0.2\n" * 200_000,
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><annotation>&c;</annotation>',
    b"names: &a [*a]\n",
    b"names: !!python/object/apply:os.system [id]\n",
    b"names: {0: a, 0: b}\n",
    b"train: /etc\nval: /etc\nnames: [a]\n",
    b'<?xml version="1.0" encoding="utf-7"?><annotation/>',
    b'<?xml version="1.0" encoding="none"?><annotation/>',
    b"item { id: 1 name: 'a' }" * 20_000,
    b"filename,width,height,class,xmin,ymin,xmax,ymax\n" + b"a.jpg,1,1,c,0,0,1,1\n" * 100_000,
)
TEXTS = (".xml", ".txt", ".json", ".csv", ".yaml", ".data", ".names", ".labels", ".pbtxt")


def class_folders(root: Path, draw: Random) -> None:
    sides = draw.choice([[""], ["train/", "validation/"], ["train/", "val/", "test/"]])
    write_images(
        root, {f"{side}{label}": draw.randint(1, 5) for side in sides for label in ("cat", "dog")}, draw.randrange(999)
    )


def clips(root: Path, draw: Random) -> None:
    for number in range(draw.randint(2, 4)):
        write_video(
            root / f"run/{number}{draw.choice(['.mp4', '.avi', '.mkv'])}", draw.randint(1, 9), draw.randrange(999)
        )
        for frame in range(3):
            write(root / f"walk/{number}/{frame}.jpg", encoded(draw.randrange(999)))
    if draw.random() < 0.4:
        rows = [f"run/{path.name},run,,\n" for path in (root / "run").iterdir()] + ["walk/0,walk,,\n"]
        write(root / "clips.csv", "path,label,split,source\n" + "".join(rows))


def tfrecords(root: Path, draw: Random) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for side in ("train", "validation"):
        with ShardWriter(root, f"{side}-00000") as shard:
            for number in range(draw.randint(1, 5)):
                boxes = (Box(0.1, 0.1, 0.5, 0.5, "cat"), Box(0.2, 0.2, 0.9, 0.8, "dog"))
                record = Record(f"{side}{number}", (encoded(draw.randrange(999)),), 24, 32, boxes)
                shard.write(encode_record(record, {"cat": 1, "dog": 2}))


def exported(root: Path, draw: Random) -> None:
    BOXES[draw.choice(sorted(BOXES))][0](root)


def mixed(root: Path, draw: Random) -> None:
    for make in draw.sample([class_folders, clips, exported, exported], 2):
        make(root, draw)


LAYOUTS: tuple[Callable[[Path, Random], None], ...] = (
    class_folders,
    clips,
    tfrecords,
    mixed,
    exported,
    exported,
    exported,
    exported,
)


def damage_number(path: Path, draw: Random) -> None:
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    places = [match.span() for match in NUMBER.finditer(text)] or [(0, 0)]
    for start, end in sorted(draw.sample(places, min(len(places), draw.choice([1, 1, 5]))), reverse=True):
        text = text[:start] + draw.choice(NUMBERS) + text[end:]
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def swap_words(path: Path, draw: Random) -> None:
    words = re.split(r"(\W+)", path.read_text(encoding="utf-8", errors="surrogateescape"))
    for _ in range(draw.choice([1, 3])):
        one, other = draw.randrange(len(words)), draw.randrange(len(words))
        words[one], words[other] = words[other], words[one]
    path.write_text("".join(words), encoding="utf-8", errors="surrogateescape")


def encode_otherwise(path: Path, draw: Random) -> None:
    text = path.read_text(encoding="utf-8", errors="replace").replace("a", "ä")
    path.write_text(
        text, encoding=draw.choice(["utf-16", "utf-32", "cp1252", "utf-8-sig", "shift-jis"]), errors="replace"
    )


def cut(path: Path, draw: Random) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size + 1))


def flip(path: Path, draw: Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 10])) if data else ():
        data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(data)


def fill(path: Path, draw: Random) -> None:
    path.write_bytes(draw.choice(BYTES))


def make_sparse(path: Path, draw: Random) -> None:
    with path.open("r+b") as file:
        file.truncate(draw.choice([20_000_000, 300_000_000]))


def rename(path: Path, draw: Random) -> None:
    name = draw.choice(
        [
            draw.choice(NAMES) + path.suffix,
            draw.choice(NAMES),
            path.name.swapcase(),
            path.stem,
            unicodedata.normalize("NFD", path.name),
        ]
    )
    if not path.with_name(name).exists():
        path.rename(path.with_name(name))


def rename_folder(path: Path, draw: Random) -> None:
    target = path.parent.with_name(draw.choice([*NAMES, path.parent.name.swapcase()]))
    if not target.exists():
        path.parent.rename(target)


def double(path: Path, draw: Random) -> None:
    target = path.parent / draw.choice(
        [f"{path.stem}{path.suffix.upper()}", f"{path.name}{path.suffix}", f"{path.stem}.png", f"b/{path.name}"]
    )
    target.parent.mkdir(exist_ok=True)
    if not target.exists():
        shutil.copy(path, target)


def remove(path: Path, draw: Random) -> None:
    if draw.random() < 0.2:
        shutil.rmtree(path.parent)
    else:
        path.unlink()


def link(path: Path, draw: Random) -> None:
    path.unlink()
    path.symlink_to(draw.choice(["/etc/passwd", "/dev/zero", path.name, "nowhere", "/etc", "..", "/proc/self/mem"]))


def link_folder(path: Path, draw: Random) -> None:
    """Move a folder out and leave a link, or link another one beside it."""
    outside = Path("outside").absolute()
    shutil.rmtree(outside, ignore_errors=True)
    if draw.random() < 0.5:
        path.parent.rename(outside)
        path.parent.symlink_to(outside)
    elif not (more := path.parent.with_name("more")).exists():
        more.symlink_to(draw.choice(["/etc", "/dev", path.parent.name, "."]))


def odd_file(path: Path, draw: Random) -> None:
    path.unlink()
    kind = draw.choice(["pipe", "folder", "socket", "deep"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket" and len(str(path)) < 100:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "deep":
        for _ in range(draw.choice([50, 190, 300])):
            path = path / "d"
        try:
            path.mkdir(parents=True)
        except OSError:
            return
        write(path / "1.jpg", encoded(1))
    else:
        path.mkdir()


OF_TEXTS = (damage_number, damage_number, damage_number, swap_words, encode_otherwise)
OF_ANY = (cut, flip, fill, make_sparse, rename, rename, rename_folder, double, remove, link, link_folder, odd_file)


def damage(root: Path, draw: Random) -> str:
    """Change a file of a folder by chance; return what was done."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    texts = [path for path in files if path.suffix.lower() in TEXTS and path.stat().st_size < 10_000_000]
    if not files:
        return "nothing is left"
    change = draw.choice(OF_TEXTS if texts and draw.random() < 0.4 else OF_ANY)
    path = draw.choice(texts if change in OF_TEXTS else files)
    if change is flip and path.stat().st_size > 10_000_000:
        change = cut
    if change in (rename_folder, link_folder) and path.parent == root:
        change = rename
    with suppress(OSError, UnicodeError):  # a change that the system refuses
        change(path, draw)
    return f"{change.__name__} {path.relative_to(root)}"
