"""Files that list labels."""

from pathlib import Path

import pytest

from bakeoff.dataset.sources.labels import read_labels, require_known
from bakeoff.foundation.errors import DataError
from support.drawing import write


@pytest.mark.parametrize("text", ["dog\ncat\n", "dog\ncat", "dog\r\ncat\r\n", "\ufeffdog\ncat\n\n\n", " dog \ncat"])
def test_labels_keep_the_order_of_the_file(text: str, tmp_path: Path) -> None:
    write(tmp_path / "labels.txt", text)
    assert read_labels(tmp_path, "labels.txt") == ["dog", "cat"]


def test_numbers_are_labels(tmp_path: Path) -> None:
    write(tmp_path / "labels.txt", "0\n1\n10\n2\n")
    assert read_labels(tmp_path, "labels.txt") == ["0", "1", "10", "2"]


def test_a_label_map_is_read_by_its_ids(tmp_path: Path) -> None:
    write(
        tmp_path / "map.pbtxt",
        "item { id: 2 name: 'driver\\'s' }\nitem {\n  name: \"cat\"  # first\n  id: 1\n  display_name: 'Cat'\n}\n",
    )
    assert read_labels(tmp_path, "map.pbtxt") == ["cat", "driver's"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.txt", "", r"a\.txt: .*no label"),
        ("a.txt", "dog\n\ncat\n", r"a\.txt:2: .*empty"),
        ("a.txt", "dog\ncat\ndog\n", "holds 'dog' twice"),
        ("a.txt", "0 daisy\n1 tulip\n", r"a\.txt:1: .*'0 daisy'.*'daisy'"),
        ("a.txt", "daisy: 0\ntulip: 1\n", r"a\.txt:1: .*'daisy: 0'.*'daisy'"),
        ("a.txt", '["dog", "cat"]', r"a\.txt.*`item \{`.*JSON$"),
        ("a.txt", "item {\n  id: 1\n}", "item lacks.*'id: 1'"),
        ("a.txt", b"\xff\xfe\x00", r"UTF-8.*\b0\b"),
        ("a.pbtxt", "item { id: 1 name: 'a' } item { id: 1 name: 'b' }", "id 1 .*twice.*'a' and 'b'"),
        ("a.pbtxt", "item { id: 1 name: 'a' } item { id: 3 name: 'b' }", r"ids .*\b1 to 2\b.*\[1, 3\]"),
        ("a.pbtxt", "item { id: 0 name: 'a' } item { id: 1 name: 'b' }", r"ids .*\b1 to 2\b.*\[0, 1\]"),
        ("a.pbtxt", "item { id: 1 }", "item lacks.*'id: 1'"),
        ("a.pbtxt", "item { id: 1 name: 'a'\nitem { id: 2 }", r"a\.pbtxt:2: .*no label map"),
        ("a.pbtxt", "item {\n id: \ufeff1 }", r"a\.pbtxt:2: no label map: [ -~]+$"),
    ],
)
def test_a_file_in_another_format_is_refused(file: str, text: str | bytes, message: str, tmp_path: Path) -> None:
    write(tmp_path / file, text)
    with pytest.raises(DataError, match=message):
        read_labels(tmp_path, file)


def test_a_missing_file_and_one_outside_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "secret.txt", "x")
    (tmp_path / "set").mkdir()
    with pytest.raises(DataError, match=r"labels\.txt: no such file \(data\.labels\)"):
        read_labels(tmp_path / "set", "labels.txt")
    with pytest.raises(DataError, match=r"leaves the dataset's folder \(data\.labels\)"):
        read_labels(tmp_path / "set", "../secret.txt")


def test_labels_that_the_file_lacks_are_named_with_the_nearest(tmp_path: Path) -> None:
    message = r"labels\.txt: lacks 2 .*'balloon' \(it has 'ballon'\), 'zebra'"
    with pytest.raises(DataError, match=message):
        require_known(["ballon", "balloon", "zebra"], ["ballon", "car"], tmp_path, "labels.txt")


@pytest.mark.parametrize("name", ["2020Game_label_map.pb", "labels.txt", "label_map", "a.pbtxt"])
@pytest.mark.parametrize(
    "text",
    [
        "item {\n  id: 2\n  name: 'ball'\n}\nitem { id: 1 name: 'hatch' }\n",
        "# seen on the field\n\n# twice\nitem: { id: 1, name: \"hatch\" } item { name: 'ball' id: 2 }",
        "\ufeffitem{id:1 name:'hatch'}item{id:2 name:'ball'}",
    ],
)
def test_a_label_map_is_one_by_what_it_holds_whatever_its_name_is(name: str, text: str, tmp_path: Path) -> None:
    write(tmp_path / name, text)
    assert read_labels(tmp_path, name) == ["hatch", "ball"]


def test_a_label_that_begins_like_a_label_map_is_a_label(tmp_path: Path) -> None:
    write(tmp_path / "labels.txt", "item\nitem of clothing\n")
    assert read_labels(tmp_path, "labels.txt") == ["item", "item of clothing"]
