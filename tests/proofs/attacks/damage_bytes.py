"""What disks, cut copies and hostile people make of a file's bytes."""

from collections.abc import Callable
from pathlib import Path
from random import Random

LARGE = (
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\x00" * 8,
    (2**40).to_bytes(8, "little"),
    (2**31 - 1).to_bytes(8, "little"),
)


def flip_bit(content: bytearray, random: Random) -> bytes:
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return content


def flip_in_the_head(content: bytearray, random: Random) -> bytes:
    for _ in range(random.randint(1, 4)):
        content[random.randrange(min(len(content), 600))] = random.randrange(256)
    return content


def write_a_number(content: bytearray, random: Random) -> bytes:
    at = random.randrange(len(content))
    content[at : at + 8] = random.choice(LARGE)
    return content


def cut_off(content: bytearray, random: Random) -> bytes:
    return content[: random.randrange(len(content))]


def blank_a_block(content: bytearray, random: Random) -> bytes:
    at, length = random.randrange(len(content)), random.choice((16, 512, 4096))
    content[at : at + length] = bytes(len(content[at : at + length]))
    return content


def swap_blocks(content: bytearray, random: Random) -> bytes:
    one, other = sorted(random.randrange(len(content)) for _ in range(2))
    return content[:one] + content[other:] + content[one:other]


WAYS: dict[str, Callable[[bytearray, Random], bytes]] = {
    "one bit": flip_bit, "bytes of the head": flip_in_the_head, "a number": write_a_number, "cut off": cut_off,
    "a block of zeros": blank_a_block, "blocks swapped": swap_blocks,
    "empty": lambda content, random: b"", "longer": lambda content, random: content + random.randbytes(100),
    "random bytes": lambda content, random: random.randbytes(len(content)),
}  # fmt: skip


def damage(path: Path, random: Random) -> str:
    """Damage a file, and return how."""
    way, content = damage_some(path.read_bytes(), random)
    path.write_bytes(content)
    return way


def damage_some(content: bytes, random: Random) -> tuple[str, bytes]:
    """Return how bytes were damaged, and what they are then."""
    way = random.choice(list(WAYS))
    return way, WAYS[way](bytearray(content), random) if content else random.randbytes(8)
