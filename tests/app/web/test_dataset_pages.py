"""Datasets on the page, and files that a browser sends."""

import io
import json
import logging
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from bakeoff.app.web import uploads
from bakeoff.app.web.dataset_summary import keep, recall
from bakeoff.app.web.datasets import combine, read_contents
from bakeoff.foundation.errors import ConfigError
from support.asking import Page
from support.messages import missing_in

KEY = "up-0123456789abcdef"
HTML = b"<html><script>alert(1)</script></html>"


def jpeg(colour: str = "red", size: tuple[int, int] = (640, 400)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "JPEG")
    return out.getvalue()


def voc(root: Path, name: str, *labels: str, image: bytes | None = None) -> None:
    for inside in ("images", "annotations"):
        (root / inside).mkdir(parents=True, exist_ok=True)
    (root / f"images/{name}.jpg").write_bytes(image or jpeg())
    box = "<bndbox><xmin>8</xmin><ymin>8</ymin><xmax>80</xmax><ymax>60</ymax></bndbox>"
    objects = "".join(f"<object><name>{label}</name>{box}</object>" for label in labels)
    text = f"<annotation><filename>{name}.jpg</filename>{objects}</annotation>"
    (root / f"annotations/{name}.xml").write_text(text, encoding="utf-8")


def dataset(folder: Path, name: str, *labels: str) -> Path:
    root = folder / "data/raw" / name
    for number in range(3):
        voc(root, f"{name}{number}", *labels)
    (folder / f"conf/data/{name}.yaml").write_text(f"kind: pascal_voc\npath: data/raw/{name}\n", encoding="utf-8")
    return root


def send(page: Page, path: str, content: bytes, offset: int = 0, size: int | None = None, key: str = KEY) -> tuple:
    address = f"/uploads/{key}/{path}?offset={offset}&size={len(content) if size is None else size}"
    answer = page.ask("PUT", address, content, X_Bakeoff="page", Accept="application/json")
    return answer.code, answer.tree


def test_a_dataset_is_counted_and_shown_with_what_was_rejected(page: Page, folder: Path) -> None:
    root = dataset(folder, "field", "ball", "cube")
    voc(root, "page", "ball", image=HTML)
    assert "field" in page.get("/photos").text
    summary = page.get("/data/field/summary").text
    assert "1 cannot be used" in summary and "ball" in summary
    text = page.get("/data/field").text
    assert "images/page.jpg" in text and "3 pictures" in text and "<script>alert" not in text
    picture = page.get("/data/field/pictures/0")
    assert picture.headers["content-type"] == "image/jpeg" and picture.headers["x-size"] == "640x400"
    assert Image.open(io.BytesIO(picture.body)).size == (320, 200)
    for number in ("3", "-1", "x", "9999999999"):
        assert page.get(f"/data/field/pictures/{number}").code == 404


def test_a_class_that_is_html_is_shown_as_text(page: Page, folder: Path) -> None:
    dataset(folder, "field", "&lt;script&gt;alert(1)&lt;/script&gt;")
    for path in ("/data/field/summary", "/data/field"):
        text = page.get(path).text
        assert "script" in text and "<script>alert" not in text


def test_a_dataset_is_read_anew_when_a_file_of_it_changes(folder: Path) -> None:
    root = dataset(folder, "field", "ball")
    assert read_contents("field") is read_contents("field")
    voc(root, "more", "ball")
    assert read_contents("field").survey.total == 4
    (root / "images/more.jpg").rename(root / "images/moved.jpg")  # its size and time stay
    assert read_contents("field").survey.total == 3


def test_what_was_listed_is_kept_for_the_next_server_and_for_these_files_alone(folder: Path) -> None:
    root = dataset(folder, "field", "ball", "cube")
    voc(root, "page", "ball", image=HTML)
    contents = read_contents("field")
    keep("field", "now", contents)
    recalled = recall("field", "now")
    assert recalled is not None
    assert (recalled.pictures, recalled.rejected) == (contents.pictures, contents.rejected)
    for key in ("images", "objects", "classes", "rejected", "ignored"):
        assert getattr(recalled.survey, key) == getattr(contents.survey, key)
    assert recall("field", "later") is None
    file = folder / ".bakeoff/web/contents/field.json"
    file.write_text('{"stamp": "now", "images": 3}', encoding="utf-8")
    assert recall("field", "now") is None


