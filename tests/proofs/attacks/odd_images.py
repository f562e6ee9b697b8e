"""Images that nobody should send, as the campaign `images` draws them: bombs, lies, cuts and mixtures."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from random import Random

import numpy as np
from PIL import Image

Maker = Callable[[Random], tuple[str, bytes]]


def _picture(draw: Random, mode: str = "RGB", most: int = 64) -> Image.Image:
    sides = draw.randint(1, most), draw.randint(1, most)
    noise = np.random.default_rng(draw.getrandbits(32)).integers(0, 256, (sides[1], sides[0], 3), np.uint8)
    image = Image.fromarray(noise)
    if mode == "I;16":
        return Image.fromarray(np.asarray(image)[..., 0].astype(np.uint16) * 257)
    return image.convert(mode)


def _saved(image: Image.Image, kind: str, **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, depth: int, colour: int, data: bytes, *before: bytes, interlaced: int = 0) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(before) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def pixel_bomb(draw: Random) -> tuple[str, bytes]:
    """A PNG whose header is true, and whose rows are zeros packed a thousand times."""
    width, height = draw.choice(
        [(8192, 8192), (20_000, 20_000), (65_000, 1_000), (1, 67_000_000), (30_000, 2_200), (8_193, 8_192)]
    )
    colour, depth = draw.choice([(0, 1), (0, 8), (2, 8), (6, 8), (0, 16), (6, 16), (4, 16), (2, 16)])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    row = 1 + (width * channels * depth + 7) // 8
    pack, parts, left = zlib.compressobj(1), [], min(row * height, 800_000_000)
    zeros = bytes(1 << 20)
    while left > 0:
        parts.append(pack.compress(zeros[: min(left, 1 << 20)]))
        left -= 1 << 20
    return "bomb.png", _png(
        width, height, depth, colour, b"".join([*parts, pack.flush()]), interlaced=draw.choice([0, 0, 1])
    )


def huge_header(draw: Random) -> tuple[str, bytes]:
    sides = [draw.choice([0, 1, 65_535, 65_500, 30_000, 100_000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]) for _ in "ab"]
    kind = draw.choice(["PNG", "BMP", "GIF", "JPEG", "TIFF", "PPM", "WEBP"])
    small = [min(side, 65_535) for side in sides]
    if kind == "PNG":
        return "a.png", _png(*sides, 8, 2, zlib.compress(bytes(1000)))
    if kind == "PPM":
        return "a.ppm", b"P6 %d %d 255\n" % tuple(sides) + bytes(1000)
    data = bytearray(_saved(_picture(draw), kind))
    if kind == "BMP":
        data[18:26] = struct.pack("<II", *sides)
    elif kind == "GIF":
        data[6:10] = struct.pack("<HH", *small)
        if draw.random() < 0.5 and (at := data.find(b",")) > 0:
            data[at + 5 : at + 9] = struct.pack("<HH", *small)
    elif kind == "JPEG":
        at = data.find(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", *small)
    elif kind == "TIFF":
        [at] = struct.unpack("<I", data[4:8])
        for entry in range(at + 2, at + 2 + 24, 12):
            data[entry + 2 : entry + 12] = struct.pack("<HII", 4, 1, draw.choice(sides))
    else:
        at = data.find(b"VP8 ")
        data[at + 14 : at + 18] = struct.pack("<HH", *(min(side, 16_383) for side in small))
    return f"a.{kind.lower()}", bytes(data)


def _bits(*codes: tuple[int, int]) -> bytes:
    text = "".join(f"{value:0{length}b}" if length else "" for value, length in codes)
    text += "1" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8).replace(b"\xff", b"\xff\x00")


def scan_bomb(draw: Random) -> tuple[str, bytes]:
    """A progressive JPEG with many scans, each of which skips all blocks by runs or refines them."""
    side = draw.choice([64, 1024, 4096, 8192])
    scans = draw.choice([5, 99, 100, 101, 1000, 20_000])
    head = b"\xff\xd8\xff\xdb\0\x43\0" + bytes([1] * 64)
    head += b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, side, side, 1) + bytes([1, 0x11, 0])
    blocks = (side // 8) ** 2
    # One code of one bit, `0`: a run of 2**14 blocks without a coefficient. For DC: a difference of nothing.
    dc = b"\xff\xc4" + struct.pack(">HB", 2 + 1 + 16 + 1, 0x00) + bytes([1] + [0] * 15) + bytes([0])
    runs = b"\xff\xc4" + struct.pack(">HB", 2 + 1 + 16 + 1, 0x10) + bytes([1] + [0] * 15) + bytes([0xE0])
    first = (
        b"\xff\xda"
        + struct.pack(">HB", 8, 1)
        + bytes([1, 0x00, 0, 0, 0x01 if draw.random() < 0.3 else 0x00])
        + bytes((blocks + 7) // 8)
    )
    entropy, left = [], blocks
    while left > 0:
        run = min(left, 16_384 + 16_383)
        run = max(run, 16_384) if left >= 16_384 else 0
        entropy += [(0, 1), ((run - 16_384) & 0x3FFF, 14)] if run else [(0, 1), (0, 14)]
        left -= run or left
    body = _bits(*entropy)
    parts = [head, dc, runs, first]
    refine = draw.random() < 0.5
    for number in range(scans - 1):
        high, low = (13, 12) if refine and number else (0, 13) if refine else (0, 0)
        last = draw.choice([1, 5, 63])
        parts.append(
            b"\xff\xda" + struct.pack(">HB", 8, 1) + bytes([1, 0x00, 1, 63 if refine else last, high << 4 | low]) + body
        )
    return "scans.jpg", b"".join(parts) + b"\xff\xd9"


def marker_bomb(draw: Random) -> tuple[str, bytes]:
    """Megabytes of markers before or in the image data."""
    data = _saved(_picture(draw), "JPEG")
    size = draw.choice([1 << 20, 14 << 20, 60 << 20, 200 << 20])
    exif = Image.Exif()
    exif[0x0112] = 6
    block = exif.tobytes()
    app = b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block
    unit = draw.choice([b"\xff", b"\xff\x01", app, b"\xff\xfe\0\x02", b"\xff\xd0", b"\xff\xe0\0\x08abcdef"])
    if draw.random() < 0.5:
        at = 2
    else:
        at = data.find(b"\xff\xda") + 14
        unit = draw.choice([unit, b"\xff\xc4\0\0", b"\xff\xda\0\0", b"\xff\xc1\0"])
    return "markers.jpg", data[:at] + unit * (size // len(unit)) + data[at:] + draw.choice([b"", b"\xff\xd9"])


def cut(draw: Random) -> tuple[str, bytes]:
    kind = draw.choice(["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"])
    data = _saved(_picture(draw), kind)
    return f"cut.{kind.lower()}", data[: draw.randint(0, len(data))] + draw.choice([b"", b"", b"\0" * 100, b"\xff\xd9"])


def odd_mode(draw: Random) -> tuple[str, bytes]:
    kind, mode = draw.choice(
        [
            ("JPEG", "CMYK"),
            ("JPEG", "L"),
            ("PNG", "I;16"),
            ("PNG", "P"),
            ("PNG", "1"),
            ("PNG", "LA"),
            ("PNG", "RGBA"),
            ("TIFF", "F"),
            ("TIFF", "CMYK"),
            ("TIFF", "I;16"),
            ("TIFF", "LAB"),
            ("TIFF", "1"),
            ("TIFF", "P"),
            ("WEBP", "RGBA"),
            ("GIF", "P"),
            ("BMP", "1"),
            ("BMP", "P"),
            ("PPM", "L"),
            ("PPM", "I;16"),
            ("TIFF", "YCbCr"),
            ("TIFF", "RGBA"),
            ("TIFF", "I"),
        ]
    )
    image = _picture(draw, mode)
    more = {"compression": draw.choice(["tiff_lzw", "packbits", "tiff_adobe_deflate", "raw"])} if kind == "TIFF" else {}
    return f"odd.{kind.lower()}", _saved(image, kind, **more)


def animated(draw: Random) -> tuple[str, bytes]:
    kind = draw.choice(["GIF", "PNG", "WEBP", "TIFF"])
    first = _picture(draw, most=16)
    frames = [_picture(draw, most=16).resize(first.size) for _ in range(draw.choice([1, 2, 5, 300]))]
    return f"moving.{kind.lower()}", _saved(frames[0], kind, save_all=True, append_images=frames[1:])


def many_frames(draw: Random) -> tuple[str, bytes]:
    """A GIF, an APNG or a TIFF that consists of hundreds of thousands of tiny frames."""
    which, size = draw.choice(["gif", "apng", "tiff", "loop"]), draw.choice([900_000, 5_000_000, 40_000_000])
    if which == "gif":
        sides = draw.choice([(1, 1), (65_535, 65_535), (8_000, 8_000)])
        frame = b"\x21\xf9\x04\x08\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0"
        return "many.gif", b"GIF89a" + struct.pack("<HH", *sides) + b"\x80\0\0\0\0\0\xff\xff\xff" + frame * (
            size // len(frame)
        ) + b";"
    if which == "apng":
        control = _chunk(b"acTL", struct.pack(">II", draw.choice([2, 1 << 20, (1 << 32) - 1]), 0))
        frame = _chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 1, 1, 0, 0, 1, 1, 0, 0))
        return "many.png", _png(1, 1, 8, 0, zlib.compress(b"\0\0"), control, frame * (size // len(frame)))
    tags = [
        (256, 4, 1, 1),
        (257, 4, 1, 1),
        (258, 3, 1, 8),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, 1, 8),
        (277, 3, 1, 1),
        (278, 4, 1, 1),
        (279, 4, 1, 1),
    ]
    body = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    length, count = len(body) + 4, 1 if which == "loop" else size // (len(body) + 4)
    parts = [
        body + struct.pack("<I", 16 + (number + 1) * length if number + 1 < count else 16 if which == "loop" else 0)
        for number in range(count)
    ]
    return "many.tiff", b"II*\0" + struct.pack("<I", 16) + bytes(8) + b"".join(parts)


def text_bomb(draw: Random) -> tuple[str, bytes]:
    """Megabytes that unfold out of a profile, a text or EXIF."""
    zeros = zlib.compress(bytes(draw.choice([1 << 20, 100 << 20])), 9)
    which = draw.choice(["iccp", "ztxt", "itxt", "exif", "icc in jpeg", "many texts", "xmp"])
    if which == "iccp":
        part = _chunk(b"iCCP", b"a\0\0" + zeros)
    elif which == "ztxt":
        part = _chunk(b"zTXt", b"a\0\0" + zeros)
    elif which == "itxt":
        part = _chunk(b"iTXt", b"a\0\x01\0\0\0" + zeros)
    elif which == "many texts":
        part = _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(900_000))) * 500
    elif which == "exif":
        rows = draw.choice([1000, 5000])
        ifd = (
            b"II*\0\x08\0\0\0"
            + struct.pack("<H", rows)
            + b"".join(
                struct.pack(
                    "<HHII",
                    draw.choice([0x0112, 0x8769, 0x8825, number & 0xFFFF]),
                    draw.choice([2, 3, 4, 5, 7, 12, 99]),
                    draw.choice([1, 1 << 20, (1 << 32) - 1]),
                    draw.choice([6, 8, 100]),
                )
                for number in range(rows)
            )
            + struct.pack("<I", 8)
        )
        if draw.random() < 0.5:
            data = _saved(_picture(draw), "JPEG")
            block = (b"Exif\0\0" + ifd)[:65_000]
            return "exif.jpg", data[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + data[2:]
        part = _chunk(b"eXIf", ifd)
    elif which == "icc in jpeg":
        data = _saved(_picture(draw), "JPEG")
        block = b"ICC_PROFILE\0\x01\xff" + bytes(60_000)
        return "icc.jpg", data[:2] + (b"\xff\xe2" + struct.pack(">H", len(block) + 2) + block) * draw.choice(
            [1, 255, 1000]
        ) + data[2:]
    else:
        part = _chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + b"<a>" * 300_000)
    return "text.png", _png(2, 2, 8, 0, zlib.compress(bytes(6)), part)


def polyglot(draw: Random) -> tuple[str, bytes]:
    """An image that is also another thing, or has another's name."""
    image = _saved(_picture(draw), draw.choice(["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"]))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../out.txt", b"x")
    others = [
        packed.getvalue(),
        b"<html><script>alert(1)</script>",
        b"#!/bin/sh\necho",
        b"%PDF-1.4",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"\x7fELF",
        image,
    ]
    other = draw.choice(others)
    data = draw.choice([image + other, other + image, image[: len(image) // 2] + other, other])
    return f"both.{draw.choice(['jpg', 'png', 'gif', 'webp', 'tif', 'bmp', 'mp4', 'avi', 'JPG', 'jpeg', 'svg'])}", data


def flipped(draw: Random) -> tuple[str, bytes]:
    kind = draw.choice(["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "MPO"])
    data = bytearray(
        _saved(_picture(draw), kind, **({"progressive": True} if kind == "JPEG" and draw.random() < 0.5 else {}))
    )
    for _ in range(draw.choice([1, 3, 20])):
        data[draw.randrange(min(len(data), draw.choice([60, 1 << 30])))] = draw.randrange(256)
    return f"flipped.{kind.lower()}", bytes(data)


def film_bomb(draw: Random) -> tuple[str, bytes]:
    """A GIF, or an AVI, whose canvas is much larger than its bytes."""
    sides = draw.choice([(65_535, 65_535), (16_000, 16_000), (20_000, 3_000), (4, 4)])
    frame = b"\x21\xf9\x04\x08\x0a\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0"
    count = draw.choice([2, 100, 3000])
    return draw.choice(["film.gif", "film.mp4"]), b"GIF89a" + struct.pack(
        "<HH", *sides
    ) + b"\x80\0\0\0\0\0\xff\xff\xff" + frame * count + b";"


def tiff_lies(draw: Random) -> tuple[str, bytes]:
    """A TIFF whose offsets, counts and kinds are random."""
    rows = []
    for tag in (
        256,
        257,
        258,
        259,
        262,
        273,
        277,
        278,
        279,
        draw.choice([322, 323, 324, 325, 338, 317, 347, 512, 34665, 0x0112]),
    ):
        value = draw.choice([0, 1, 2, 5, 7, 8, 32773, 8192, 65_535, (1 << 32) - 1, draw.getrandbits(32)])
        rows.append(
            struct.pack(
                "<HHII",
                tag,
                draw.choice([3, 4, 4, 16, 5, 2, 12]),
                draw.choice([1, 1, 1, 4, 1 << 16, (1 << 32) - 1]),
                value,
            )
        )
    return "lies.tif", b"II*\0\x08\0\0\0" + struct.pack("<H", len(rows)) + b"".join(rows) + struct.pack(
        "<I", draw.choice([0, 8, 1 << 31])
    ) + bytes(draw.choice([0, 5000]))


MAKERS: tuple[Maker, ...] = (
    pixel_bomb,
    huge_header,
    scan_bomb,
    marker_bomb,
    cut,
    odd_mode,
    animated,
    many_frames,
    text_bomb,
    polyglot,
    flipped,
    film_bomb,
    tiff_lies,
)
