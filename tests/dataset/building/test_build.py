"""The whole build: the same bytes however it is done, whatever stops it in between."""

import errno
import hashlib
import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from bakeoff.dataset.building import build as building
from bakeoff.dataset.building import shard_assignment, worker_tasks, write_shards
from bakeoff.dataset.building.worker_pool import WorkerPool
from bakeoff.dataset.records.manifest import read_manifest
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.dataset import Merged
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.foundation.errors import DataError, OutOfRange, WorkspaceError
from bakeoff.foundation.result_code import deciding_digest
from support.built import Build
from support.drawing import encoded, voc, write, write_images, write_scenes
from support.messages import missing_in
from support.page_reading import defects_of


@pytest.fixture
def eight_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_assignment, "EXAMPLES_PER_SHARD", 8)


@pytest.fixture
def four_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_assignment, "EXAMPLES_PER_SHARD", 4)


def test_one_worker_and_three_make_the_same_files(make: Build, tmp_path: Path) -> None:
    write_scenes(tmp_path / "set", 70)
    write(tmp_path / "set/images/broken.jpg", "no image")
    write(tmp_path / "set/annotations/broken.xml", voc([]))
    settings = PascalVoc(path="set", max_side=30)
    assert make(settings, workers=1, out="one").bytes() == make(settings, workers=3, out="three").bytes()


def test_boxes_of_squares_are_the_same_shares_of_the_image(make: Build, tmp_path: Path) -> None:
    write_scenes(tmp_path / "set", 12)
    whole = make(PascalVoc(path="set"), out="whole").every()
    built = make(PascalVoc(path="set", max_side=20, square=True), out="square")
    assert built.every().keys() == whole.keys()
    for name, row in built.every().items():
        image = Image.open(io.BytesIO(row["image/encoded"][0]))
        assert image.size == (20, 20) == (row["image/width"][0], row["image/height"][0])
        assert whole[name]["image/width"][0] > whole[name]["image/height"][0] > 20
        for side in ("xmin", "ymin", "xmax", "ymax"):
            assert row[f"image/object/bbox/{side}"] == whole[name][f"image/object/bbox/{side}"]


def test_a_square_without_its_side_is_refused() -> None:
    with pytest.raises(OutOfRange, match=r"^square: .*\bfalse\b.*data\.max_side.*\bTrue$"):
        PascalVoc(path="set", square=True)


def test_a_file_made_later_or_in_another_order_changes_nothing(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 20, "dog": 20})
    before = make(ImageFolders(path="set"), out="before").bytes()
    for file in sorted((tmp_path / "set").rglob("*.jpg"), reverse=True):
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content)
    assert make(ImageFolders(path="set"), out="after").bytes() == before


def test_one_image_more_changes_few_shards(four_a_shard: None, make: Build, tmp_path: Path) -> None:
    """Also where it makes the number of shards, and with it every name, another."""
    write_images(tmp_path / "set", {"cat": 100})
    shards = [
        {
            shard.sha256
            for split in make(ImageFolders(path="set"), out="0").manifest.splits.values()
            for shard in split.shards
        }
    ]
    for number in range(6):
        write(tmp_path / f"set/cat/new_{number}.jpg", encoded(5000 + number))
        manifest = make(ImageFolders(path="set"), out=str(number + 1)).manifest
        shards.append({shard.sha256 for split in manifest.splits.values() for shard in split.shards})
    assert len({len(one) for one in shards}) > 1  # the number of shards did change on the way
    for before, after in pairwise(shards):
        assert len(after - before) <= 4 < len(after) / 5


def test_the_number_of_shards_can_be_set(make: Build, tmp_path: Path) -> None:
    from bakeoff.dataset.sources.dataset import ShardCounts

    write_images(tmp_path / "set", {"cat": 40})
    built = make(ImageFolders(path="set", shards=ShardCounts(train=3, validation=2)))
    assert [shard.file for shard in built.manifest.splits["train"].shards] == [
        f"train-{n:05d}-of-00003" for n in range(3)
    ]
    assert len(built.manifest.splits["validation"].shards) == 2
    with pytest.raises(DataError, match=r"data\.shards\.validation: .*\b8 examples.*\b9$"):
        make(ImageFolders(path="set", shards=ShardCounts(validation=9)))


