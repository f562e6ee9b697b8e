"""Who may ask the page: each request of the list in docs/web.md, sent to a real server, and its answer."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bakeoff.app.web.security import ServerAddress, read_token
from support.asking import Page, served
from support.messages import missing_in

TOKEN = "s3cret-of-this-workspace"


def test_the_page_answers_its_own_machine(page: Page) -> None:
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert page.get("/models", Host=f"{host}:{page.port}").code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1"])
def test_a_foreign_name_that_points_here_is_refused(page: Page, host: str) -> None:
    answer = page.get("/models", Host=host)
    assert answer.code == 403
    assert "`bakeoff web`" in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_another_page_may_not_ask(page: Page, origin: str) -> None:
    assert page.get("/models", Origin=origin).code == 403
    answer = page.ask("POST", "/runs/any/act", b"{}", Origin=origin, X_Bakeoff="page")
    assert answer.code == 403
    assert origin in answer.text


def test_no_change_without_the_header_that_no_form_can_send(page: Page) -> None:
    own = {"Origin": f"http://{page.own}", "Content_Type": "application/x-www-form-urlencoded"}
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = page.ask(method, "/runs/any/act", b"what=stop", **own)
        assert answer.code == 403
        assert answer.text.startswith("Only this page")
    assert page.send("/runs/any/act", what="stop", key="123456").code == 404  # it may ask; there is no such run


def test_every_answer_forbids_foreign_scripts_frames_and_guesses(page: Page) -> None:
    for path in ("/", "/nothing", "/static/live.js", "/activity"):
        headers = page.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert headers["referrer-policy"] == "no-referrer"


def test_the_token_is_needed_once_and_then_the_cookie(folder: Path) -> None:
    with served(token=TOKEN) as page:
        assert page.get("/models").code == 403
        assert page.get("/?token=another").code == 403
        assert page.get("/models", Cookie=f"bakeoff-{page.port}=another").code == 403
        answer = page.get(f"/activity?of=1&token={TOKEN}")
        assert answer.code == 200 and 'content="0;url=/activity?of=1"' in answer.text
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert page.get("/models", Cookie=cookie.partition(";")[0]).code == 200
        assert page.ask("POST", f"/runs/any/act?token={TOKEN}", b"{}", X_Bakeoff="page").code == 403
        assert page.get("/models", Host=f"192.168.1.7:{page.port}").code == 403  # known, and asked for the token
        assert not missing_in(page.get("/models", Host=f"192.168.1.7:{page.port}").text, "token", ".bakeoff/web/token")
        assert "printed" in page.get("/models", Host=f"evil.example:{page.port}").text


@pytest.mark.parametrize("path", ["//evil.example/", "/%5cevil.example/", "/%2fevil.example/"])
def test_the_token_leads_to_no_other_machine(folder: Path, path: str) -> None:
    with served(token=TOKEN) as page:
        assert re.search(r'content="0;url=/(evil|%5Cevil)\.example/"', page.get(f"{path}?token={TOKEN}").text)


def test_the_token_stays_over_a_restart_and_is_its_user_s_alone(folder: Path) -> None:
    token, file = read_token(), folder / ".bakeoff/web/token"
    assert len(token) >= 32 and read_token() == token == file.read_text(encoding="ascii")
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b"cut", b"\xff\xfe", b" " * 40])
def test_a_token_that_is_not_whole_is_made_anew(folder: Path, content: bytes) -> None:
    """An empty one would be the cookie of whoever sends none."""
    read_token()
    (folder / ".bakeoff/web/token").write_bytes(content)
    token = read_token()
    assert len(token) >= 32 and read_token() == token


def test_a_token_that_others_could_read_is_made_anew(folder: Path) -> None:
    token, file = read_token(), folder / ".bakeoff/web/token"
    file.chmod(0o644)
    assert read_token() != token
    assert file.stat().st_mode & 0o077 == 0


@contextmanager
def command(*options: str) -> Iterator[tuple[Page, str]]:
    """Run `bakeoff web`; yield its page and the address that it prints."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "web", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout
        with server.stdout:
            line = server.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\S*", line)
            assert found, line
            yield Page(int(found[1])), found[0]
    finally:
        server.terminate()
        server.wait()


