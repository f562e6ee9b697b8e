"""Files of torch and of safetensors: whole ones, and ones whose list of tensors somebody has changed."""

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bakeoff.learning.networks.yolox import Yolox
from bakeoff.learning.pretrained.torch_files import PROGRAM
from proofs.attacks.damage_bytes import damage_some
from support.safetensors_archives import packed, write_safetensors
from support.torch_archives import change_member, write_torch, yolox_arrays

TORCH, SAFETENSORS, WHOLE = "yolox.pth", "yolox.safetensors", "whole"
NETWORK = Yolox(input_size=32, width=0.0625, depth=0.1)
CLASSES = 3


def write_whole(folder: Path) -> None:
    arrays = yolox_arrays(NETWORK.build(CLASSES))
    write_torch(folder / TORCH, arrays, {"curr_ap": np.float64(0.25)})
    write_safetensors(folder / SAFETENSORS, arrays)


def load_weights(path: Path, model: Any, classes: int) -> Any:
    """Return the network after it started from the file."""
    from bakeoff.learning.plan.train_settings import Init
    from bakeoff.learning.pretrained.load_report import load_first_weights
    from bakeoff.learning.pretrained.weight_source import origin_of
    from bakeoff.tracking.results.lineage import lineage_of

    init = Init(weights=str(path))
    origin = origin_of(init, Path)
    lineage_of(init.weights, origin.path, origin.digest)
    network = model.build(classes)
    load_first_weights(network, model, init, origin)
    return network


def load_tensors(path: Path) -> Any:
    return load_weights(path, NETWORK, CLASSES)


def load_checked(path: Path) -> None:
    """An archive has a checksum of each member: whatever is read from a damaged one is what was there."""
    whole = path.parent.parent / WHOLE / TORCH
    for one, other in zip(load_tensors(path).weights, load_tensors(whole).weights, strict=True):
        if not np.array_equal(one.numpy(), other.numpy()):
            raise AssertionError(f"{one.path}: other numbers than were written")


def change_program(place: Path, random: Random) -> Path:
    """The archive is as it should be; the program in it that names the tensors is not."""
    change_member(place / TORCH, PROGRAM, lambda content: damage_some(content, random)[1])
    return place / TORCH


def change_header(place: Path, random: Random) -> Path:
    """The header's length is that of the header; one value in it is another."""
    path = place / SAFETENSORS
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    changed = header[random.choice([name for name in header if name != "__metadata__"])]
    odd = (None, -1, 2**62, 0.5, True, "F32", "F64", [], [0], [-1, 4], [2**40] * 2, [0, 2**63], [[0], [4]], {})
    changed[random.choice(list(changed))] = random.choice(odd)
    path.write_bytes(packed(header, content[8 + length :]))
    return path