def test_datasets_with_the_same_labels_become_one_and_others_are_told_apart(page: Page, folder: Path) -> None:
    for name, label in (("one", "ball"), ("two", "ball"), ("three", "cube")):
        dataset(folder, name, label)
    assert page.send("/data-combine", names="one\ntwo", name="both").tree["written"] == "conf/data/both.yaml"
    assert (folder / "conf/data/both.yaml").read_text(encoding="utf-8").endswith("kind: merged\nmerge:\n- one\n- two\n")
    answer = page.send("/data-combine", names="one\nthree")
    assert missing_in(answer.tree["problem"], "combine: ", "one alone", "ball", "three alone", "cube") == []
    with pytest.raises(ConfigError, match="there already"):
        combine(["one", "two"], "both")
    with pytest.raises(ConfigError, match="two datasets or more"):
        combine(["one", "one"], "")


def test_a_file_is_uploaded_in_pieces_and_continues_after_a_break(page: Page, folder: Path) -> None:
    assert send(page, "a.zip", b"12345", 0, 10) == (200, {"offset": 5, "whole": False})
    assert page.get(f"/uploads/{KEY}/a.zip").tree == {"offset": 5}
    code, tree = send(page, "a.zip", b"xx", 3, 10)
    assert (code, tree["offset"]) == (409, 5)  # where it goes on
    assert page.send("/data-import", upload=KEY, file="a.zip", key="123456").code == 400  # half of it is no zip
    assert send(page, "a.zip", b"67890", 5, 10) == (200, {"offset": 10, "whole": True})
    assert (folder / f".bakeoff/web/uploads/{KEY}/a.zip").read_bytes() == b"1234567890"


@pytest.mark.parametrize(
    "name",
    ["../x", "..%2f..%2fconf%2fdata%2fx.yaml", "%2fetc%2fx", "a/../../x", "C:%5cx", "a%00b", ".hidden", "a/.git/x"],
)  # fmt: skip
def test_no_name_of_a_file_leads_out_of_the_upload(page: Page, folder: Path, name: str) -> None:
    code, _ = send(page, name, b"1")
    assert code in (400, 404)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == []


def test_more_than_was_announced_and_more_than_is_taken_are_refused(
    page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, tree = send(page, "a.zip", b"12345", 0, 3)
    assert code == 400 and "more came than the 3 bytes" in tree["problem"]
    code, tree = send(page, "a.zip", b"1", 0, 11_000_000_000)
    assert code == 400 and "11.0 GB, more than the 10 GB" in tree["problem"]
    full = shutil._ntuple_diskusage(100, 100, 0)
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda path: full)
    code, tree = send(page, "a.zip", b"1", 0, 1)
    assert code == 507 and missing_in(tree["problem"], "no space", "a.zip") == []
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_a_piece_that_is_sent_again_ends_the_request_before_it(page: Page, folder: Path) -> None:
    """A browser that lost its connection resumes, and the server may not know yet that the old one is dead."""
    head = f"PUT /uploads/{KEY}/a.zip?offset=0&size=10 HTTP/1.1\r\nHost: {page.own}\r\nX-Bakeoff: page\r\n"
    with socket.create_connection(("127.0.0.1", page.port), timeout=20) as old:
        old.sendall(f"{head}Content-Length: 10\r\n\r\n12345".encode())
        wait_for(lambda: page.get(f"/uploads/{KEY}/a.zip").tree == {"offset": 5})
        assert send(page, "a.zip", b"67", 5, 10) == (200, {"offset": 7, "whole": False})
        old.sendall(b"xxxxx")
        assert old.recv(100).startswith(b"HTTP/1.1 409")
    assert send(page, "a.zip", b"890", 7, 10) == (200, {"offset": 10, "whole": True})
    assert (folder / f".bakeoff/web/uploads/{KEY}/a.zip").read_bytes() == b"1234567890"


