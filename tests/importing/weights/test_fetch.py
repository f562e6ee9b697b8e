"""Published weights are fetched whole or not at all, from servers that cut, lie, redirect and stall."""

import hashlib
import io
import json
import re
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from filelock import FileLock

from bakeoff.config.weight_card import CARD
from bakeoff.foundation import steady_answers
from bakeoff.foundation.errors import BakeoffError, ConfigError, DataError, TryAgainLater
from bakeoff.foundation.formatting import without_secrets
from bakeoff.importing.weights.download import RetryPolicy
from bakeoff.importing.weights.fetch import Fetched, Places, get
from bakeoff.importing.weights.weights_catalogue import Entry, SourcePage
from bakeoff.learning.plan.train_settings import Init
from bakeoff.learning.pretrained.torch_files import read_tensors
from bakeoff.learning.pretrained.weight_source import origin_of
from bakeoff.tracking.results.lineage import lineage_of
from support.messages import missing_in
from support.torch_archives import write_torch

QUICK = RetryPolicy(seconds=0.3, attempts=2, pause=0)
PAGE = SourcePage("a page", "https://zoo.example/")
INDEX = b"index of it"


def tar_of(**members: bytes | tarfile.TarInfo) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return file.getvalue()


def zip_of(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


RANDOM = np.random.default_rng(0).bytes(300_000)  # several pieces, which packing leaves as long
CHECKPOINT = {
    "net/checkpoint/ckpt-0.index": INDEX, "net/checkpoint/ckpt-0.data-00000-of-00001": RANDOM,
    "net/checkpoint/checkpoint": b'model_checkpoint_path: "ckpt-0"\n', "net/pipeline.config": b"model {}",
    "net/saved_model/saved_model.pb": b"graph",
}  # fmt: skip
ARCHIVE = tar_of(**CHECKPOINT)


@dataclass
class Server:
    """Sends `content` under every path; what it is to do with each request in turn is in `moods`."""

    content: bytes = ARCHIVE
    moods: list[Callable[["Handler"], None]] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)  # the range of each request
    paths: list[str] = field(default_factory=list)
    validator: str | None = '"one"'
    knows_ranges: bool = True
    done: threading.Event = field(default_factory=threading.Event)
    address: str = ""


class Handler(BaseHTTPRequestHandler):
    own: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.own.asked.append(self.headers.get("Range"))
        self.own.paths.append(self.path)
        mood = self.own.moods.pop(0) if self.own.moods else Handler.send_all
        mood(self)

    def begin(self) -> int:
        own, asked = self.own, self.headers.get("Range")
        fits = self.headers.get("If-Range") in (None, own.validator)
        begin = int(re.findall(r"\d+", asked)[0]) if asked and own.knows_ranges and fits else 0
        total = len(own.content)
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
        self.send_header("Content-Length", str(total - begin))
        if own.validator:
            self.send_header("ETag", own.validator)
        self.end_headers()
        return begin

    def send_all(self) -> None:
        self.wfile.write(self.own.content[self.begin() :])


def cut_after(count: int) -> Callable[[Handler], None]:
    def mood(handler: Handler) -> None:
        begin = handler.begin()
        handler.wfile.write(handler.own.content[begin : begin + count])

    return mood


def stall(handler: Handler) -> None:
    begin = handler.begin()
    handler.wfile.write(handler.own.content[begin : begin + 1000])
    handler.wfile.flush()
    handler.own.done.wait(10)


def answer(code: int, **headers: str) -> Callable[[Handler], None]:
    def mood(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": "0", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()

    return mood


@contextmanager
def serving(own: Server) -> Iterator[Server]:
    handler = type("Own", (Handler,), {"own": own})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    own.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield own
    finally:
        own.done.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as own:
        yield own


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.chdir(tmp_path)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return Places(Path("data/weights/zoo"), Path("parts"))


def entry_of(server: Server, **fields: Any) -> Entry:
    values = {
        "licence": "Apache-2.0",
        "data": "COCO 2017",
        "classes": 90,
        "source": f"{server.address}/models/net.tar.gz",
    }
    return Entry(**{"name": "net", "page": PAGE, "models": ("ssd_tiny",), **values, **fields})


def fetch(server: Server, places: Places, **fields: Any) -> Fetched:
    fetched = get(entry_of(server, **fields), places, patience=QUICK)
    assert fetched is not None
    return fetched


def require_whole(places: Places) -> None:
    folder = places.zoo / "net"
    assert (folder / "checkpoint/ckpt-0.data-00000-of-00001").read_bytes() == RANDOM
    assert (folder / "checkpoint/ckpt-0.index").read_bytes() == INDEX
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        CARD, "pipeline.config", "checkpoint/checkpoint", "checkpoint/ckpt-0.index",
        "checkpoint/ckpt-0.data-00000-of-00001",
    }  # fmt: skip
    assert [path.name for path in places.zoo.iterdir()] == ["net"]
    assert [path.name for path in places.parts.iterdir()] == ["net.tar.gz.lock"]


