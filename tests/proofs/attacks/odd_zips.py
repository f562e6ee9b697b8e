"""Zips that nobody should unpack, as the campaign `zips` draws them: bombs, lies, cuts, names that lead away."""

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from random import Random

from support.drawing import encoded

SOUND = {
    f"{label}/{number}.png": encoded(seed + number, "PNG")
    for seed, label in enumerate(["cat", "dog"])
    for number in range(3)
}
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
NAMES = (
    "../out.png",
    "cat/../../out.png",
    "..\\out.png",
    "/out.png",
    "C:\\out.png",
    "\\\\server\\out.png",
    "cat/./1.png",
    "cat//9.png",
    "",
    ".",
    "..",
    "/",
    "cat/",
    "cat/\0.png",
    "cat/\x1b[2J.png",
    "cat/\u202egnp.exe",
    "cat/" + "x" * 256,
    "x/" * 400 + "1.png",
    "x/" * 600,
    "CAT/1.PNG",
    "cat/\u00e9.png",
    "cat/e\u0301.png",
    "cat/ .png",
    "cat/a.png ",
    "CON/1.png",
    "cat/1.png/2.png",
    ".git/config",
    "cat/.hidden.png",
    "__MACOSX/cat/._1.png",
    "cat/-rf.png",
    "cat/$(touch out).png",
    "cat/${oc.env:HOME}.png",
    "caf\u00e9/1.png",
    "\u65e5\u672c/1.png",
    "a:b/1.png",
    "cat/<script>.png",
    "~/1.png",
    "%2e%2e/1.png",
    "cat/" + "\u00e4" * 127 + ".png",
    "cat/x\ud800.png",
)
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def pack(entries: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        archive.comment = comment
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name or "x"), content, packing)
    return out.getvalue()


def sound(draw: Random) -> bytes:
    return pack(SOUND, draw.choice(PACKINGS), draw.choice([b"", b"x" * 65_535, END * 10]))


def bomb(draw: Random) -> bytes:
    """Zeros, or noise that repeats, in one file or in several."""
    packing, size = draw.choice(
        [(zipfile.ZIP_BZIP2, 60 << 20), *((zipfile.ZIP_DEFLATED, one << 20) for one in (1, 90, 150))]
    )
    kind = draw.choice(["png", "bmp", "txt", "xml", "json", "csv", "zip"])
    entries = {f"cat/{number}.{kind}": bytes(size) for number in range(draw.choice([1, 2]))}
    return pack(SOUND | entries, packing)


def lying_sizes(draw: Random) -> bytes:
    """Numbers of a local or a central head that are not true: sizes, checks, packing, flags, offsets, lengths."""
    data = bytearray(pack(SOUND, draw.choice(PACKINGS)))
    for _ in range(draw.choice([1, 1, 3])):
        mark, length = draw.choice([(LOCAL, 30), (CENTRAL, 46), (END, 22)])
        places = [place for place in range(len(data)) if data.startswith(mark, place)]
        place = draw.choice(places) + draw.randrange(4, length)
        value = draw.choice(
            [
                b"\0",
                b"\xff",
                b"\xff\xff",
                b"\xff\xff\xff\xff",
                b"\0\0\0\0",
                b"\x01",
                b"\x63\0",
                bytes([draw.randrange(256)]),
            ]
        )
        data[place : place + len(value)] = value
    return bytes(data)


def overlapping(draw: Random) -> bytes:
    """Many names for the same bytes, as the bomb of David Fifield has."""
    content = bytes(draw.choice([1000, 10_000_000]))
    data = pack({"cat/0.png": content})
    start, end = data.find(CENTRAL), data.find(END)
    count = draw.choice([2, 60_000])
    head = bytearray(data[start:end])
    rows = []
    for number in range(count):
        name = f"cat/{number:05d}.png".encode()
        head[28:30] = struct.pack("<H", len(name))
        rows.append(bytes(head[:46]) + name)
    central = b"".join(rows)
    tail = struct.pack("<4s4H2LH", END, 0, 0, count, count, len(central), start, 0)
    return data[:start] + central + tail


