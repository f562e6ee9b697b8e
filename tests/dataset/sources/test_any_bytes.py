"""Whatever the bytes of an annotation or a list of labels: records, or one line that says file, place and remedy.

Every input goes through a whole build of three images, within 5 seconds of processor and 300 MB. `KEPT` keeps what
once ended in a traceback, hung, took too much memory or was understood as something else; Hypothesis makes up the rest.
"""

import json
import re
import resource
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bakeoff.dataset.building.build import build
from bakeoff.dataset.sources.box_csv import BoxCsv
from bakeoff.dataset.sources.class_folders import ImageFolders
from bakeoff.dataset.sources.clips import Clips
from bakeoff.dataset.sources.coco import Coco
from bakeoff.dataset.sources.dataset import Dataset, Part, SplitSettings
from bakeoff.dataset.sources.voc import PascalVoc
from bakeoff.dataset.sources.yolo import Yolo
from bakeoff.foundation.errors import DataError
from support.drawing import encoded, voc, write

SECONDS, KILOBYTES = 5, 300_000
SEED = 26
REMEDY = re.compile(
    "; |must |needs |lacks |looks like|docs/|twice|is empty|broken XML|leaves the"
)  # or the rule itself
HEAD = "filename,width,height,class,xmin,ymin,xmax,ymax,split\n"
WORDS = st.one_of(
    st.sampled_from(["", " ", "0", "-1", "1", "1.5", "007", "inf", "-inf", "nan", "1e309", "1e30", "1_000", "٣"]),
    st.sampled_from(
        ["9" * 40, "9" * 5000, "null", "~", "yes", "010", "1:30", "2020-01-01", "true", "cat", "cat ", "é"]
    ),
    st.sampled_from(["a" * 300, "b" * 5000, "<b>", "&amp;", "a\nb", "a\u2028b", "\x1b[31m", "\u202e", "[1]", "{a: 1}"]),
    st.sampled_from(
        ["'", '"', "*a", "&a x", "!!python/name:os", "- x", "#", "train", "val", "item", "}", "{", "\ud800"]
    ),
    st.sampled_from(["../x", "/etc/passwd", "0.jpg", "images/0.jpg", "C:\\x", "x" * 300 + ".jpg"]),
)
PIECES = st.one_of(
    st.sampled_from([b"\0", b"\n", b"\r", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8"]),
    st.sampled_from([b"'", b'"', b",", b":", b"{", b"}", b"]", b"1e309", b"null", b"- - - ", b"\\ud800", b"9" * 5000]),
    st.sampled_from([b"[" * 3000, b"{a: " * 900, b"<a>" * 3000, b" " * 20000, b"&a [*a]", b"<!DOCTYPE a [", b"item {"]),
    st.just(b"<?xml version='1.0' encoding='hex'?>"),
)
ODD_JSON: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, True, [], {}, [1], {"a": 1}, -1, 0, 1.5, 1.0, 2**63, 10**400, float("inf"), float("nan")]),
    st.sampled_from(["", "cat", "\ud800", "a\nb", "x" * 5000, "0.jpg", "../0.jpg", "7", "1"]),
    st.integers(1, 200).map(lambda depth: json.loads("[" * depth + "]" * depth)),
)
COCO: dict[str, list[dict[str, Any]]] = {
    "images": [{"id": n, "file_name": f"images/{n}.jpg", "width": 32, "height": 24} for n in range(3)],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    "annotations": [{"image_id": n, "category_id": 1 + n % 2, "bbox": [1, 1, 5, 5], "iscrowd": 0} for n in range(3)],
}
PLACES = [(key, n, inner) for key, rows in COCO.items() for n in range(len(rows)) for inner in rows[n]]