def test_a_checkpoint_arrives_whole_with_a_card_that_says_whose_it_is(server: Server, places: Places) -> None:
    fetched = fetch(server, places)
    sha256 = hashlib.sha256(ARCHIVE).hexdigest()
    assert (fetched.sha256, fetched.is_verified, server.asked) == (sha256, False, [None])
    require_whole(places)
    card = yaml.safe_load((places.zoo / "net" / CARD).read_text(encoding="utf-8"))
    assert (card["licence"], card["data"], card["sha256"], card["verified"]) == (
        "Apache-2.0",
        "COCO 2017",
        sha256,
        False,
    )
    assert get(entry_of(server), places) is None and len(server.asked) == 1


@pytest.mark.parametrize("damage", ["flip", "remove"])
def test_a_start_from_what_was_damaged_since_is_refused(damage: str, server: Server, places: Places) -> None:
    """The card has the digest of each file."""
    folder = fetch(server, places).folder
    start = folder / "checkpoint/ckpt-0"
    [one] = lineage_of("zoo/net", start, "digest")
    assert "files" not in one and one["licence"] == "Apache-2.0"
    weights = folder / "checkpoint/ckpt-0.data-00000-of-00001"
    weights.write_bytes(bytes([RANDOM[0] ^ 64]) + RANDOM[1:]) if damage == "flip" else weights.unlink()
    with pytest.raises(DataError) as caught:
        lineage_of("zoo/net", start, "digest")
    assert missing_in(str(caught.value), "net/checkpoint/ckpt-0.data-00000-of-00001", "bakeoff weights get") == []


def test_a_published_sum_and_size_verify_the_file(server: Server, places: Places) -> None:
    sums = {"sha256": hashlib.sha256(ARCHIVE).hexdigest(), "md5": hashlib.md5(ARCHIVE).hexdigest()}
    assert fetch(server, places, size=len(ARCHIVE), **sums).is_verified


def test_a_second_command_continues_where_the_first_gave_up(server: Server, places: Places) -> None:
    server.moods = [cut_after(100_000), answer(503), answer(503)]
    with pytest.raises(DataError, match=r"^http://.*/net\.tar\.gz: .*\b503\b.*\b100,000 bytes are kept.*same command"):
        fetch(server, places)
    fetch(server, places)
    assert server.asked[-1] == "bytes=100000-"
    require_whole(places)


RESUMED: dict[str, tuple[dict[str, Any], list[str | None]]] = {  # what the server is like, and what it was asked for
    "a cut": ({"moods": [cut_after(100_000), cut_after(50_000)]}, [None, "bytes=100000-", "bytes=150000-"]),
    "a server that ignores ranges": ({"moods": [cut_after(100_000)], "knows_ranges": False}, [None, "bytes=100000-"]),
    "such a one without validators": (
        {"moods": [cut_after(100_000)], "knows_ranges": False, "validator": None}, [None, "bytes=100000-"],
    ),
    "a part that is longer than the file": (
        {"moods": [cut_after(100_000), answer(416)]}, [None, "bytes=100000-", None],
    ),
    "a stall": ({"moods": [stall]}, [None, "bytes=1000-"]),
}  # fmt: skip


@pytest.mark.parametrize("name", RESUMED)
def test_what_a_break_leaves_is_gone_on_with(name: str, server: Server, places: Places) -> None:
    traits, asked = RESUMED[name]
    vars(server).update(traits, moods=[*traits["moods"]])
    fetch(server, places)
    assert server.asked == asked
    require_whole(places)


@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [('"one"', '"two"', ["bytes=100000-"]), (None, None, ["bytes=100000-", None])],  # by the length, without validators
)
def test_a_file_that_changed_in_between_is_fetched_anew(
    before: str | None, after: str | None, asked: list[str | None], server: Server, places: Places
) -> None:
    server.content, server.validator = b"0" * 400_000, before
    server.moods = [cut_after(100_000), answer(503), answer(503)]
    with pytest.raises(DataError):
        fetch(server, places)
    server.content, server.validator = ARCHIVE, after
    fetch(server, places)
    assert server.asked[3:] == asked
    require_whole(places)


def test_a_redirection_is_followed(server: Server, places: Places) -> None:
    server.moods = [answer(302, Location="/elsewhere/net.tar.gz")]
    fetch(server, places)
    assert server.paths == ["/models/net.tar.gz", "/elsewhere/net.tar.gz"]
    require_whole(places)


def silence(handler: Handler) -> None:
    handler.own.done.wait(10)


