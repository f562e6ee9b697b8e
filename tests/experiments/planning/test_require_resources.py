"""Whether a run may start: only if memory and disk are left for it, or somebody insists."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bakeoff.experiments.planning import require_resources
from bakeoff.experiments.planning.require_resources import require_gpu_room, require_room
from bakeoff.foundation.errors import TryAgainLater
from bakeoff.foundation.files import bytes_below
from bakeoff.foundation.machine import Gpu

GB = 10**9


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what is left."""
    monkeypatch.delenv("BAKEOFF_START_ANYWAY", raising=False)

    def set_room(memory: int = 100 * GB, disk: int | None = 100 * GB, gpus: Sequence[int] = ()) -> None:
        monkeypatch.setattr(require_resources, "available_memory", lambda: memory)
        monkeypatch.setattr(require_resources, "disk_free", lambda folder: disk)
        monkeypatch.setattr(require_resources, "list_gpus", lambda: [Gpu("", "", "", 0, free) for free in gpus])

    return set_room


def test_an_estimate_is_an_upper_bound_so_a_part_of_it_is_enough(left: Callable[..., None]) -> None:
    left(memory=2 * GB)
    require_room(memory_bytes=5 * GB, disk_bytes={})
    left(memory=2 * GB - 1)
    message = r"^memory: 2 GB .*\b5 GB\b.*\b40% .*\btrain\.batch_size\b.*\bBAKEOFF_START_ANYWAY=1\b"
    with pytest.raises(TryAgainLater, match=message):
        require_room(memory_bytes=5 * GB, disk_bytes={})


def test_folders_on_one_disk_count_together(left: Callable[..., None], tmp_path: Path) -> None:
    left(disk=500_000_000)
    wanted = {tmp_path / "runs/5d1c": 300_000_000, tmp_path: 200_000_000}
    require_room(memory_bytes=1, disk_bytes=wanted)
    left(disk=499_999_999)
    message = r"^disk: 500 MB .*\b500 MB\b.*`bakeoff clean`"
    with pytest.raises(TryAgainLater, match=message):
        require_room(memory_bytes=1, disk_bytes=wanted)


def test_what_a_run_wrote_before_counts_as_written(left: Callable[..., None], tmp_path: Path) -> None:
    """Less than nothing to write takes nothing from what another folder needs."""
    left(disk=100)
    require_room(memory_bytes=1, disk_bytes={tmp_path: -50, tmp_path / "out": 100})
    with pytest.raises(TryAgainLater, match=r"^disk: "):
        require_room(memory_bytes=1, disk_bytes={tmp_path: -50, tmp_path / "out": 101})


def test_a_disk_of_unknown_free_space_is_no_reason(left: Callable[..., None], tmp_path: Path) -> None:
    left(disk=None)
    require_room(memory_bytes=1, disk_bytes={tmp_path: 10**15})


def test_a_full_gpu_is_named(left: Callable[..., None]) -> None:
    left(gpus=[8 * GB, 1 * GB])
    require_gpu_room(4 * GB, devices=1)
    message = r"^memory of GPU 1: 1 GB .*\b4 GB\b.*\b40% "
    with pytest.raises(TryAgainLater, match=message):
        require_gpu_room(4 * GB, devices=2)
    left()
    require_gpu_room(4 * GB, devices=2)


def test_who_knows_better_starts_anyway(left: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    left(memory=0, disk=0, gpus=[0])
    monkeypatch.setenv("BAKEOFF_START_ANYWAY", "1")
    require_room(memory_bytes=GB, disk_bytes={Path("x"): GB})
    require_gpu_room(GB, devices=1)
    monkeypatch.setenv("BAKEOFF_START_ANYWAY", "0")
    with pytest.raises(TryAgainLater):
        require_room(memory_bytes=GB, disk_bytes={})


def test_bytes_below_a_folder_are_its_files(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_bytes(bytes(30))
    (tmp_path / "d").write_bytes(bytes(12))
    assert bytes_below(tmp_path) == 42 and bytes_below(tmp_path / "nowhere") == 0