def test_the_manifest_fits_its_files(make: Build, tmp_path: Path) -> None:
    write_scenes(tmp_path / "set", 30)
    built = make(PascalVoc(path="set"))
    manifest = read_manifest(built.folder)
    assert manifest == built.manifest
    for split in manifest.splits.values():
        assert split.examples == sum(shard.examples for shard in split.shards)
        assert split.decoded_bytes == split.examples * 32 * 24 * 3
        for shard in split.shards:
            content = (built.folder / shard.file).read_bytes()
            assert (shard.bytes, shard.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert not list((tmp_path / ".bakeoff/records").glob("*/*"))  # nothing in flight is left


# What stops a build.


class Stopped(BaseException):
    """As sudden as a kill, as far as the files are concerned."""


def stop(*arguments: object) -> None:
    raise Stopped


def test_a_stopped_build_resumes_from_its_checks_and_shards(
    eight_a_shard: None, make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "set", {"cat": 60})
    expected = make(ImageFolders(path="set"), out="expected").bytes()
    write_shard, examine = write_shards.write_shard, worker_tasks.examine
    written: list[str] = []

    def stops_in_the_fourth(*arguments: object) -> write_shards.Seal:
        if len(written) == 3:
            raise Stopped
        seal = write_shard(*arguments)  # type: ignore[arg-type]
        written.append(seal.shard.file)
        return seal

    monkeypatch.setattr(write_shards, "write_shard", stops_in_the_fourth)
    with pytest.raises(Stopped):
        make(ImageFolders(path="set"))
    assert not (tmp_path / "records").exists()
    [folder] = [path for path in (tmp_path / ".bakeoff/records").iterdir() if path.is_dir()]
    kept = {file: (folder / file).stat().st_mtime_ns for file in written}

    def never(*arguments: object) -> None:
        raise AssertionError("checked again")

    monkeypatch.setattr(worker_tasks, "examine", never)
    seen: dict[str, int] = {}

    def watched(*arguments: object) -> write_shards.Seal:
        seal = write_shard(*arguments)  # type: ignore[arg-type]
        seen[seal.shard.file] = (folder / seal.shard.file).stat().st_mtime_ns
        return seal

    monkeypatch.setattr(write_shards, "write_shard", watched)
    assert make(ImageFolders(path="set")).bytes() == expected
    assert {file: seen[file] for file in kept} == kept
    monkeypatch.setattr(worker_tasks, "examine", examine)


@pytest.fixture
def stopped(make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, bytes]]:
    """What a build of detection left that was stopped when all was written, and what it would have made."""
    write_scenes(tmp_path / "set", 20)
    expected = make(PascalVoc(path="set"), out="expected").bytes()
    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(building, "_gather", stop)
        make(PascalVoc(path="set"))
    [folder] = [path for path in (tmp_path / ".bakeoff/records").iterdir() if path.is_dir()]
    return folder, expected


@pytest.mark.parametrize("damage", ["empty", "zeros", "gone"])
@pytest.mark.parametrize(
    "file", ["{}.json", "boxes-{}.npy", "index-{}.npy", "{}"], ids=["seal", "boxes", "index", "shard"]
)
def test_what_a_power_cut_left_of_a_shard_is_made_anew(
    file: str, damage: str, stopped: tuple[Path, dict[str, bytes]], make: Build
) -> None:
    folder, expected = stopped
    path = folder / file.format("train-00000-of-00001")
    size = path.stat().st_size
    path.unlink()
    if damage != "gone":
        path.write_bytes(bytes(size if damage == "zeros" else 0))
    assert make(PascalVoc(path="set")).bytes() == expected


@pytest.mark.parametrize("text", ["[]", "{}", '{"shard": 1}', "null", "\ufeff{", '"' * 9])
def test_a_seal_that_is_none_counts_for_nothing(text: str, stopped: tuple[Path, dict[str, bytes]], make: Build) -> None:
    folder, expected = stopped
    (folder / "train-00000-of-00001.json").write_text(text, encoding="utf-8")
    assert make(PascalVoc(path="set")).bytes() == expected


@pytest.mark.parametrize("kept", [0, 4096])
def test_a_damaged_list_of_items_is_reported_once_or_made_anew(
    kept: int, stopped: tuple[Path, dict[str, bytes]], make: Build
) -> None:
    folder, expected = stopped
    catalogue = folder / "catalogue.db"
    size = catalogue.stat().st_size
    catalogue.write_bytes(catalogue.read_bytes()[:kept] + b"\xff" * (size - kept))
    if kept:
        with pytest.raises(WorkspaceError, match=rf"{folder.name}: .*damaged \(.*malformed\).*deleted.*same command"):
            make(PascalVoc(path="set"))
    assert make(PascalVoc(path="set")).bytes() == expected


