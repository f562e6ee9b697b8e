"""Any file of weights is read, or refused in a line: Keras', ours, TensorFlow's, torch's, exports, archives."""

import json
import pickle
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import h5py
import numpy as np

from proofs.attacks import tensor_files
from proofs.attacks.campaign import Attempt, Campaign
from proofs.attacks.damage_bytes import damage
from support.safetensors_archives import entry


def attempts(randoms: Iterable[Random], folder: Path) -> Iterator[Attempt]:
    from bakeoff.foundation.tf_loading import load_tensorflow

    load_tensorflow()
    whole = folder / tensor_files.WHOLE
    whole.mkdir()
    _write_whole_files(whole)
    for number, random in enumerate(randoms):
        place = folder / str(number)
        shutil.copytree(whole, place)
        kind = random.choice((*READERS, "hostile"))
        if kind == "hostile":
            name = random.choice(list(HOSTILE))
            path = HOSTILE[name](place, random)
            ways = (start_from, open_exported, *([unpack_archive] if path.is_file() else []))
            read = OF_TENSORS.get(name) or random.choice(ways)
            yield Attempt(f"{name}, {read.__name__}", partial(read, path))
        else:
            path = place / FILES[kind]
            files = sorted(path.rglob("*")) if path.is_dir() else [*path.parent.glob(f"{path.name}*")]
            damaged = random.choice([file for file in files if file.is_file()])
            if random.random() < 0.08 and kind not in ("zip", "tar"):  # `get` has just written these
                damaged.unlink()
                how = "removed"
            else:
                how = damage(damaged, random)
            yield Attempt(f"{kind}, {damaged.relative_to(place)}: {how}", partial(READERS[kind], path))
        shutil.rmtree(place)


FILES = {
    "keras 3": "best.weights.h5", "keras archive": "model.keras", "older keras": "old.h5", "ours": "best-00000010",
    "tf": "ckpt-1", "tflite": "model.tflite", "onnx": "model.onnx", "saved_model": "saved_model", "zip": "net.zip",
    "tar": "net.tar.gz", "torch": tensor_files.TORCH, "safetensors": tensor_files.SAFETENSORS,
}  # fmt: skip


