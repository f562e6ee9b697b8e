"""Who may ask the page: each request of the list in docs/web.md, sent to a real server, and its answer."""

import socket
from pathlib import Path

import pytest

from bakeoff.app.web.security import ServerAddress, read_token
from support.asking import Page, served

TOKEN = "s3cret-of-this-workspace"


def test_the_page_answers_its_own_machine(page: Page) -> None:
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert page.get("/", Host=f"{host}:{page.port}").code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1"])
def test_a_foreign_name_that_points_here_is_refused(page: Page, host: str) -> None:
    answer = page.get("/", Host=host)
    assert answer.code == 403
    assert "`bakeoff web`" in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_another_page_may_not_ask(page: Page, origin: str) -> None:
    assert page.get("/", Origin=origin).code == 403
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


def test_other_machines_need_the_token_once_and_then_the_cookie(folder: Path) -> None:
    with served(token=TOKEN) as page:
        assert page.get("/").code == 403
        assert page.get("/?token=another").code == 403
        assert page.get("/", Cookie=f"bakeoff-{page.port}=another").code == 403
        answer = page.get(f"/activity?of=1&token={TOKEN}")
        assert (answer.code, answer.headers["location"]) == (303, "/activity?of=1")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert page.get("/", Cookie=cookie.partition(";")[0]).code == 200
        assert page.ask("POST", f"/runs/any/act?token={TOKEN}", b"{}", X_Bakeoff="page").code == 403
        assert page.get("/", Host=f"192.168.1.7:{page.port}").code == 403  # known, and asked for the token
        assert "token" in page.get("/", Host=f"192.168.1.7:{page.port}").text
        assert "printed" in page.get("/", Host=f"evil.example:{page.port}").text


def test_the_token_leads_to_no_other_machine(folder: Path) -> None:
    with served(token=TOKEN) as page:
        assert page.get(f"//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


def test_the_token_stays_over_a_restart_and_is_its_user_s_alone(tmp_path: Path) -> None:
    token = read_token(tmp_path / "web/token")
    assert len(token) >= 32 and read_token(tmp_path / "web/token") == token
    assert (tmp_path / "web/token").stat().st_mode & 0o077 == 0


def test_the_printed_address_has_the_token_where_it_is_asked_for() -> None:
    assert ServerAddress("127.0.0.1", 8080).address == "http://127.0.0.1:8080/"
    assert ServerAddress("10.0.0.7", 8080, TOKEN).address == f"http://10.0.0.7:8080/?token={TOKEN}"
    assert ServerAddress("fe80::1", 8080, TOKEN).address.startswith("http://[fe80::1]:8080/")


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
    asked = f"GET / HTTP/1.1\r\nHost: {page.own}\r\n".encode()
    for sent in (b"", asked, asked + b"\r\n" + asked):  # nothing, half a head, a request and half of another
        with socket.create_connection(("127.0.0.1", page.port), timeout=20) as connection:
            connection.sendall(sent)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200") == (sent.count(b"GET") == 2)
    assert page.get("/").code == 200