def test_a_build_by_other_code_resumes_from_nothing(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only this room's code: sources and the format decide the records, too."""
    write_images(tmp_path / "set", {"cat": 20})
    names = []
    for digest in (deciding_digest("build_records"), "other code"):
        monkeypatch.setattr(building, "deciding_digest", {"build_records": digest}.get)
        monkeypatch.setattr(building, "_gather", lambda folder, *_: names.append(folder.name))
        make(ImageFolders(path="set"))
    assert len(set(names)) == 2


def test_an_image_that_changed_since_the_stop_is_checked_again(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "set", {"cat": 20})
    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(write_shards, "write_shard", stop)
        make(ImageFolders(path="set"))
    write(tmp_path / "set/cat/003.jpg", encoded(777))
    (tmp_path / "set/cat/004.jpg").unlink()
    rows = make(ImageFolders(path="set")).every()
    assert rows["cat/003.jpg"]["image/encoded"] == [encoded(777)]
    assert "cat/004.jpg" not in rows


def test_a_file_that_changes_under_the_builds_hands_is_an_error(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "set", {"cat": 20})
    choose = building.choose_shards

    def change(*arguments: object) -> dict[str, int]:
        write(tmp_path / "set/cat/003.jpg", encoded(777))
        return choose(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "choose_shards", change)
    with pytest.raises(DataError, match=r"cat/003\.jpg: changed while.*same command"):
        make(ImageFolders(path="set"))


@pytest.mark.parametrize("stage", ["write_shard", "_gather"])
def test_a_full_disk_leaves_the_old_records(
    stage: str, make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "set", {"cat": 20})
    before = make(ImageFolders(path="set")).bytes()
    write(tmp_path / "set/cat/new.jpg", encoded(777))

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(write_shards if stage == "write_shard" else building, stage, full)
    with pytest.raises(OSError, match="No space left"):
        make(ImageFolders(path="set"))
    assert {path.name: path.read_bytes() for path in sorted((tmp_path / "records").iterdir())} == before


def test_too_many_rejected_files_leave_the_old_records(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "set", {"cat": 19})
    before = make(ImageFolders(path="set")).bytes()
    write(tmp_path / "set/cat/bad.jpg", "no image")
    make(ImageFolders(path="set"), out="one")  # 1 of 20 is just 5 %
    write(tmp_path / "set/cat/bad2.jpg", "no image")
    with pytest.raises(DataError, match=r"set: 2 of 21 .*rejected \(9\.5%\).*data\.max_rejected .*\b5\.0%") as caught:
        make(ImageFolders(path="set"))
    assert "  cat/bad.jpg: no image: starts with b'no image'" in str(caught.value).splitlines()
    assert {path.name: path.read_bytes() for path in sorted((tmp_path / "records").iterdir())} == before
    assert make(ImageFolders(path="set", max_rejected=0.1), out="two").findings.counts["rejected"] == 2


def dies_of_seven(piece: list[int]) -> list[int]:
    if 7 in piece:
        os._exit(1)
    return piece


def test_an_element_that_kills_its_process_is_identified_and_the_others_are_done() -> None:
    with WorkerPool(2, int) as pool:
        pieces = [[number, number + 1] for number in range(0, 20, 2)]
        results = list(pool.each(dies_of_seven, pieces, lambda element: [-element]))
    assert sorted(number for result in results for number in result) == sorted([-7, *range(7), *range(8, 20)])


# Several datasets as one.


def test_datasets_with_the_same_labels_are_merged(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a", {"cat": 10, "dog": 10})
    write_images(tmp_path / "b/train", {"cat": 3, "dog": 3}, first_seed=100)
    write_images(tmp_path / "b/validation", {"cat": 2, "dog": 2}, first_seed=200)
    built = make(first=ImageFolders(path="a"), second=ImageFolders(path="b"))
    assert len(built.every()) == 30
    assert [name for name in built.names("validation") if name.startswith("second/")] == [
        f"second/validation/{label}/00{n}.jpg" for label in ("cat", "dog") for n in (0, 1)
    ]


def test_datasets_with_other_labels_are_refused_with_what_each_lacks(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a", {"ballon": 3, "car": 3})
    write_images(tmp_path / "b", {"balloon": 3, "car": 3, "zebra": 2}, first_seed=100)
    with pytest.raises(DataError) as caught:
        make(first=ImageFolders(path="a"), second=ImageFolders(path="b"))
    rule, *lacking = str(caught.value).splitlines()[:4]
    assert missing_in(rule, "data.merge", "first", "second", "same labels") == []
    assert missing_in(lacking[0], "only first", "'ballon'", "second", "'balloon'") == []
    assert missing_in(lacking[1], "only second", "'balloon'", "first", "'ballon'") == []
    assert missing_in(lacking[2], "only second", "'zebra'") == []


def test_datasets_for_other_tasks_are_refused(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a", {"cat": 4})
    write_scenes(tmp_path / "b", 4)
    with pytest.raises(DataError, match=r"data\.merge: .*task.*first .*classification.*second .*detection"):
        make(first=ImageFolders(path="a"), second=PascalVoc(path="b"))


def test_the_same_image_in_two_datasets_is_on_one_side(make: Build, tmp_path: Path) -> None:
    write_images(tmp_path / "a", {"cat": 10})
    write_images(tmp_path / "b", {"cat": 10})
    built = make(first=ImageFolders(path="a"), second=ImageFolders(path="b"))
    sides = [{row["image/encoded"][0] for row in built.rows(split).values()} for split in ("train", "validation")]
    assert not sides[0] & sides[1]


def test_a_merge_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"merge: .*\btwo\b.*conf/data/.*\['a'\]"):
        Merged(merge=("a",))


# The report.


def test_the_report_counts_shows_and_needs_nothing_else(make: Build, tmp_path: Path) -> None:
    write_scenes(tmp_path / "set", 30)
    write(tmp_path / "set/images/grey.png", encoded(70, "PNG"))
    write(tmp_path / "set/annotations/grey.xml", voc([("cat", 0, 0, 33, 24)]))
    built = make(PascalVoc(path="set"))
    report = built.report
    assert sum(report["counts"][split]["by class"]["cat"] for split in ("train", "validation")) == 31
    assert report["changed"] == {"images/grey.png": ["converted from PNG", "box 1 clipped to the image"]}
    page = (built.folder / "report.html").read_text()
    assert page.count("<figure>") == 16 + 6  # of each side as many as are shown, or all
    assert 'src="data:image/jpeg;base64,' in page and not re.search(r"https?:|url\(|<script|<link", page)
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'\"" in page
    assert defects_of(page) == [] and re.search(r'alt="\d+ box(es)? of cat', page)
    assert missing_in(page, "images/grey.png", "converted from PNG", "box 1 clipped") == []


# Killed for real.

SCRIPT = """
import sys
from pathlib import Path
from bakeoff.dataset.building import shard_assignment
from bakeoff.dataset.building.build import build
from bakeoff.dataset.sources.dataset import Part
from bakeoff.dataset.sources.class_folders import ImageFolders

def main():
    examples.EXAMPLES_PER_SHARD = 32
    build([Part("", ImageFolders(path="set", max_side=64))], Path("records"), 2)

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
def test_kills_at_ten_random_moments_end_with_the_same_bytes(make: Build, tmp_path: Path) -> None:
    for number in range(600):
        write(tmp_path / f"set/cat{number % 3}/{number}.jpg", encoded(number, width=320, height=240))
    write(tmp_path / "script.py", SCRIPT)
    start = time.monotonic()
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True)
    whole = time.monotonic() - start
    expected = {path.name: path.read_bytes() for path in sorted((tmp_path / "records").iterdir())}
    moments = random.Random(0)
    killed = 0
    for _ in range(10):
        if moments.random() < 0.5:
            (tmp_path / "records").rename(tmp_path / "gone") if (tmp_path / "records").exists() else None
            subprocess.run(["rm", "-rf", str(tmp_path / "gone")], check=True)
        process = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, start_new_session=True)
        time.sleep(moments.uniform(0.1, 1.0) * whole)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
        if (tmp_path / "records/manifest.json").exists():
            built = {path.name: path.read_bytes() for path in sorted((tmp_path / "records").iterdir())}
            assert built == expected
    assert killed >= 5
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True)
    assert {path.name: path.read_bytes() for path in sorted((tmp_path / "records").iterdir())} == expected


def test_a_shard_in_flight_that_lost_bytes_is_noticed(
    make: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path / "set", {"cat": 20})
    gather = building._gather

    def cut(folder: Path, *arguments: object) -> str | None:
        shard = folder / "train-00000-of-00001"
        shard.write_bytes(shard.read_bytes()[:-5])
        return gather(folder, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "_gather", cut)
    with pytest.raises(WorkspaceError, match=r"train-00000-of-00001: .*\b\d+ bytes.*\b\d+;.*delete"):
        make(ImageFolders(path="set"))
