"""What a training computes on, said before its first step. It decides nothing."""

import sys
from collections import Counter
from importlib import metadata
from importlib.util import find_spec

from bakeoff.machine import cores, gpu_names
from bakeoff.progress import say
from bakeoff.tracking.system import processor


def say_device(replicas: int) -> None:
    """Say it, of GPUs the first `replicas`. TensorFlow is loaded."""
    import tensorflow as tf

    from bakeoff.training.devices import has_gpus

    if has_gpus():
        gpus = tf.config.list_physical_devices("GPU")
        details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus[:replicas]]
        say(f"train: computes on {name_gpus([one.get('device_name', 'unnamed') for one in details])}")
        return
    say(f"train: computes on the CPU, {cores()} {'core' if cores() == 1 else 'cores'} of {processor().split('; ')[1]}")
    if unused := gpu_names():
        print(f"warning: {describe_unused(unused)}", file=sys.stderr)


def name_gpus(names: list[str]) -> str:
    """Return "2 GPUs: 2 x NVIDIA A10"."""
    counted = ", ".join(f"{count} x {name}" if count > 1 else name for name, count in Counter(names).items())
    return f"{len(names)} {'GPU' if len(names) == 1 else 'GPUs'}: {counted}"


def describe_unused(names: list[str], system: str = sys.platform) -> str:
    """Return what is wrong where NVIDIA's tool sees GPUs and TensorFlow none, and the remedy."""
    if system == "win32":
        remedy = "TensorFlow has no GPUs on Windows: set bakeoff up in WSL2"
    else:
        pip = f"{sys.executable} -m pip" if find_spec("pip") else "uv pip"
        remedy = (
            f"{pip} install 'tensorflow[and-cuda]=={metadata.version('tensorflow')}' adds the libraries that it needs"
        )
    hidden = "CUDA_VISIBLE_DEVICES=-1 says that the CPU is meant"
    return f"nvidia-smi sees {name_gpus(names)}, TensorFlow sees none, so this takes much longer; {remedy}; {hidden}"