def test_an_upload_that_grows_behind_its_first_piece_is_refused(page: Page, folder: Path) -> None:
    assert send(page, "a.zip", b"12345", 0, 10)[0] == 200
    code, tree = send(page, "a.zip", b"1", 5, 11_000_000_000)
    assert code == 400 and "11.0 GB, more than the 10 GB" in tree["problem"]


@pytest.mark.parametrize("path", [f"/uploads/{KEY}/a.zip?offset=0&size=10", "/data-import", "/labels/match/frame"])
def test_a_browser_that_goes_away_is_no_fault_of_the_server(
    page: Page, folder: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "data/raw/match").mkdir()
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)
    head = f"PUT {path} HTTP/1.1\r\nHost: {page.own}\r\nX-Bakeoff: page\r\nContent-Length: 10\r\n\r\n12345"
    head = head.replace("PUT", "POST") if path == "/data-import" else head
    with socket.create_connection(("127.0.0.1", page.port), timeout=20) as connection:
        connection.sendall(head.encode())
    for _ in range(5):  # the server notices before it has answered these
        page.get("/activity")
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert not caplog.records


@pytest.mark.parametrize("path", ["/train/plan", "/nothing", "/runs/any/act"])
def test_a_body_that_is_none_gets_one_answer(page: Page, path: str, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)
    head = f"POST {path} HTTP/1.1\r\nHost: {page.own}\r\nX-Bakeoff: page\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", page.port), timeout=20) as connection:
        connection.sendall(head.encode() + b"zz\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    for _ in range(3):
        page.get("/activity")
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_disk_that_fills_up_meanwhile_is_reported_and_leaves_nothing(page: Page, folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    place = folder / f".bakeoff/web/uploads/{KEY}"
    place.mkdir(parents=True)
    (place / "a.zip.partial").symlink_to("/dev/full")
    code, tree = send(page, "a.zip", b"12345", 0, 10)
    assert code == 507 and "no space" in tree["problem"]
    assert not [*place.iterdir()]


def test_only_films_zips_and_folders_are_brought_in(page: Page, folder: Path) -> None:
    send(page, "photo.jpg", HTML)
    answer = page.send("/data-import", upload=KEY, file="photo.jpg", key="123456")
    assert answer.code == 400 and missing_in(answer.tree["problem"], "photo.jpg: ", "zip", "folder", "film") == []
    for tree in ({"folder": "../../etc"}, {"upload": "../..", "file": "a"}, {"upload": KEY, "file": "../../a"}):
        assert page.send("/data-import", key="123456", **tree).code == 400
    assert not (folder / ".bakeoff/web/errands").exists()


def test_requests_that_no_page_sends_are_refused(page: Page) -> None:
    for body in (b"[1]", b"{", b"\xff", b'{"names": 1}', b"[" * 100_000):
        assert page.ask("POST", "/data-combine", body, X_Bakeoff="page").code == 400
    answer = page.ask("POST", "/data-combine", json.dumps({"name": "x" * 3_000_000}).encode(), X_Bakeoff="page")
    assert answer.code == 400 and "at most 2,000,000 bytes" in answer.text


def test_an_upload_that_is_taken_over_disturbs_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, old = (uploads.own_folder("uploads") / name for name in ("up-aaaaaaaa", "up-bbbbbbbb"))
    for place in (gone, old):
        place.mkdir(parents=True)
        os.utime(place, (0, 0))
    listed = Path.rglob

    def rglob(path: Path, pattern: str) -> Iterator[Path]:
        if path == gone:
            path.rmdir()
        return listed(path, pattern)

    monkeypatch.setattr(Path, "rglob", rglob)
    uploads.tidy()
    assert not gone.exists() and not old.exists()