@st.composite
def change(draw: Callable, whole: bytes) -> bytes:
    """Bytes that a few bytes put in, taken away or written over have spoilt."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 9))] = draw(PIECES | st.binary(max_size=4))
    return bytes(data)


@st.composite
def fill(draw: Callable, pattern: str, count: int, join: str = "\n") -> bytes:
    """Up to `count` times the pattern, with odd words for its underscores."""
    rows = [re.sub("_", lambda _: draw(WORDS), pattern) for _ in range(draw(st.integers(1, count)))]
    return join.join(rows).encode("utf-8", "surrogatepass")


@st.composite
def alter(draw: Callable) -> bytes:
    """COCO's tree with other values in a few places."""
    tree = json.loads(json.dumps(COCO))
    for _ in range(draw(st.integers(1, 3))):
        key, number, inner = draw(st.sampled_from(PLACES))
        tree[key][number][inner] = draw(ODD_JSON)
    if draw(st.integers(0, 9)) == 0:
        tree[draw(st.sampled_from(sorted(tree)))] = draw(ODD_JSON)
    return json.dumps(tree).encode()


@dataclass(frozen=True)
class Reader:
    dataset: Dataset
    file: str  # that is odd
    whole: str  # what it should be
    odd: st.SearchStrategy[bytes]
    beside: dict[str, str] = field(default_factory=dict)

    def inputs(self) -> st.SearchStrategy[bytes]:
        texts = st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
        return st.one_of(self.odd, change(self.whole.encode()), st.binary(max_size=60), texts)


