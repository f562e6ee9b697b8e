"""Files and folders are what they were or what they shall be; two that write at once are not in each other's way."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.foundation.files import NO_REGULAR_FILE, append_line, building, read_regular, write_table, write_whole


@pytest.mark.parametrize("lasting", [False, True])
def test_a_file_is_written_with_its_folder_and_nothing_is_left_beside_it(tmp_path: Path, lasting: bool) -> None:
    file = tmp_path / "in/it/state.json"
    for text in ("longer than the other\n", "ä\n"):
        write_whole(file, text, lasting=lasting)
        assert file.read_bytes() == text.encode()
    assert [path.name for path in file.parent.iterdir()] == ["state.json"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state.json"
    write_whole(file, "old")
    monkeypatch.setattr(os, "fsync", lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_whole(file, "new", lasting=True)
    assert file.read_text() == "old"


def test_what_lasts_is_on_the_disk_under_its_name_before_anything_else_happens(tmp_path: Path) -> None:
    """The content before the name, the name before the call returns: as the system sees it."""
    imports = "from pathlib import Path; from bakeoff.foundation.files import {0}; "
    code = imports + "{0}(Path({1!r}), 'text'{2}); Path({1!r}).stat()"
    for call, more in (("write_whole", ", lasting=True"), ("append_line", "")):
        trace, file = tmp_path / "trace", tmp_path / call / "state"
        command = ["strace", "-f", "-y", "-o", str(trace), "-e", "trace=fsync,rename,openat"]
        try:
            subprocess.run([*command, sys.executable, "-c", code.format(call, str(file), more)], check=True)
        except FileNotFoundError:
            pytest.skip("needs strace")
        lines = [line for line in trace.read_text().splitlines() if str(file.parent) in line and "O_DIR" not in line]
        order = re.findall(rf"(fsync\(\d+<{file}|rename|fsync\(\d+<{file.parent}>)", "\n".join(lines))
        kinds = ["name" if one.endswith(">") else "content" if one.startswith("fsync") else one for one in order]
        assert kinds == (["content", "rename", "name"] if call == "write_whole" else ["content", "name"])


@pytest.mark.parametrize("before", ["", "one\n", "one", "\x00\x00"])
def test_a_line_is_appended_whole_whatever_was_left_of_the_one_before(tmp_path: Path, before: str) -> None:
    file = tmp_path / "in/it.jsonl"
    file.parent.mkdir()
    file.write_text(before)
    for line in ("two", "three"):
        append_line(file, line)
    assert file.read_text().splitlines() == [*before.splitlines(), "two", "three"]


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "cached").write_text("cached")
    (tmp_path / "file").symlink_to(tmp_path / "cached")
    write_whole(tmp_path / "file", "own")
    assert (tmp_path / "cached").read_text() == "cached" and (tmp_path / "file").read_text() == "own"


def test_nothing_is_written_through_a_link_that_somebody_put_where_a_file_is_prepared(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("theirs")
    (tmp_path / f"classes.txt.{os.getpid()}.partial").symlink_to(tmp_path / "outside")
    write_whole(tmp_path / "classes.txt", "own")
    assert (tmp_path / "outside").read_text() == "theirs" and not (tmp_path / "classes.txt").is_symlink()
    assert (tmp_path / "classes.txt").read_text() == "own"


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with a name")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """Somebody else's export.json may be one. A child reads it, for a test that waits would never end."""
    os.mkfifo(tmp_path / "pipe")
    code = (
        "import sys; from pathlib import Path; from bakeoff.foundation import files\n"
        "path = Path(sys.argv[1]); print(files.read_text(path), files.read_json(path))\n"
        "for read in (files.load_json, files.hash_file):\n"
        "    try: read(path)\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "pipe")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.splitlines() == ["None {}", NO_REGULAR_FILE, NO_REGULAR_FILE]


def test_a_file_that_comes_in_small_pieces_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a disk of another machine."""
    (tmp_path / "file").write_bytes(bytes(range(200)))
    read = os.read
    monkeypatch.setattr(os, "read", lambda handle, length: read(handle, min(length, 7)))
    lengths: list[int] = []
    assert read_regular(tmp_path / "file", lengths.append) == bytes(range(200))
    assert lengths == [200]


def test_a_file_that_grows_or_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"as it was")

    def grow(length: int) -> None:
        with path.open("ab") as file:
            file.write(b", and more")

    def refuse(length: int) -> None:
        raise ValueError(f"{length} bytes are too many")

    with pytest.raises(ValueError, match="grows"):
        read_regular(path, grow)
    with pytest.raises(ValueError, match="19 bytes"):
        read_regular(path, refuse)


def test_a_finished_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/old").touch()
    with building(tmp_path / "out") as partial:
        (partial / "new").touch()
        assert (tmp_path / "out/old").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "new"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_folder_that_fails_leaves_the_old_one(error: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/old").touch()
    with pytest.raises(error), building(tmp_path / "out") as partial:
        (partial / "new").touch()
        raise error
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "old"]


def test_what_a_killed_build_left_does_not_get_into_the_next(tmp_path: Path) -> None:
    for name in ("out.partial", "out.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stale").touch()
    (tmp_path / "out").mkdir()
    with building(tmp_path / "out") as partial:
        assert list(partial.iterdir()) == []
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="folders are opened")
def test_a_finished_folder_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def note(number: int) -> None:
        synced.append(os.fstat(number).st_ino)
        if os.fstat(number).st_ino != tmp_path.stat().st_ino:
            assert not (tmp_path / "out").exists()
        fsync(number)

    monkeypatch.setattr(os, "fsync", note)
    with building(tmp_path / "out") as partial:
        (partial / "deep").mkdir()
        (partial / "deep/file").write_text("content")
        (partial / "deep/file").chmod(0o444)
    below = {path.stat().st_ino for path in (tmp_path / "out", *(tmp_path / "out").rglob("*"))}
    assert len(below) == 3 and below == set(synced[:-1]) and synced[-1] == tmp_path.stat().st_ino


def test_columns_come_in_the_order_in_which_their_keys_first_occur(tmp_path: Path) -> None:
    write_table(tmp_path / "a.tsv", [{"step": 1, "loss": 0.5}, {"step": 2, "mAP": 0.25, "loss": 0.125}])
    assert (tmp_path / "a.tsv").read_text() == "step\tloss\tmAP\n1\t0.5\t\n2\t0.125\t0.25\n"


def test_rows_may_come_from_an_iterator(tmp_path: Path) -> None:
    write_table(tmp_path / "a.tsv", ({"square": number * number} for number in range(3)))
    assert (tmp_path / "a.tsv").read_text() == "square\n0\n1\n4\n"


def test_labels_with_tabs_quotes_and_accents_read_back_as_they_were(tmp_path: Path) -> None:
    labels = ["a\tb", 'say "hi"', "two\nlines", "œuf à la coque"]
    write_table(tmp_path / "a.tsv", [{"label": label, "count": 1} for label in labels])
    with (tmp_path / "a.tsv").open(newline="", encoding="utf-8") as file:
        assert [row["label"] for row in csv.DictReader(file, delimiter="\t")] == labels


def test_table_without_rows_holds_nothing_that_reads_as_a_row(tmp_path: Path) -> None:
    write_table(tmp_path / "a.tsv", [])
    assert (tmp_path / "a.tsv").read_text().strip() == ""
