"""What a run leaves: weights, their digest, its state, its peak memory."""

import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from bakeoff.foundation.errors import DataError, WorkspaceError
from bakeoff.foundation.machine import peak_memory_bytes
from bakeoff.learning.networks import weights
from bakeoff.learning.networks.cnn import Cnn
from bakeoff.learning.networks.ssd import Ssd

SMALL = Cnn(input_size=16, width=0.25)


def test_restored_weights_are_the_saved_ones_to_the_bit(tmp_path: Path) -> None:
    network = SMALL.build(4)
    for weight in network.weights:
        weight.assign(np.random.default_rng(len(weight.path)).normal(size=weight.shape))
    weights.save(network, tmp_path / weights.FINAL)
    restored = weights.restore(SMALL, 4, tmp_path / weights.FINAL)
    for saved, read in zip(network.weights, restored.weights, strict=True):
        np.testing.assert_array_equal(saved.numpy(), read.numpy())
    assert weights.digest(restored) == weights.digest(network)


@pytest.mark.parametrize(
    ("other", "classes"),
    [
        (SMALL, 5),
        (Cnn(input_size=16, width=0.5), 4),
        (Ssd(input_size=32, width=0.1, pyramid_channels=8), 4),
    ],
    ids=["one more class", "twice the width", "another network"],
)
def test_weights_of_another_network_are_refused(other: Cnn | Ssd, classes: int, tmp_path: Path) -> None:
    weights.save(SMALL.build(4), tmp_path / weights.BEST)
    message = r"/best\.weights\.h5: .*not fit.*`dvc repro --force train`$"
    with pytest.raises(DataError, match=message):
        weights.restore(other, classes, tmp_path / weights.BEST)


def test_a_damaged_file_is_refused_wherever_hdf5_finds_that_out(tmp_path: Path) -> None:
    """In a group's heap of names it raises another error than elsewhere."""
    weights.save(SMALL.build(4), tmp_path / weights.BEST)
    content = (tmp_path / weights.BEST).read_bytes()
    for mark in (b"HEAP", b"TREE", b"SNOD"):
        (tmp_path / weights.BEST).write_bytes(content.replace(mark, b"DAMA"))
        with pytest.raises(DataError, match=r"/best\.weights\.h5: .*`dvc repro --force train`$"):
            weights.restore(SMALL, 4, tmp_path / weights.BEST)


@pytest.mark.parametrize(("saved", "asked"), [(2, 1), (1, 2), (1, 0)])
def test_weights_of_a_detector_with_other_head_convolutions_are_refused(saved: int, asked: int, tmp_path: Path) -> None:
    """All of the shapes that are asked for are there, but they belong to other layers."""

    def detector(head_convolutions: int) -> Ssd:
        return Ssd(input_size=32, width=0.1, pyramid_channels=8, head_convolutions=head_convolutions)

    weights.save(detector(saved).build(2), tmp_path / weights.BEST)
    with pytest.raises(DataError, match="not fit"):
        weights.restore(detector(asked), 2, tmp_path / weights.BEST)


def test_weights_are_not_written_where_they_would_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDF5 would crash the process half way through."""
    network = SMALL.build(2)
    needed = sum(4 * weight.numpy().size for weight in network.weights)
    disk = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda path: disk._replace(free=needed))
    message = r"^no space .*/best\.weights\.h5\D+0\.\d\D+\d\.\d MB\b"
    with pytest.raises(WorkspaceError, match=message):
        weights.save(network, tmp_path / weights.BEST)
    assert list(tmp_path.iterdir()) == []


def test_file_of_weights_is_no_larger_than_what_is_asked_to_be_free(tmp_path: Path) -> None:
    for settings in (SMALL, Ssd(input_size=32, width=0.1, pyramid_channels=8)):
        network = settings.build(2)
        weights.save(network, tmp_path / weights.BEST)
        asked = weights.FILE_SHARE * 4 * network.count_params() + weights.FILE_BYTES
        assert (tmp_path / weights.BEST).stat().st_size <= asked


def test_file_that_holds_no_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / weights.BEST).write_bytes(b"not HDF5")
    with pytest.raises(DataError, match=r"/best\.weights\.h5: .*not fit.*`dvc repro --force train`"):
        weights.restore(SMALL, 4, tmp_path / weights.BEST)


def test_missing_weights_say_which_command_makes_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/final\.weights\.h5: missing.*`dvc repro train`$"):
        weights.restore(SMALL, 4, tmp_path / weights.FINAL)


def test_digest_changes_with_the_last_bit_of_any_weight() -> None:
    network = SMALL.build(2)
    seen = {weights.digest(network)}
    for weight in network.weights:
        value = weight.numpy()
        value.flat[-1] = np.nextafter(value.flat[-1], np.float32(9))
        weight.assign(value)
        seen.add(weights.digest(network))
    assert len(seen) == 1 + len(network.weights)


def test_peak_memory_is_in_bytes_and_remembers_what_was_given_back() -> None:
    before = peak_memory_bytes()
    block = np.ones(128 * 2**20 // 8)  # 128 MiB, touched
    held = psutil.Process().memory_info().rss
    del block
    assert peak_memory_bytes() >= max(before, held * 0.98)
    assert before > 50_000_000
