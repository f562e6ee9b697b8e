"""Addresses of Ray clusters, and errors where none can be used. test_real_ray.py has a real cluster."""

import ast
import importlib.util
import socket
from pathlib import Path

import pytest

from bakeoff.experiments.cluster import ray_connection
from bakeoff.experiments.cluster.node_probe import digest_code
from bakeoff.experiments.cluster.ray_connection import RayAddress, connect, parse_address
from bakeoff.experiments.cluster.ray_nodes import Node, find_difference, measure_apart, require_fitting
from bakeoff.foundation.errors import ConfigError, WorkspaceError
from support.imports import SRC
from support.messages import missing_in

HERE = {"python": "3.11.7", "numpy": "2.4.6"}


def make_node(versions: dict[str, str], seconds_apart: float = 0.0) -> Node:
    return Node("563dc8ed0a", "10.0.0.7", "c7", 1.0, 0.0, 0, False, versions, seconds_apart)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ray", RayAddress("")),
        ("10.0.0.1:6379", RayAddress("10.0.0.1:6379", "10.0.0.1", 6379)),
        ("ray://head:10001", RayAddress("ray://head:10001", "head", 10001)),
        ("[fd00::2]:6379", RayAddress("[fd00::2]:6379", "fd00::2", 6379)),
    ],
)
def test_an_address_is_a_name_or_a_place(
    text: str, address: RayAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert parse_address(text) == address


def test_the_name_alone_means_the_cluster_of_the_environment_or_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray/ray_current_cluster").write_text("10.0.0.2:6379", encoding="utf-8")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert parse_address("ray") == RayAddress("10.0.0.1:6379", "10.0.0.1", 6379)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert parse_address("ray") == RayAddress("10.0.0.2:6379", "10.0.0.2", 6379)
    monkeypatch.setenv("RAY_ADDRESS", "local")
    assert parse_address("ray") == RayAddress("")


@pytest.mark.parametrize(
    "text", ["head", "head:", ":6379", "head:no", "http://head:1", "ray://head", "a:1/x", "a:99999"]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--on: must be ray, ray://HOST:PORT or HOST:PORT, got '"):
        parse_address(text)


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "head")
    with pytest.raises(ConfigError, match=r"RAY_ADDRESS: must be .* got 'head'"):
        parse_address("ray")


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_error_says_how_to_install_it() -> None:
    with pytest.raises(WorkspaceError, match=r"Ray .*`pip install 'ray>="):
        with connect(RayAddress("")):
            pass


def test_a_place_where_nobody_listens_is_named() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with pytest.raises(WorkspaceError, match=rf"--on 127.0.0.1:{port}: no Ray cluster answers \(.*refused\); see"):
        ray_connection.require_answer(RayAddress(f"127.0.0.1:{port}", "127.0.0.1", port), "127.0.0.1")


def test_a_node_with_other_versions_is_refused_by_name() -> None:
    line = find_difference(make_node({"python": "3.11.7", "numpy": "1.0"}), HERE)
    assert line == "node c7 (10.0.0.7, node 563dc8ed): numpy 1.0 there, 2.4.6 here"
    assert find_difference(make_node(HERE), HERE) == ""
    assert "numpy none there" in find_difference(make_node({"python": "3.11.7"}), HERE)


def test_a_clock_that_differs_by_more_than_a_minute_is_named() -> None:
    assert find_difference(make_node(HERE, 59.0), HERE) == ""
    assert missing_in(find_difference(make_node(HERE, 61.0), HERE), "node c7", "clock", "61 s ahead") == []
    assert missing_in(find_difference(make_node(HERE, -3600.0), HERE), "node c7", "clock", "3600 s behind") == []


def test_the_time_that_an_answer_takes_is_no_difference_of_clocks() -> None:
    assert measure_apart(105.0, asked_at=100.0, answered_at=110.0) == 0.0
    assert measure_apart(200.0, asked_at=100.0, answered_at=110.0) == 90.0
    assert measure_apart(30.0, asked_at=100.0, answered_at=110.0) == -70.0


def test_all_nodes_that_differ_stand_in_one_line() -> None:
    nodes = [make_node({"bakeoff's code": "other"}), make_node({})]
    with pytest.raises(
        WorkspaceError, match=rf"^--on: node c7 .*other there, {digest_code()} here.*; node c7 .*; give"
    ):
        require_fitting(nodes)


def test_no_module_loads_ray_before_somebody_asks_for_it() -> None:
    """A local command works without Ray, and does not wait for it."""
    early = [
        file.relative_to(SRC).as_posix()
        for file in sorted(SRC.rglob("*.py"))
        for statement in _run_at_import(file)
        for name in _imported(statement)
        if name.split(".")[0] == "ray"
    ]
    assert early == []


def _run_at_import(file: Path) -> list[ast.stmt]:
    waiting, statements = [*ast.parse(file.read_text(encoding="utf-8")).body], []
    while waiting:
        statement = waiting.pop()
        statements.append(statement)
        if not isinstance(statement, ast.FunctionDef):
            waiting += [inner for inner in ast.iter_child_nodes(statement) if isinstance(inner, ast.stmt)]
    return statements


def _imported(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module or ""] if isinstance(statement, ast.ImportFrom) else []