VOC = voc([("cat", 1, 1, 5, 5)])
YOLO = {f"labels/{n}.txt": "0 0.5 0.5 0.5 0.5" for n in range(3)} | {"classes.txt": "cat\ndog\n"}
ALL = {"path": "set", "max_rejected": 1.0}
BOX = "<object><name>_</name><bndbox><xmin>_</xmin><ymin>1</ymin><xmax>9</xmax><ymax>_</ymax></bndbox></object>"
READERS = {
    "VOC": Reader(
        PascalVoc(**ALL), "annotations/0.xml", VOC,
        fill(f"<annotation><filename>_</filename><size><width>_</width><height>_</height></size>{BOX}</annotation>", 1),
        {f"annotations/{n}.xml": VOC for n in (1, 2)},
    ),
    "COCO": Reader(Coco(**ALL), "annotations.json", json.dumps(COCO), alter()),
    "YOLO's texts": Reader(Yolo(**ALL), "labels/0.txt", "0 0.5 0.5 0.5 0.5\n", fill("_ 0.5 _ 0.5 0.5", 3), YOLO),
    "YOLO's data.yaml": Reader(
        Yolo(**ALL), "data.yaml", "path: x\ntrain: images/0.jpg\nval: images\nnames: {0: cat, 1: dog}\n",
        fill("names: [_, _]\ntrain: _", 1) | fill("path: _\nval: [_, images]\nnames:\n  0: _\n  _: dog", 1), YOLO,
    ),
    "YOLO's lists": Reader(
        Yolo(**ALL), "list.txt", "images/0.jpg\n./images/1.jpg\n", fill("images/_", 4),
        YOLO | {"data.yaml": "names: [cat, dog]\ntrain: list.txt\nval: images/2.jpg\n"},
    ),
    "boxes as CSV": Reader(
        BoxCsv(**ALL), "labels.csv", HEAD + "".join(f"{n}.jpg,32,24,cat,1,1,5,5,\n" for n in range(3)),
        fill("_.jpg,_,24,_,1,_,5,5,_", 4).map(HEAD.encode().__add__),
    ),
    "clips as CSV": Reader(
        Clips(**ALL, table="clips.csv", multi_label=True), "clips.csv", "path,labels,split\nclip/a,x|y,\nclip/b,x,\n",
        fill("clip/_,_,_\nclip/a,x,\nclip/b,y,", 2).map(b"path,labels,split\n".__add__),
    ),
    "labels": Reader(ImageFolders(**ALL, labels="a.txt"), "a.txt", "images\nclip\ndog\n", fill("images\n_", 3)),
    "label map": Reader(
        ImageFolders(**ALL, labels="a.pbtxt"), "a.pbtxt", "item { id: 1 name: 'clip' } item { id: 2 name: 'images' }",
        fill("item { id: _ name: '_' }\nitem { id: 2 name: 'images' keypoints { id: _ } }", 2),
    ),
    "split list": Reader(
        ImageFolders(**ALL, split=SplitSettings(validation_list="val.txt")), "val.txt", "0\nclip/a/0.jpg\n",
        fill("_\n0", 4),
    ),
}  # fmt: skip
KEPT: dict[str, list[str | bytes]] = {
    "VOC": [
        VOC.replace("<width>32", "<width>inf"),
        VOC.replace("<width>32", "<width>1e309"),
        VOC.replace("<xmax>5", "<xmax>1e300"),
        "<?xml version='1.0' encoding='nowhere'?>" + VOC,
        "<?xml version='1.0' encoding='utf-32'?>" + VOC,
        "<?xml version='1.0' encoding='hex'?>" + VOC,
        VOC.replace("cat", "a\nb"),
        VOC.replace("<filename>", f"<filename>{'n' * 5000}.{'j' * 5000}"),
        "<annotation>" + "<a>" * 100_000,
        "<annotation>" + "<a/>" * 600_000 + "</annotation>",
        "<annotation>" + " " * 17_000_000,
        "\ufeff" + VOC,
    ],
    "COCO": [
        json.dumps(COCO | {"images": COCO["images"] * 2}),
        json.dumps(COCO).replace('"id": 1,', '"id": [1],'),
        json.dumps(COCO).replace('"image_id": 1', '"image_id": {}'),
        json.dumps(COCO).replace('"category_id": 1', '"category_id": null'),
        json.dumps(COCO).replace('"id": 1, "name"', f'"id": {"9" * 4000}, "name"'),
        json.dumps(COCO).replace('"width": 32', f'"width": {"9" * 5000}'),
        json.dumps(COCO).replace("images/1", "\\ud800"),
        json.dumps(COCO).replace("images/1", "n" * 5000),
        json.dumps(COCO).replace('"cat"', '"\\ud800"'),
        json.dumps(COCO).replace('"cat"', "null"),
        json.dumps(COCO).replace('"id": 1, "name"', '"id": "a", "name"'),
        json.dumps(COCO).replace("[1, 1, 5, 5]", "[" * 900 + "]" * 900),
        "[" * 200_000,
        '{"images": ' * 100_000,
    ],
    "YOLO's texts": [
        "\ufeff0 0.5 0.5 0.5 0.5", b"\xff\xfe0", "1e400 0 0 0 0", "9" * 5000, "0 1_0 0.5 0.5 0.5", "0 ٣ 0 0 0",
    ],
    "YOLO's data.yaml": [
        "names: [yes, no]",
        "names: [1:30, 010]",
        "names: [cat, null]",
        "names: [cat, cat]",
        "names: [2020-13-45, cat]",
        "names: {0: cat, a: dog, [1]: x}",
        "names: " + "[" * 5_000,
        "names: " + "{a: " * 5_000,
        "- " * 40_000,
        "names: [" + "a, " * 30_000 + "b]",
        "names: [cat, dog]\ntrain: " + "x/" * 100_000,
        "a: &a [x, x]\n" + "".join(f"{n}: &{n} [{f'*{p}, ' * 20}]\n" for p, n in pairwise("abcdefghij")) + "names: *j",
    ],
    "YOLO's lists": [b"\xff\xfei", "n" * 5000, "\0", "x" * 2_000_000],
    "boxes as CSV": [
        HEAD + "0.jpg,inf,24,cat,1,1,5,5,",
        HEAD + "0.jpg,1e309,24,cat,1,1,5,5,",
        HEAD + '0.jpg,32,24,"a\nb",1,1,5,5,',
        HEAD + f"{'n' * 5000}.jpg,32,24,cat,1,1,5,5,",
        HEAD + f'0.jpg,32,24,"{"x" * 200_000}',
        HEAD + "0.jpg,32,24,cat,1,1,5,5,\n" + '0.jpg,32,24,cat,1,1,5,5,"a\nb"',
        HEAD.encode() + b"0.jpg,32,24,caf\xe9,1,1,5,5,",
        HEAD + "," * 2_000_000,
        "," * 500_000 + "\n" + "," * 500_000,
    ],
    "clips as CSV": [
        "path,labels\nclip/a,x|\x1b[31m\nclip/b,y", "path,labels\n" + "n" * 5000 + ",x", "path\0,labels\n",
        "path,labels\nclip/a,\n",
    ],
    "labels": [
        "a\u2028b\nc", "x" * 500, "\n".join(["a"] * 90_000), " " * 90_000, "0 " + ", " * 50_000 + "x", "[" * 200_000,
    ],
    "label map": [
        f"item {{ id: {'9' * 40} name: 'a' }}",
        f"item {{ id: {'9' * 5000} name: 'a' }}",
        "item" + " " * 200_000,
        "item { id: 1 name: 'a\\nb' }",
        "item { id: 1 name: '\\377' }",
        "item { id: 1 name: 'unfinished",
        "item { id: 1 name: 'a' } item { id: 2 name: 'b' keypoints { id: 7 label: 'c' } }",
        "item {" * 20_000,
    ],
    "split list": [b"0\n\xff", "0\n" + "x" * 2_000_000, "\0", "\ud800".encode("utf-8", "surrogatepass")],
}  # fmt: skip


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bytes], str]:
    """Builds records of a set in which one file is odd; says whether they were built."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    images = {n: encoded(n) for n in range(5)}

    def attempted(name: str, data: bytes) -> str:
        reader, root = READERS[name], tmp_path / "set"
        for n in range(3):
            write(root / f"images/{n}.jpg", images[n])
        if "labels" not in reader.beside and isinstance(reader.dataset, (Clips, ImageFolders)):
            for n, clip in ((3, "a"), (4, "b")):
                write(root / f"clip/{clip}/0.jpg", images[n])
        for file, text in reader.beside.items():
            write(root / file, text)
        write(root / reader.file, data)
        start = time.process_time()
        try:
            manifest, _ = build([Part("", reader.dataset)], Path("records"), 1)
            assert Path("records/labels.txt").read_text(encoding="utf-8").splitlines() == list(manifest.classes)
            report = json.loads(Path("records/report.json").read_text(encoding="utf-8"))
            lines = [*report["warnings"], *report["rejected"].values(), *report["rejected"]]
            outcome = "built without what is odd" if report["rejected"] else "built"
        except DataError as error:
            outcome, lines = "refused", str(error).split("\n")
            assert lines[0].startswith("set") and REMEDY.search(lines[0]), lines
            assert len(lines) == 1 or all(line.startswith("  ") for line in lines[1:])
        harmless = all(unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") for letter in "".join(lines))
        assert harmless and all(len(line) < 2000 for line in lines), lines
        assert time.process_time() - start < SECONDS
        return outcome

    return attempted


@pytest.fixture
def little_memory() -> Any:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < KILOBYTES


@pytest.mark.parametrize("name", READERS)
def test_the_whole_file_is_built(name: str, attempt: Callable[[str, bytes], str]) -> None:
    """Else the tests below would show nothing."""
    assert attempt(name, READERS[name].whole.encode()) == "built"


@pytest.mark.parametrize(("name", "number"), [(name, n) for name, inputs in KEPT.items() for n in range(len(inputs))])
def test_what_once_broke_a_reader(
    name: str, number: int, attempt: Callable[[str, bytes], str], little_memory: None
) -> None:
    data = KEPT[name][number]
    attempt(name, data.encode() if isinstance(data, str) else data)


def try_many(name: str, attempt: Callable[[str, bytes], str], count: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()

    @seed(SEED)
    @settings(
        max_examples=count, database=None, deadline=None, derandomize=False, phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(READERS[name].inputs())
    def once(data: bytes) -> None:
        outcomes[attempt(name, data)] += 1

    once()
    return outcomes


@pytest.mark.parametrize("name", READERS)
def test_whatever_the_bytes(name: str, attempt: Callable[[str, bytes], str], little_memory: None) -> None:
    assert try_many(name, attempt, 50).total() >= 50


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_thousand_odd_files(name: str, attempt: Callable[[str, bytes], str], little_memory: None) -> None:
    outcomes = try_many(name, attempt, 1000)
    print(f"{name}, seed {SEED}: {', '.join(f'{count:,} {outcome}' for outcome, count in sorted(outcomes.items()))}")
    assert outcomes.total() >= 1000 and len(outcomes) >= 2  # or the inputs are all of one kind