def odd_name(draw: Random) -> bytes:
    names = draw.sample(NAMES, draw.choice([1, 2, 5]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pack(SOUND | dict.fromkeys(names, encoded(9, "PNG")))
        except UnicodeEncodeError:
            return pack(SOUND | {"cat/\u202e.png": b"x"})


def raw_name(draw: Random) -> bytes:
    """A name of any bytes, with or without the flag that calls it UTF-8."""
    data = bytearray(pack(SOUND | {"cat/0123456789.png": encoded(9, "PNG")}))
    other = bytes(draw.choice([0, 0x2F, 0x5C, 0x80, 0xFF, 0xE3, 0x83, draw.randrange(256)]) for _ in range(10))
    is_utf8 = draw.random() < 0.5
    for mark, flag in ((LOCAL, 6), (CENTRAL, 8)):
        place = data.rfind(mark, 0, data.rfind(b"0123456789") if mark == CENTRAL else data.find(b"0123456789"))
        data[place + flag + 1] = 8 if is_utf8 else 0
    return bytes(data.replace(b"0123456789", other))


def odd_kind(draw: Random) -> bytes:
    """A link, a pipe, a device or a folder with content."""
    kind = draw.choice([stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR, 0xF000])
    entry = zipfile.ZipInfo(draw.choice(["cat/link.png", "cat/link", "link", "classes.txt", "dir/"]))
    entry.create_system, entry.external_attr = draw.choice([0, 3, 19]), (kind | 0o777) << 16
    out = io.BytesIO(pack(SOUND))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(entry, draw.choice(["/etc/passwd", "../../..", ".", "cat"]))
    return out.getvalue()


def twice(draw: Random) -> bytes:
    out = io.BytesIO(pack(SOUND))
    with warnings.catch_warnings(), zipfile.ZipFile(out, "a") as archive:
        warnings.simplefilter("ignore")
        for name in draw.choice([["cat/1.png"], ["cat"], ["cat/1.png/x.png"], ["cat/./1.png"], ["cat\\1.png"]]):
            archive.writestr(name, b"other")
    return out.getvalue()


def encrypted(draw: Random) -> bytes:
    data = bytearray(pack(SOUND))
    which = [place for place in range(len(data)) if data.startswith(LOCAL, place)]
    for place in which if draw.random() < 0.5 else which[:1]:
        data[place + 6] |= draw.choice([1, 0x41])
    central = [place for place in range(len(data)) if data.startswith(CENTRAL, place)]
    for place in central if draw.random() < 0.5 else central[:1]:
        data[place + 8] |= 1
    return bytes(data)


def cut(draw: Random) -> bytes:
    data = pack(SOUND, draw.choice(PACKINGS))
    at = draw.randrange(len(data))
    return draw.choice(
        [data[:at], data[at:], data[:at] + data[at + draw.randint(1, 50) :], b"x" * 5000 + data, data + b"x" * 70_000]
    )


def nested(draw: Random) -> bytes:
    data = pack(SOUND)
    for depth in range(draw.choice([1, 3, 20])):
        data = pack({f"{depth}.zip": data} | (SOUND if draw.random() < 0.5 else {}))
    return data


def zip64(draw: Random) -> bytes:
    """An end of 64 bits whose numbers are whatever they are."""
    data = pack(SOUND)
    start, end = data.find(CENTRAL), data.find(END)
    numbers = [draw.choice([0, 6, end - start, start, 1 << 31, 1 << 62, (1 << 64) - 1]) for _ in range(4)]
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", draw.choice([44, 0, 1 << 60]), 45, 45, 0, 0, *numbers)
    locator = struct.pack(
        "<4sLQL", b"PK\x06\x07", draw.choice([0, 7]), draw.choice([end, 0, 1 << 62]), draw.choice([1, 99])
    )
    tail = struct.pack("<4s4H2LH", END, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:end] + record + locator + tail


def many(draw: Random) -> bytes:
    """Tens of thousands of names, or folders; each file takes its time on the disk."""
    count, suffix = draw.choice([5_000, 66_000]), draw.choice(["", "/"])
    rows = []
    for number in range(count):
        name = f"{number:06d}{suffix}".encode()
        rows.append(
            struct.pack("<4s6H3L5H2L", CENTRAL, 20, 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
        )
    central = b"".join(rows)
    first = struct.pack("<4s5H3L2H", LOCAL, 20, 0, 0, 0, 33, 0, 0, 0, 7, 0) + b"000000/"
    if count > 65_535:
        where = len(first) + len(central)
        record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(central), len(first))
        locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, where, 1)
        return (
            first
            + central
            + record
            + locator
            + struct.pack("<4s4H2LH", END, 0, 0, 0xFFFF, 0xFFFF, len(central), len(first), 0)
        )
    return first + central + struct.pack("<4s4H2LH", END, 0, 0, count, count, len(central), len(first), 0)


def greedy_lzma(draw: Random) -> bytes:
    """LZMA that asks for a dictionary of gigabytes."""
    data = bytearray(pack(SOUND, zipfile.ZIP_LZMA))
    for place in [place for place in range(len(data)) if data.startswith(LOCAL, place)]:
        [name, extra] = struct.unpack("<2H", data[place + 26 : place + 30])
        at = place + 30 + name + extra + 5
        data[at : at + 4] = struct.pack("<I", draw.choice([1 << 30, 3 << 30, (1 << 32) - 1]))
    return bytes(data)


MAKERS: tuple[Callable[[Random], bytes], ...] = (
    sound,
    bomb,
    lying_sizes,
    overlapping,
    odd_name,
    raw_name,
    odd_kind,
    twice,
    encrypted,
    cut,
    nested,
    zip64,
    many,
    greedy_lzma,
)
