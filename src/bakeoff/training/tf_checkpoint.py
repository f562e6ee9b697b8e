"""TensorFlow 1 and 2 checkpoints of other programs, by a table that says which variable is which:

    backbone.stem.conv/kernel <TAB> FeatureExtractor/MobilenetV2/Conv/weights

Lines that begin with `#` are notes. Such a checkpoint is `<prefix>.index` and its data files; the folder's own
`checkpoint` file, which may name any path, is not read.
"""

from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf

from bakeoff.errors import ConfigError, DataError, choices
from bakeoff.training.weight_files import Stored


def read_table(path: Path, variables: Iterable[str]) -> dict[str, str]:
    """Variable of the network -> name in the checkpoint."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"train.init.names: {path.as_posix()} cannot be read ({error})") from None
    variables, table = set(variables), {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        here, _, there = (part.strip() for part in line.partition("\t"))
        if not there:
            raise ConfigError(f"{path.as_posix()}:{number}: must be `variable<TAB>name there`, got {line!r}")
        if here not in variables:
            near = choices(here, variables).partition("one of:")[0].strip()
            raise ConfigError(f"{path.as_posix()}:{number}: the network has no variable {here!r}{near and f'; {near}'}")
        table[here] = there
    return table


def stored_by_variable(prefix: Path, table: dict[str, str]) -> dict[str, Stored]:
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
    except (tf.errors.OpError, ValueError) as error:
        raise DataError(
            f"{prefix.as_posix()}: cannot be read as a TensorFlow checkpoint ({str(error).splitlines()[0]})"
        ) from None
    for here, there in table.items():
        if there not in shapes:
            near = choices(there, shapes).partition("one of:")[0].strip()
            raise DataError(f"{prefix.as_posix()}: has no {there!r}, which train.init.names gives for {here!r}"
                            f"{near and f'; {near}'}")  # fmt: skip

    def stored(name: str) -> Stored:
        return Stored(tuple(shapes[name]), lambda: reader.get_tensor(name))

    return {here: stored(there) for here, there in table.items()}