def test_the_command_asks_for_a_token_on_this_machine_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "dvc.yaml").touch()
    browser, opened = folder / "browser", folder / "opened"
    browser.write_text(f'#!/bin/sh\necho "$@" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with command("--open") as (page, address):
        assert page.get("/models").code == 403
        query = address.partition("/?")[2]
        cookie = page.get(f"/?{query}").headers["set-cookie"].partition(";")[0]
        assert page.get("/models", Cookie=cookie).code == 200
    entry = folder / ".bakeoff/web/open.html"
    assert opened.read_text(encoding="utf-8").strip() == entry.as_uri()  # other people see how a browser is started
    assert address in entry.read_text(encoding="utf-8") and entry.stat().st_mode & 0o077 == 0


def test_the_command_asks_for_no_token_if_that_is_wanted(folder: Path) -> None:
    (folder / "dvc.yaml").touch()
    with command("--no-token") as (page, address):
        assert page.get("/models").code == 200 and "token" not in address
    argv = [sys.executable, "-m", "bakeoff", "web", "--no-token", "--host", "0.0.0.0"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert not missing_in(done.stderr, "--no-token", "--host", "0.0.0.0")


def test_the_printed_address_has_the_token_where_it_is_asked_for() -> None:
    assert ServerAddress("127.0.0.1", 8080).address == "http://127.0.0.1:8080/"
    assert ServerAddress("10.0.0.7", 8080, TOKEN).address == f"http://10.0.0.7:8080/?token={TOKEN}"
    assert ServerAddress("fe80::1", 8080, TOKEN).address.startswith("http://[fe80::1]:8080/")


def test_a_phone_gets_an_address_where_other_machines_are_let_in_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        assert ServerAddress(host, 8080, TOKEN).make_phone_address("/photos") is None
    assert ServerAddress("192.168.1.7", 8080).make_phone_address("/photos") is None  # without a token nobody comes in
    address = f"http://192.168.1.7:8080/photos?token={TOKEN}"
    assert ServerAddress("192.168.1.7", 8080, TOKEN).make_phone_address("/photos") == address
    monkeypatch.setattr("bakeoff.app.web.security.find_own_ip", lambda: "192.168.1.7")
    assert ServerAddress("0.0.0.0", 8080, TOKEN).make_phone_address("/photos") == address
    monkeypatch.setattr("bakeoff.app.web.security.find_own_ip", lambda: None)
    assert ServerAddress("0.0.0.0", 8080, TOKEN).make_phone_address("/photos") is None


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/guard.py", "/static//etc/passwd",
        "/static/page.html.jinja",
    ],
)  # fmt: skip
def test_only_scripts_and_styles_are_static(page: Page, path: str) -> None:
    assert page.get(path).code == 404


def test_an_unknown_page_is_refused_with_escaped_text(page: Page) -> None:
    answer = page.get("/<script>alert(1)</script>")
    assert answer.code == 404
    assert "&lt;script&gt;" in answer.text and "<script>alert" not in answer.text


def test_a_connection_that_asks_nothing_is_closed(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise connections that send a letter now and then take all descriptors of the server."""
    monkeypatch.setattr("bakeoff.app.web.app.SECONDS_TO_ASK", 0.3)
    asked = f"GET /models HTTP/1.1\r\nHost: {page.own}\r\n".encode()
    for sent in (b"", asked, asked + b"\r\n" + asked):  # nothing, half a head, a request and half of another
        with socket.create_connection(("127.0.0.1", page.port), timeout=20) as connection:
            connection.sendall(sent)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200") == (sent.count(b"GET") == 2)
    assert page.get("/models").code == 200
