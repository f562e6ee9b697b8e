"""A text -> a QR code as an SVG drawing (ISO/IEC 18004: bytes, level L, versions 1 to 5, mask 0).

These versions have one block of data each, which is enough for an address of 106 bytes.
"""

from collections.abc import Iterator
from itertools import product

from bakeoff.foundation.html.svg import Element, Frame, draw, draw_svg

BLOCKS = ((19, 7), (34, 10), (55, 15), (80, 20), (108, 26))  # bytes of data and of correction, by version from 1
MOST_BYTES = BLOCKS[-1][0] - 2
FIELD = 0x11D  # x^8 + x^4 + x^3 + x^2 + 1, by which bytes are multiplied
LEVEL_L, MASK = 0b01, 0b000
FORMAT, FORMAT_MASK = 0x537, 0x5412  # the polynomial that protects level and mask, and what it is turned with
QUIET = 4  # empty places around
Grid = list[list[bool | None]]  # by row; None where data goes


def draw_qr_code(text: str) -> Element:
    grid = make_grid(text)
    side = len(grid) + 2 * QUIET
    dark = [(column, row) for row, line in enumerate(grid) for column, is_dark in enumerate(line) if is_dark]
    path = "".join(f"M{column + QUIET} {row + QUIET}h1v1h-1z" for column, row in dark)
    frame = Frame(side, side, left=0, right=0, top=0, bottom=0)
    label = f"A QR code of this page's address, {text.partition('?')[0]}"
    return draw_svg(frame, draw("path", d=path, fill="#000"), label=label)


def make_grid(text: str) -> Grid:
    """Return which places are dark. Raises ValueError for a text that is too long."""
    data = text.encode()
    version = next((number for number, (room, _) in enumerate(BLOCKS, 1) if len(data) <= room - 2), None)
    if version is None:
        raise ValueError(f"a QR code of ours holds {MOST_BYTES} bytes, got {len(data)}")
    room, correction = BLOCKS[version - 1]
    grid = _draw_patterns(version)
    stream = _encode(data, room)
    stream += find_correction(stream, correction)
    bits = (byte >> shift & 1 for byte in stream for shift in range(7, -1, -1))
    for row, column in _walk(grid):
        grid[row][column] = bool(next(bits, 0)) ^ ((row + column) % 2 == 0)  # mask 0
    return grid


def _encode(data: bytes, room: int) -> list[int]:
    """Return the mode, the length and the bytes, half a byte off, filled up."""
    halves = [0b0100, len(data) >> 4, len(data) & 15, *(half for byte in data for half in (byte >> 4, byte & 15)), 0]
    stream = [high << 4 | low for high, low in zip(halves[::2], halves[1::2], strict=True)]
    return [*stream, *((0xEC, 0x11) * room)[: room - len(stream)]]


def find_correction(stream: list[int], count: int) -> list[int]:
    """Return the remainder of the stream by the generator of Reed and Solomon with the roots 1, 2, 4 …"""
    generator, root = [1], 1
    for _ in range(count):
        shifted = [_multiply(value, root) for value in generator]
        generator = [one ^ other for one, other in zip([*generator, 0], [0, *shifted], strict=True)]
        root = _multiply(root, 2)
    rest = [*stream, *[0] * count]
    for place in range(len(stream)):
        factor = rest[place]
        for number, value in enumerate(generator):
            rest[place + number] ^= _multiply(value, factor)
    return rest[len(stream) :]


def _multiply(one: int, other: int) -> int:
    result = 0
    while other:
        result ^= one if other & 1 else 0
        one = one << 1 ^ (FIELD if one & 128 else 0)
        other >>= 1
    return result


def _draw_patterns(version: int) -> Grid:
    """Return a grid with all that is no data: three eyes, a small one, two dotted lines, and the format."""
    side = 17 + 4 * version
    grid: Grid = [[None] * side for _ in range(side)]
    for row, column in product(range(-1, 8), repeat=2):
        ring = max(abs(row - 3), abs(column - 3))
        for top, left in ((0, 0), (0, side - 7), (side - 7, 0)):
            if 0 <= top + row < side and 0 <= left + column < side:
                grid[top + row][left + column] = ring not in (2, 4)
    if version > 1:
        for row, column in product(range(-2, 3), repeat=2):
            grid[side - 7 + row][side - 7 + column] = max(abs(row), abs(column)) != 1
    for place in range(8, side - 8):
        grid[6][place] = grid[place][6] = place % 2 == 0
    _draw_format(grid)
    return grid


def _draw_format(grid: Grid) -> None:
    side, value = len(grid), LEVEL_L << 3 | MASK
    rest = value << 10
    for shift in range(4, -1, -1):
        if rest >> (shift + 10) & 1:
            rest ^= FORMAT << shift
    whole = (value << 10 | rest) ^ FORMAT_MASK
    bits = [bool(whole >> number & 1) for number in range(15)]
    rows = [*range(6), 7, 8, *range(side - 7, side)]
    columns = [*range(side - 1, side - 9, -1), 7, *range(5, -1, -1)]
    for bit, row, column in zip(bits, rows, columns, strict=True):
        grid[row][8] = grid[8][column] = bit
    grid[side - 8][8] = True


def _walk(grid: Grid) -> Iterator[tuple[int, int]]:
    """Yield the places of data: pairs of columns from the right, up and down in turn, past the dotted column."""
    side = len(grid)
    rights = [right - (right <= 6) for right in range(side - 1, 0, -2)]
    for number, right in enumerate(rights):
        for step in range(side):
            row = step if number % 2 else side - 1 - step
            yield from ((row, column) for column in (right, right - 1) if grid[row][column] is None)
