"""What must not come in does not, and leaves nothing behind: neither a folder nor an option."""

import io
import os
import re
import shutil
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from bakeoff.foundation.errors import ConfigError, DataError, WorkspaceError
from bakeoff.importing.datasets.copying import KEPT_FREE
from bakeoff.importing.datasets.import_dataset import Brought, Request, bring_in, choose_name
from support.drawing import encoded, write
from support.exporters import dated_voc, label_studio_yolo, roboflow_csv, roboflow_voc
from support.messages import missing_in


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "workspace"
    (place / "conf/data").mkdir(parents=True)
    monkeypatch.chdir(place)
    return place


def bring(source: Path, **more: object) -> Brought:
    return bring_in(Request(source, "field", Path("data/raw/field"), **more))  # type: ignore[arg-type]


def pack(path: Path, entries: dict[str, bytes]) -> Path:
    """Zip names as they are, also those that no packer would write."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def require_nothing_left(workspace: Path) -> None:
    left = [path for path in workspace.rglob("*") if path.is_file() or path.is_symlink()]
    assert left == []
    assert not list(workspace.parent.glob("out*"))


SOUND = {"cat/1.png": encoded(1, "PNG"), "dog/2.png": encoded(2, "PNG")}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../out.png", "leaves the dataset's folder"),
        ("cat/../../out.png", "leaves the dataset's folder"),
        ("..\\out.png", "leaves the dataset's folder"),
        ("/out.png", "leaves the dataset's folder"),
        ("C:\\out.png", "leaves the dataset's folder"),
        ("cat/\x1b[2J.png", "control characters"),
        ("cat/" + "x" * 256, r"255 bytes"),
        ("cat/" + "ä" * 130 + "/1.png", r"255 bytes"),
        ("cat/" + "x" * 1100, r"1,024\b"),
    ],
)
def test_an_entry_with_a_bad_name_refuses_the_zip(name: str, why: str, workspace: Path) -> None:
    packed = pack(workspace.parent / "a.zip", SOUND | {name: b"x"})
    with pytest.raises(DataError, match=rf"a\.zip: .*: .*{why}.*nothing was unpacked"):
        bring(packed)
    require_nothing_left(workspace)


def test_a_link_in_a_zip_refuses_it(workspace: Path) -> None:
    packed = pack(workspace.parent / "a.zip", SOUND)
    for kind, why in ((stat.S_IFLNK, "a link"), (stat.S_IFIFO, "no plain file")):
        entry = zipfile.ZipInfo("cat/passwd.png")
        entry.create_system, entry.external_attr = 3, (kind | 0o777) << 16
        odd = Path(shutil.copy(packed, workspace.parent / "b.zip"))
        with zipfile.ZipFile(odd, "a") as archive:
            archive.writestr(entry, "/etc/passwd")
        with pytest.raises(DataError, match=rf"b\.zip: 'cat/passwd.png': {why}; nothing was unpacked"):
            bring(odd)
    require_nothing_left(workspace)


def test_a_name_twice_and_a_file_that_is_a_folder_refuse_a_zip(workspace: Path) -> None:
    packed = pack(workspace.parent / "a.zip", SOUND)
    with zipfile.ZipFile(packed, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("cat/1.png", b"other")
    with pytest.raises(DataError, match=r"a\.zip: 'cat/1.png' .*twice.*nothing was unpacked"):
        bring(packed)
    packed = pack(workspace.parent / "b.zip", SOUND | {"cat": b"x"})
    with pytest.raises(DataError, match=r"b\.zip: 'cat/1.png' .*is a file.*nothing was unpacked"):
        bring(packed)
    require_nothing_left(workspace)


def test_a_zip_bomb_is_refused_by_what_it_declares(workspace: Path) -> None:
    packed = pack(workspace.parent / "bomb.zip", SOUND | {"cat/zeros.bmp": bytes(120_000_000)})
    with pytest.raises(DataError, match=r"bomb\.zip: [\d,]+ bytes\b.* 120,0\d\d,\d{3}\b.*\b100 times\b"):
        bring(packed)
    require_nothing_left(workspace)


def test_an_entry_that_unpacks_to_more_than_it_declares_is_refused(workspace: Path) -> None:
    data = bytearray(pack(workspace.parent / "a.zip", {"cat/1.png": bytes(5_000_000)}).read_bytes())
    place = data.rfind(b"PK\x01\x02") + 24  # the size in the central directory
    data[place : place + 4] = struct.pack("<I", 1000)
    packed = write(workspace.parent / "b.zip", bytes(data))
    with pytest.raises(DataError, match=r"b\.zip: broken zip: "):
        bring(packed)
    require_nothing_left(workspace)


def test_ten_gigabytes_are_refused_before_a_byte_is_written(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workspace.parent / "large"
    write(folder / "cat/1.png", SOUND["cat/1.png"])
    with (folder / "cat/2.png").open("wb") as file:
        file.truncate(10_000_000_001)  # of a disk's own making: no byte of it is stored
    with pytest.raises(DataError, match=r"large: .*\b10\.0 GB\b.*\b10 GB\b.*--max-gb\b"):
        bring(folder)
    usage = shutil.disk_usage(workspace)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=KEPT_FREE + 10_000_000_000))
    with pytest.raises(WorkspaceError, match=r"no space .*data/raw: .*large\b.*\b10\.00 GB\D+10\.20 GB\b"):
        bring(folder, most_bytes=20_000_000_000)
    require_nothing_left(workspace)


def test_a_disk_that_fills_up_leaves_nothing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roboflow_voc(workspace.parent / "exported")
    real, written = shutil.copyfileobj, []

    def fill(source: io.BufferedReader, copy: io.BufferedWriter, length: int) -> None:
        written.append(copy.name)
        if len(written) > 5:
            raise OSError(28, os.strerror(28), copy.name)
        real(source, copy, length)

    monkeypatch.setattr(shutil, "copyfileobj", fill)
    with pytest.raises(OSError, match="No space left on device"):
        bring(workspace.parent / "exported")
    require_nothing_left(workspace)


def test_an_option_that_cannot_be_written_leaves_no_folder(workspace: Path) -> None:
    roboflow_voc(workspace.parent / "exported")
    shutil.rmtree(workspace / "conf/data")
    (workspace / "conf/data").write_text("", encoding="utf-8")  # a file where the folder should be
    with pytest.raises(OSError, match="conf/data"):
        bring(workspace.parent / "exported")
    assert not (workspace / "data/raw/field").exists()


@pytest.mark.parametrize("content", [b"", b"not a zip at all", b"\x1f\x8b\x08 of tar and gzip"])
def test_what_is_no_zip_is_refused(content: bytes, workspace: Path) -> None:
    with pytest.raises(DataError, match=r"a\.zip: .*zip or a folder"):
        bring(write(workspace.parent / "a.zip", content))
    require_nothing_left(workspace)


def test_a_damaged_zip_is_refused(workspace: Path) -> None:
    data = bytearray(pack(workspace.parent / "a.zip", SOUND).read_bytes())
    data[len(SOUND["cat/1.png"]) // 2] ^= 0xFF
    with pytest.raises(DataError, match=r"b\.zip: broken zip: "):
        bring(write(workspace.parent / "b.zip", bytes(data)))
    require_nothing_left(workspace)


@pytest.mark.parametrize("mark", [b"PK\x05\x06", b"PK\x01\x02"])
@pytest.mark.parametrize("filling", [b"\xff", b"\0"])
def test_a_zip_with_a_broken_end_is_refused(mark: bytes, filling: bytes, workspace: Path) -> None:
    data = pack(workspace.parent / "a.zip", SOUND).read_bytes()
    for offset in range(4, 22, 2):
        place = data.rfind(mark) + offset
        broken = data[:place] + filling * 4 + data[place + 4 :]
        try:
            bring(write(workspace.parent / "b.zip", broken))
        except (DataError, WorkspaceError) as error:
            assert "b.zip: " in str(error) or str(error) == "field: is empty"
            require_nothing_left(workspace)
        else:  # the bytes say nothing that anybody needs
            shutil.rmtree(workspace / "data/raw/field")
            shutil.rmtree(workspace / "conf/data")
            (workspace / "conf/data").mkdir()


def test_the_part_of_a_zip_that_is_divided_is_refused(workspace: Path) -> None:
    data = pack(workspace.parent / "a.zip", SOUND).read_bytes()
    end = data.find(b"PK\x05\x06")
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 99)  # the last of 99 parts
    with pytest.raises(DataError, match=r"b\.zip: broken zip: .*multiple disks"):
        bring(write(workspace.parent / "b.zip", data[:end] + locator + data[end:]))
    require_nothing_left(workspace)


def test_a_zip_whose_name_swallows_its_content_is_refused_briefly(workspace: Path) -> None:
    data = bytearray(pack(workspace.parent / "a.zip", SOUND | {"cat/3.png": os.urandom(9000)}).read_bytes())
    place = data.find(b"cat/3.png") - 4
    data[place : place + 2] = struct.pack("<H", 9000)  # the length of the name
    with pytest.raises(DataError, match=r"b\.zip: broken zip: ") as refused:
        bring(write(workspace.parent / "b.zip", bytes(data)))
    assert len(str(refused.value)) < 500 and str(refused.value).isprintable()


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_is_packed_otherwise_and_damaged_is_refused(packing: int, workspace: Path) -> None:
    path = workspace.parent / "a.zip"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("cat/1.png", SOUND["cat/1.png"])
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 40] = b"\xff" * 40
    with pytest.raises(DataError, match=r"b\.zip: broken zip: "):
        bring(write(workspace.parent / "b.zip", bytes(data)))
    require_nothing_left(workspace)


@pytest.mark.parametrize("change", ["grows", "shrinks", "goes", "pipe", "loop"])
def test_a_file_that_changes_while_it_is_copied_is_named(
    change: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last, real, written = workspace.parent / "exported/dog/2.png", shutil.copyfileobj, []
    for name, content in SOUND.items():
        write(workspace.parent / "exported" / name, content)

    def change_another(source: io.BufferedReader, copy: io.BufferedWriter, length: int) -> None:
        written.append(copy.name)
        if len(written) == 3:  # the first of those that are copied whole
            last.unlink()
            if change == "pipe":
                os.mkfifo(last)
            elif change == "loop":
                last.symlink_to(last.name)
            elif change != "goes":
                write(last, SOUND["dog/2.png"] * 2 if change == "grows" else b"x")
        real(source, copy, length)

    monkeypatch.setattr(shutil, "copyfileobj", change_another)
    with pytest.raises(DataError, match=r"dog/2\.png: .*while it was (copied|read); run the same command again"):
        bring(workspace.parent / "exported")
    require_nothing_left(workspace)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("names", "named"),
    [(["train/cat/1.png", "train/cat/2.png"], "'cat'"), (["cat/1.png", "dog/2.png", "test.txt"], "test.txt")],
)
def test_warnings_come_before_pictures_are_copied(names: list[str], named: str, packed: bool, workspace: Path) -> None:
    entries = dict(zip(names, [*SOUND.values(), b"2.png\n"], strict=False))
    for name, content in entries.items():
        write(workspace.parent / "exported" / name, content)
    source = pack(workspace.parent / "exported.zip", entries) if packed else workspace.parent / "exported"
    seen: list[str] = []

    def warn(line: str) -> None:
        seen.append(line)
        assert {path.stat().st_size for path in (workspace / "data/raw").rglob("*.png")} == {64}

    brought = bring_in(Request(source, "field", Path("data/raw/field")), warn)
    assert len(seen) == 1 and missing_in(seen[0], "warning: ", named) == []
    assert {path.read_bytes() for path in brought.folder.rglob("*.png")} == set(SOUND.values())


def test_a_zip_with_a_password_is_refused(workspace: Path) -> None:
    data = bytearray(pack(workspace.parent / "a.zip", SOUND).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(mark) + offset
        data[place] |= 1
    with pytest.raises(DataError, match=r"b\.zip: 'cat/1.png' .*encrypted"):
        bring(write(workspace.parent / "b.zip", bytes(data)))
    require_nothing_left(workspace)


def test_a_folder_with_a_link_or_a_pipe_is_refused(workspace: Path) -> None:
    folder = workspace.parent / "exported"
    write(folder / "cat/1.png", SOUND["cat/1.png"])
    (folder / "cat/2.png").symlink_to(Path(__file__).resolve())
    with pytest.raises(DataError, match=r"exported: cat/2\.png: a link .*leaves.*nothing was copied"):
        bring(folder)
    (folder / "cat/2.png").unlink()
    os.mkfifo(folder / "cat/2.png")
    with pytest.raises(DataError, match=r"exported: cat/2\.png: .*no regular file.*nothing was copied"):
        bring(folder)
    with pytest.raises(DataError, match="nowhere: no such file"):
        bring(workspace.parent / "nowhere")
    require_nothing_left(workspace)


def test_a_folder_is_not_copied_into_itself(workspace: Path) -> None:
    write(workspace / "cat/1.png", SOUND["cat/1.png"])
    with pytest.raises(DataError, match="workspace: .*into itself"):
        bring(workspace)


def test_a_web_page_called_jpg_is_reported_and_imported_as_what_it_is(workspace: Path) -> None:
    label_studio_yolo(workspace.parent / "exported")
    write(workspace.parent / "exported/images/page.jpg", "<!DOCTYPE html><html><script>alert(1)</script></html>")
    write(workspace.parent / "exported/labels/page.txt", "0 0.5 0.5 0.2 0.2\n")
    survey = bring(workspace.parent / "exported").survey
    assert (survey.total, survey.rejected) == (7, 1)
    [problem] = survey.problems
    assert missing_in(problem, "images/page.jpg: no image", "web page") == []


def test_files_of_macos_and_hidden_files_stay_outside(workspace: Path) -> None:
    entries = SOUND | {"__MACOSX/cat/._1.png": b"\x00\x05\x16\x07", "cat/.DS_Store": b"x", "Thumbs.db": b"x"}
    brought = bring(pack(workspace.parent / "a.zip", entries))
    assert brought.left_out == 3
    assert sorted(path.name for path in Path("data/raw/field").rglob("*") if path.is_file()) == ["1.png", "2.png"]


def test_what_is_there_is_never_written_over(workspace: Path) -> None:
    roboflow_csv(workspace.parent / "exported")
    write(workspace / "data/raw/field/mine.txt", "mine")
    with pytest.raises(DataError, match="data/raw/field: .*already.*--name.*--into"):
        bring(workspace.parent / "exported")
    shutil.rmtree(workspace / "data/raw/field")
    write(workspace / "conf/data/field.yaml", "kind: clips")
    with pytest.raises(ConfigError, match=r"conf/data/field\.yaml: .*already.*--name"):
        bring(workspace.parent / "exported")
    (workspace / "conf/data/field.yaml").unlink()
    write(workspace / "data/raw/season.dvc", "outs: []")
    request = Request(workspace.parent / "exported", "field", Path("data/raw/season/field"))
    with pytest.raises(DataError, match="data/raw/season/field: .*data/raw/season, .*DVC"):
        bring_in(request)
    for elsewhere in (Path("data/raw"), Path("data/other"), Path("data/raw/../x")):
        with pytest.raises(ConfigError, match=rf"--into: .*in data/raw/.*{re.escape(elsewhere.as_posix())}"):
            bring_in(Request(workspace.parent / "exported", "field", elsewhere))


def test_a_folder_of_data_raw_is_read_where_it_is(workspace: Path) -> None:
    dated_voc(workspace / "data/raw/days/all")
    brought = bring(workspace / "data/raw/days")
    assert brought.folder == Path("data/raw/days/all")
    assert not Path("data/raw/field").exists()
    assert "path: data/raw/days/all\n" in brought.option.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "name"),
    [("Our Field.v3i.coco.zip", "Our_Field_v3i_coco"), ("2026.zip", "imported_2026"), ("preset", "imported_preset")],
)
def test_an_option_is_named_after_the_file(file: str, name: str) -> None:
    assert choose_name(None, Path(file)) == name


def test_a_name_that_no_option_can_have_is_refused() -> None:
    for name in ("../x", "2026", "preset", ""):
        with pytest.raises(ConfigError, match=rf"--name: .*- and _.*'preset'.*{re.escape(repr(name))}"):
            choose_name(name, Path("a.zip"))
