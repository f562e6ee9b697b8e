"""Files of torch and of safetensors: whole ones, and ones whose list of tensors somebody has changed."""

import json
import zipfile
from pathlib import Path
from random import Random

import keras
import numpy as np

from bakeoff.learning.networks.yolox import Yolox
from bakeoff.learning.pretrained.torch_files import PROGRAM
from proofs.attacks.damage_bytes import damage
from support.torch_archives import write_torch, yolox_arrays

TORCH, SAFETENSORS = "yolox.pth", "yolox.safetensors"
NETWORK = Yolox(input_size=32, width=0.0625, depth=0.1)
CLASSES = 3


def write_whole(folder: Path) -> None:
    arrays = yolox_arrays(NETWORK.build(CLASSES))
    write_torch(folder / TORCH, arrays, {"curr_ap": np.float64(0.25)})
    header, numbers = {}, b""
    for name, array in arrays.items():
        data = array.tobytes()
        place = [len(numbers), len(numbers) + len(data)]
        kind = "I64" if array.dtype.kind == "i" else "F32"
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": place}
        numbers += data
    text = json.dumps(header).encode()
    (folder / SAFETENSORS).write_bytes(len(text).to_bytes(8, "little") + text + numbers)


def start_from(path: Path) -> keras.Model:
    from bakeoff.learning.plan.train_settings import Init
    from bakeoff.learning.pretrained.load_report import load_first_weights
    from bakeoff.learning.pretrained.weight_source import origin_of

    init = Init(weights=str(path))
    network = NETWORK.build(CLASSES)
    load_first_weights(network, NETWORK, init, origin_of(init, Path))
    return network


def start_from_checked(path: Path) -> None:
    """An archive has a checksum of each member: whatever is read from a damaged one is what was there."""
    read = start_from(path)
    whole = path.with_name("again.pth")
    write_torch(whole, yolox_arrays(read))
    for one, other in zip(read.weights, start_from(whole).weights, strict=True):
        if not np.array_equal(one.numpy(), other.numpy()):
            raise AssertionError(f"{one.path}: other numbers than were written")


def change_program(place: Path, random: Random) -> Path:
    """The archive is as it should be; the program in it that names the tensors is not."""
    path, inside = place / TORCH, place / PROGRAM
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    [name] = [name for name in members if name.endswith(PROGRAM)]
    inside.write_bytes(members[name])
    damage(inside, random)
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in (members | {name: inside.read_bytes()}).items():
            archive.writestr(member, content)
    return path


def change_header(place: Path, random: Random) -> Path:
    """The header's length is that of the header; one value in it is another."""
    path = place / SAFETENSORS
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    entry = header[random.choice(list(header))]
    odd = (None, -1, 2**62, 0.5, True, "F32", "F64", [], [0], [-1, 4], [2**40] * 2, [0, 2**63], [[0], [4]], {})
    entry[random.choice(list(entry))] = random.choice(odd)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    return path
