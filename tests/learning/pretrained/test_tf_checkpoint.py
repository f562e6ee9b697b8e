"""TensorFlow checkpoints, by a table of names."""

from pathlib import Path

import numpy as np
import pytest

from bakeoff.foundation.errors import ConfigError, DataError
from support.first_weights import Small, firsts, numbered, start
from support.tf_checkpoints import write_checkpoint


@pytest.fixture
def tf_checkpoint(tmp_path: Path) -> Path:
    """As TensorFlow 1 wrote them: names with slashes, one of a shape that this network has."""
    names = {
        "Extractor/Conv/weights": np.full((3, 3, 3, 4), 7.0, np.float32),
        "Extractor/Conv/BatchNorm/moving_mean": np.full(4, 8.0, np.float32),
        "Logits/weights": np.full((4, 90), 9.0, np.float32),
    }
    return write_checkpoint(tmp_path / "model.ckpt-500", names)


def table(folder: Path, *lines: str) -> Path:
    (folder / "names.tsv").write_text("# ours\ttheirs\n\n" + "".join(f"{line}\n" for line in lines))
    return folder / "names.tsv"


ROWS = (
    "Conv1/kernel\tExtractor/Conv/weights",
    "bn_Conv1/moving_mean\tExtractor/Conv/BatchNorm/moving_mean",
    "logits/kernel\tLogits/weights",
)


def test_a_tensorflow_checkpoint_loads_by_its_table_of_names(tf_checkpoint: Path, tmp_path: Path) -> None:
    network, report = start(tf_checkpoint, names=table(tmp_path, *ROWS))
    assert firsts(network)["Conv1/kernel"] == 7.0 and firsts(network)["bn_Conv1/moving_mean"] == 8.0
    assert report["skipped"] == [{"name": "logits/kernel", "here": [4, 3], "there": [4, 90]}]
    assert report["source"].endswith("/model.ckpt-500")


@pytest.mark.parametrize(
    ("row", "kind", "message"),
    [
        ("Conv1/kernel Extractor", ConfigError, r"/names\.tsv:3: .*<TAB>.*'Conv1/kernel Extractor'"),
        ("Conv1/kernl\tLogits/weights", ConfigError,
         r"/names\.tsv:3: .*'Conv1/kernl'.*'Conv1/kernel'\?"),
        ("logits/bias\tLogits/biases", DataError,
         r"/model\.ckpt-500: .*'Logits/biases'.*train\.init\.names.*'logits/bias'.*did you mean"),
    ],
)  # fmt: skip
def test_a_wrong_line_of_the_table_is_named(
    row: str, kind: type[Exception], message: str, tf_checkpoint: Path, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=message):
        start(tf_checkpoint, names=table(tmp_path, row))


def test_an_unknown_tensorflow_checkpoint_needs_a_table_and_other_files_need_none(
    tf_checkpoint: Path, tmp_path: Path
) -> None:
    held = "Extractor/Conv/BatchNorm/moving_mean, Extractor/Conv/weights, Logits/weights"
    with pytest.raises(DataError, match=rf"/model\.ckpt-500: holds no names\b.*\b{held}\b.*train\.init\.names$"):
        start(tf_checkpoint)
    numbered(Small().build(3)).save_weights(tmp_path / "one.weights.h5")
    with pytest.raises(ConfigError, match=r"^train\.init\.names: .*null.*/one\.weights\.h5 .*/names\.tsv'"):
        start(tmp_path / "one.weights.h5", names=table(tmp_path, *ROWS))


def test_a_truncated_tensorflow_checkpoint_is_refused(tf_checkpoint: Path, tmp_path: Path) -> None:
    index = tf_checkpoint.with_name("model.ckpt-500.index")
    index.write_bytes(index.read_bytes()[:40])
    with pytest.raises(DataError, match=r"/model\.ckpt-500: cannot be read .*TensorFlow checkpoint \("):
        start(tf_checkpoint, names=table(tmp_path, *ROWS))