def drip(before: bytes, piece: bytes) -> Callable[[Handler], None]:
    def mood(handler: Handler) -> None:
        with suppress(OSError):  # the client hung up
            handler.wfile.write(before)
            while not handler.own.done.wait(0.02):
                handler.wfile.write(piece)

    return mood


GIVEN_UP: dict[str, tuple[list[Callable[[Handler], None]], str]] = {
    "only stalls": ([silence] * 2, r"connection broke.*\b0\.3 s\b.*\b0 bytes are kept"),
    "only breaks": ([cut_after(5)] * 2, r"connection broke.*\b10 bytes are kept"),
    "a head that drips": ([drip(b"HTTP/1.1 200 OK\r\nX: ", b"x")], r"net\.tar\.gz: timed out"),
    "heads without an end": ([drip(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")], r"net\.tar\.gz: timed out"),
    "a file that drips": ([drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x")], r"net\.tar\.gz: timed out"),
    "a redirection to a file of this machine": (
        [answer(302, Location=Path(__file__).as_uri())], r"net\.tar\.gz: .*\b302\b",
    ),
    "a redirection in a circle": (
        [answer(302, Location="/models/net.tar.gz")] * 5, r"net\.tar\.gz: .*\b302\b.*redirect.*\$BAKEOFF_WEIGHTS$",
    ),
    "a file that is not there": ([answer(404)], r"\b404\b.*Not Found.*\$BAKEOFF_WEIGHTS$"),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN_UP)
def test_a_server_that_cannot_give_the_file_is_given_up(
    name: str, server: Server, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady_answers, "PATIENCE_S", 0.1)
    moods, message = GIVEN_UP[name]
    server.moods = [*moods]
    with pytest.raises(DataError, match=message):
        fetch(server, places)
    assert len(server.asked) == len(moods) and not places.zoo.exists()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another length": ({"size": 7}, rf"net\.tar\.gz: .*\b7 bytes\b.* {len(ARCHIVE):,}\b"),
    "another sum": (
        {"sha256": "0" * 64},
        r"net\.tar\.gz: .*SHA-256 0{64}\W.*\b[0-9a-f]{64}\b.*nothing is kept",
    ),
    "another MD5": ({"md5": "0" * 32}, r"net\.tar\.gz: .*MD5 0{32}\W.*\b[0-9a-f]{32}\b"),
    "no address": (
        {"source": None},
        r"^net: .*\baddress\b.*data/weights/zoo/net/.*net\.tar\.gz\b.*\$BAKEOFF_WEIGHTS\b",
    ),
    "a licence that forbids": (
        {"forbids": "commercial use", "licence": "CC-BY-NC-4.0"},
        r"^net: .*CC-BY-NC-4\.0.*commercial use.*`bakeoff weights get net --accept-licence`$",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_what_was_promised_is_refused(name: str, server: Server, places: Places) -> None:
    fields, message = REFUSED[name]
    with pytest.raises(BakeoffError, match=message) as refused:
        fetch(server, places, **fields)
    assert refused.value.exit_code == 2 and not (places.zoo / "net").exists()
    assert not list(places.parts.glob("*.gz"))


def test_a_licence_that_was_accepted_is_so_on_the_card(server: Server, places: Places) -> None:
    entry = entry_of(server, forbids="commercial use")
    assert get(entry, places, licence_accepted=True)
    assert yaml.safe_load((places.zoo / "net" / CARD).read_text(encoding="utf-8"))["accepted"] is True


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


CUT = tar_of(**CHECKPOINT)[:-1000]
BAD: dict[str, tuple[bytes, str]] = {
    "a path outside": (
        tar_of(**{"../ckpt-0.index": b"x"}),
        r"path outside\b.*'\.\./ckpt-0\.index'.*nothing",
    ),
    "a whole path": (tar_of(**{"/tmp/ckpt-0.index": b"x"}), r"path outside\b.*'/tmp/ckpt-0\.index'"),
    "a path outside of a zip": (zip_of(**{"../a.h5": b"x"}), r"path outside\b.*'\.\./a\.h5'"),
    "a link": (tar_of(a=link("a/ckpt-0.index", "/etc/passwd")), r"holds a link\b.*'a/ckpt-0\.index'"),
    "a SavedModel": (
        tar_of(**{"net/saved_model/saved_model.pb": b"x"}),
        r"^net\.tar\.gz: .*SavedModel\b.*checkpoint",
    ),
    "a frozen graph": (
        tar_of(**{"net/frozen_inference_graph.pb": b"x"}),
        r"^net\.tar\.gz: .*frozen graph\b.*checkpoint",
    ),
    "a zip in a zip": (zip_of(**{"a/net.zip": zip_of(a=b"x")}), r"another archive, a/net\.zip\b"),
    "no checkpoint": (
        tar_of(**{"net/README": b"x"}),
        r"no checkpoint\b.*\.index and .*\.h5\b.*net/README$",
    ),
    "half a checkpoint": (
        tar_of(**{"n/ckpt-0.index": b"x"}),
        r"holds n/ckpt-0\.index\b.*no ckpt-0\.data-…",
    ),
    "a truncated archive": (CUT, r"^net\.tar\.gz: .*cannot be unpacked \(.+\).*truncated"),
    "an archive without its begin": (zip_of(**CHECKPOINT)[1000:], r"^net\.tar\.gz: .*cannot be unpacked \(.+\)"),
    "a web page": (b"<!DOCTYPE html><p>Log in", r"neither an archive\b.*HDF5\b.* b'<!DOCTYPE html><'"),
    "nothing": (b"", r"neither an archive\b.*HDF5\b.* b''"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_without_a_start_is_refused_and_leaves_nothing(name: str, places: Places, tmp_path: Path) -> None:
    content, message = BAD[name]
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/net.tar.gz").write_bytes(content)
    with pytest.raises(DataError, match=message) as refused:
        get(entry_of(Server(address="http://zoo.example")), replace(places, mirror="mirror"))
    assert "\n" not in str(refused.value)
    assert list(places.zoo.iterdir()) == [] and not list(places.parts.glob("*.gz"))


def test_a_folder_in_place_of_the_network(places: Places, tmp_path: Path) -> None:
    entry = entry_of(Server(address="http://zoo.example"))
    (tmp_path / "mirror").mkdir()
    with pytest.raises(ConfigError, match=r"^\$BAKEOFF_WEIGHTS: mirror .*no net\.tar\.gz\b"):
        get(entry, replace(places, mirror="mirror"))
    (tmp_path / "mirror/net.tar.gz").write_bytes(ARCHIVE)
    fetched = get(entry, replace(places, mirror="mirror"))
    assert fetched and fetched.came_from == "mirror/net.tar.gz"
    require_whole(places)


def test_a_server_in_place_of_the_source(server: Server, places: Places) -> None:
    there = replace(places, mirror=f"{server.address}/our weights/".replace(" ", "%20"))
    fetched = get(entry_of(Server(address="http://zoo.example")), there, patience=QUICK)
    assert fetched and fetched.came_from == f"{server.address}/our%20weights/net.tar.gz"
    assert server.paths == ["/our%20weights/net.tar.gz"]
    require_whole(places)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@weights.example:8443/a.gz", "https://weights.example:8443/a.gz"),
        ("track.uri http://me:p@ss@host/x failed", "track.uri http://host/x failed"),
        ("az://box/a?sp=r&sig=abc%3D&x=1", "az://box/a?sp=r&sig=…&x=1"),
        ("s3://bucket/me@home/a.gz", "s3://bucket/me@home/a.gz"),
    ],
)
def test_a_password_in_an_address_is_not_shown(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_a_file_of_torch_is_what_training_starts_from(server: Server, places: Places, tmp_path: Path) -> None:
    write_torch(tmp_path / "w.pth", {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3)})
    server.content = (tmp_path / "w.pth").read_bytes()
    fetch(server, places, source=f"{server.address}/w.pth")
    assert sorted(path.name for path in (places.zoo / "net").iterdir()) == [CARD, "weights.pth"]
    source = origin_of(Init(weights=str(places.zoo / "net")), fetch=Path)
    assert source.path and not source.is_tf_checkpoint
    _, read = read_tensors(source.path)["a.weight"]
    assert read().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_file_of_hdf5_stands_in_a_folder_of_its_own(server: Server, places: Places, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["a"] = np.arange(3)
    server.content = (tmp_path / "w.h5").read_bytes()
    fetch(server, places, source=f"{server.address}/w.h5")
    assert sorted(path.name for path in (places.zoo / "net").iterdir()) == [CARD, "weights.h5"]
    assert (places.zoo / "net/weights.h5").read_bytes() == server.content


def test_two_do_not_fetch_the_same_at_once(server: Server, places: Places) -> None:
    places.parts.mkdir()
    lock = FileLock(places.parts / "net.tar.gz.lock")
    with lock, pytest.raises(TryAgainLater, match=r"^net\.tar\.gz: .*being fetched"):
        fetch(server, places)


def test_a_note_that_cannot_be_read_begins_anew(server: Server, places: Places) -> None:
    places.parts.mkdir()
    (places.parts / "net.tar.gz").write_bytes(b"half")
    (places.parts / "net.tar.gz.json").write_text(json.dumps(["what"]), encoding="utf-8")
    fetch(server, places)
    assert server.asked == [None]
    require_whole(places)