def _write_whole_files(folder: Path) -> None:
    import tensorflow as tf

    from bakeoff.config.weight_card import CARD
    from bakeoff.export.onnx_build import onnx_bytes
    from bakeoff.export.saved_model import save_servable
    from bakeoff.export.settings import Export
    from bakeoff.export.tflite_build import lite_module, output_names
    from bakeoff.export.tflite_metadata import DEVIATION, LABELS, MEAN, ModelMetadata, pack_files, write_metadata
    from bakeoff.export.write_formats import convert, describe
    from bakeoff.learning.checkpoints import checkpoint
    from bakeoff.learning.input.view import View
    from support.lite_files import CLASSES, MODELS, opinionated

    kind = "classification"
    network, task = opinionated(kind)
    network.save_weights(folder / FILES["keras 3"])
    network.save(folder / FILES["keras archive"])
    network.save(folder / FILES["older keras"])
    tf.train.Checkpoint(model=network).write(str(folder / FILES["tf"]))
    names = {f"{number:05d}": weight for number, weight in enumerate(network.weights)}
    paths = {name: weight.path for name, weight in names.items()}
    checkpoint.write(folder / FILES["ours"], {"paths": paths}, {name: one.numpy() for name, one in names.items()})
    about = ModelMetadata("a network", "nothing", "none")
    module = lite_module(network, task, len(CLASSES), Export(formats=("float32",)))
    metadata = write_metadata(about, kind, output_names(task), is_quantized=False, scale=(MEAN, DEVIATION))
    lite = describe(convert(module, ["float32"], lambda: iter(()))["float32"], output_names(task), metadata)
    view = View.of(MODELS[kind])
    texts = {LABELS: "\n".join(CLASSES) + "\n", "view.json": json.dumps(view.as_tree())}
    (folder / FILES["tflite"]).write_bytes(pack_files(lite, texts))
    (folder / FILES["onnx"]).write_bytes(onnx_bytes(network, task, view, about, CLASSES, "detections"))
    save_servable(network, task, view, CLASSES, folder / FILES["saved_model"])
    parts = sorted(folder.glob("ckpt-1.*"))
    with zipfile.ZipFile(folder / FILES["zip"], "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts:
            archive.write(part, f"net/checkpoint/{part.name}")
    with tarfile.open(folder / FILES["tar"], "w:gz") as archive:
        for part in parts:
            archive.add(part, f"net/checkpoint/{part.name}")
    (folder / CARD).unlink(missing_ok=True)
    tensor_files.write_whole(folder)


# How they are read.


def start_from(path: Path) -> None:
    from support.lite_files import CLASSES, MODELS

    tensor_files.load_weights(path, MODELS["classification"], len(CLASSES))


def restore_run(path: Path) -> None:
    from bakeoff.learning.networks.weights import restore
    from support.lite_files import CLASSES, MODELS

    restore(MODELS["classification"], len(CLASSES), path)


def open_exported(path: Path) -> None:
    from bakeoff.inference.predict.model_interface import opened
    from bakeoff.inference.predict.select_model import find_model

    opened(find_model(path)).answer(np.full((30, 40, 3), 128, np.uint8))


def unpack_archive(path: Path) -> None:
    from bakeoff.importing.weights.archive import unpack

    out = path.with_name("unpacked")
    out.mkdir()
    unpack(path, out)
    for inside in out.rglob("*"):
        if not inside.resolve().is_relative_to(out.resolve()):
            raise AssertionError(f"{inside} leaves the folder")


READERS: dict[str, Callable[[Path], None]] = {
    "keras 3": restore_run, "keras archive": start_from, "older keras": start_from, "ours": start_from,
    "tf": start_from, "tflite": open_exported, "onnx": open_exported, "saved_model": open_exported,
    "zip": unpack_archive, "tar": unpack_archive, "torch": tensor_files.load_checked,
    "safetensors": tensor_files.load_tensors,
}  # fmt: skip


# What nobody's disk makes.


def _safetensors(place: Path, random: Random) -> Path:
    header = json.dumps({"w": entry(0, 2**42, [2**40])}).encode()
    length = random.choice((len(header), 2**62, 0))
    return _write(place / "model.safetensors", length.to_bytes(8, "little") + header + bytes(64))


def _pickle(place: Path, random: Random) -> Path:
    class Evil:
        def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
            return open, ("/nonexistent",)

    return _write(place / random.choice(("model.pt", "model.h5", "weights.ckpt")), pickle.dumps(Evil()))


def _linked(place: Path, random: Random) -> Path:
    path = place / "linked.weights.h5"
    with h5py.File(path, "w") as file:
        vars_ = file.create_group("layers/dense/vars")
        link = random.choice((h5py.ExternalLink("/etc/passwd", "/"), h5py.SoftLink("/layers"), h5py.SoftLink("/")))
        vars_["0"] = link
        file["layers/again"] = random.choice((link, file["layers"]))
    return path


def _huge(place: Path, random: Random) -> Path:
    path = place / "huge.weights.h5"
    with h5py.File(path, "w") as file:
        shape = random.choice(((2**38,), (2**20, 2**18), (1,) * 32))
        file.create_dataset("layers/dense/vars/0", shape, "f4", chunks=True, fillvalue=0)
    return path


def _bomb(place: Path, random: Random) -> Path:
    path = place / random.choice(("bomb.keras", "bomb.zip"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        name = random.choice(("model.weights.h5", "net/ckpt.index", "weights.h5"))
        with archive.open(name, "w") as member:
            for _ in range(300):
                member.write(bytes(10**6))
    return path


def _outside(place: Path, random: Random) -> Path:
    path = place / "outside.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../../x.h5", "/tmp/x.h5", "..\\x.h5", "a/../../x.h5"):
            archive.writestr(name, b"x")
        archive.writestr("model.weights.h5", b"x")
    return path


def _nested_json(place: Path, random: Random) -> Path:
    head = b"[" * random.choice((10**3, 10**6))
    return _write(
        place / "best-00000011", b"bakeoff checkpoint 1\n" + len(head).to_bytes(8, "little") + head + bytes(32)
    )


def _folder(place: Path, random: Random) -> Path:
    path = place / random.choice(("model.tflite", "best.weights.h5", "ckpt-1.index"))
    path.unlink()
    path.mkdir()
    return path


def _index_alone(place: Path, random: Random) -> Path:
    (place / "ckpt-1.data-00000-of-00001").unlink()
    return place / random.choice(("ckpt-1", "ckpt-1.index"))


def _odd_name(place: Path, random: Random) -> Path:
    name = random.choice(("\nx.weights.h5", "\x1b[31m.h5", "[a-z]*.index", "ä" * 60 + ".h5", "-.tflite", "~x.h5"))
    return Path(shutil.copy(place / "best.weights.h5", place / name))


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


HOSTILE: dict[str, Callable[[Path, Random], Path]] = {
    "safetensors": _safetensors, "a pickle": _pickle, "links in HDF5": _linked, "a huge array": _huge, "a bomb": _bomb,
    "names outside": _outside, "nested JSON": _nested_json, "a folder": _folder, "an index alone": _index_alone,
    "an odd name": _odd_name, "a program of torch": tensor_files.change_program,
    "a header of safetensors": tensor_files.change_header,
}  # fmt: skip
OF_TENSORS = {name: tensor_files.load_tensors for name in ("a program of torch", "a header of safetensors")}
CAMPAIGN = Campaign(200, attempts)
