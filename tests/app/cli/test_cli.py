"""The bakeoff command, as a process of its own."""

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.app.cli import COMMANDS, evaluate, make_listing_parser, make_parser, parse
from bakeoff.app.cli.init import InitCommand
from bakeoff.dataset.records.record import SPLITS, TEST
from bakeoff.foundation.errors import SEEN_ENOUGH
from support.imports import ROOT
from support.messages import missing_in
from support.workspace_copy import environment


def bakeoff(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bakeoff", *arguments], cwd=folder, env=environment(), capture_output=True, text=True
    )


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A workspace in which nothing ran yet."""
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "conf").mkdir()
    return tmp_path


def test_help_names_every_command() -> None:
    done = bakeoff("--help")
    assert done.returncode == 0
    assert "ui" in done.stdout and "127.0.0.1" in done.stdout
    for command in ("plan", "config", "import-config"):
        assert re.search(rf"^    {command}\s", done.stdout, re.MULTILINE)
        assert bakeoff(command, "--help").returncode == 0


def test_an_argument_that_is_left_out_has_its_default() -> None:
    command = parse(["init"])
    assert isinstance(command, InitCommand) and command.folder == Path()
    assert parse(["init", "field"]) == InitCommand(Path("field"))


def test_the_queue_alone_is_its_list() -> None:
    assert parse(["queue"]) == parse(["queue", "list"])


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["uii"], ("bakeoff: ", "command 'uii'", "'ui'", "`bakeoff --help`")),
        (["xyzzy"], ("bakeoff: ", "command 'xyzzy'; `bakeoff --help`")),
        (["queue", "lst"], ("bakeoff queue: ", "command 'lst'", "'list'", "`bakeoff queue --help`")),
        (["sweep", "--jbos", "2"], ("bakeoff sweep: ", "option '--jbos'", "'--jobs'", "`bakeoff sweep")),
        (["completion", "fish"], ("argument shell: ", "'fish'")),
        ([], ("required: COMMAND",)),
        (["ui", "--port", "many"], ("argument --port: ", "'many'")),
        (["ui", "--prot=5000"], ("bakeoff ui: ", "option '--prot'", "'--port'", "`bakeoff ui --help`")),
        (["sweep", "best", "--aply"], ("bakeoff sweep best: ", "option '--aply'", "'--apply'")),
    ],
)
def test_a_mistyped_command_is_refused(arguments: list[str], parts: tuple[str, ...]) -> None:
    done = bakeoff(*arguments)
    assert done.returncode == 2
    assert missing_in(done.stderr, *parts) == [] and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["plan", "config"])
def test_a_workspace_without_records_says_what_makes_them(command: str, empty: Path) -> None:
    shutil.copytree(ROOT / "conf", empty / "conf", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", empty)
    done = bakeoff(command, folder=empty)
    assert (done.returncode, done.stdout) == (2, "")
    parts = ("data/records/manifest.json: missing", "`dvc repro build_records`")
    assert missing_in(done.stderr, *parts) == [] and done.stderr.count("\n") == 1


def test_the_ui_outside_of_a_workspace_says_so(tmp_path: Path) -> None:
    done = bakeoff("ui", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert missing_in(done.stderr, f"{tmp_path}: not in", "dvc.yaml", "conf/") == [] and done.stderr.count("\n") == 1


def test_the_ui_before_any_run_says_what_makes_one(empty: Path) -> None:
    done = bakeoff("ui", folder=empty)
    assert done.returncode == 2
    assert missing_in(done.stderr, f"{empty / 'mlflow.db'}: no run", "`dvc repro`") == []
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_named(empty: Path) -> None:
    (empty / "mlflow.db").touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = bakeoff("ui", "--port", str(port), folder=empty)
    assert done.returncode == 2
    assert missing_in(done.stderr, f"port {port} is taken", "--port") == [] and done.stderr.count("\n") == 1


WORDY = """
from bakeoff.foundation.errors import DataError, errors_in_one_line
with errors_in_one_line():
    for line in range({lines}):
        print("a line that nobody reads")
    {end}
"""


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["-m", "bakeoff", "--help"], 0, ""),
        (["-m", "bakeoff", "plan", "--help"], 0, ""),
        (["-c", WORDY.format(lines=100_000, end="")], SEEN_ENOUGH, ""),
        (["-c", WORDY.format(lines=1, end="")], 0, ""),
        (["-c", WORDY.format(lines=1, end="raise DataError('no box')")], 2, "no box\n"),
    ],
)
def test_a_reader_that_went_away_is_no_error(words: list[str], code: int, expected: str) -> None:
    """As of `bakeoff … | head -1`: nothing complains of it, and an error of another kind is still said."""
    usual = environment() | {"PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=usual, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == expected
    assert process.returncode == code


def test_a_command_is_found_without_the_files_of_the_others() -> None:
    """And is the same as among all of them."""
    whole = make_parser().commands.choices
    names = {name for name in COMMANDS if " " not in name}
    for name in names:
        alone = make_parser(name).commands.choices
        assert next(iter(alone)) == name and {one.partition(" ")[0] for one in alone} == {name}
        assert {word: parser.format_help() for word, parser in alone.items()} == {
            word: whole[word].format_help() for word in alone
        }
    assert set(whole) == {word for name in names for word in make_parser(name).commands.choices}


def test_the_list_of_commands_is_that_of_the_parser_of_all_of_them() -> None:
    assert make_listing_parser().format_help() == make_parser().format_help()
    within = [name for name in COMMANDS if COMMANDS[name.split()[0]].does_it]
    assert within == [name for name in make_parser().commands.choices if COMMANDS[name].does_it]


@pytest.mark.parametrize("arguments", [["--help"], ["uii"], []])
def test_the_list_of_commands_loads_the_file_of_none(arguments: list[str]) -> None:
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(sorted(name for name in sys.modules if name.startswith('bakeoff.'))))\n"
        f"sys.argv = ['bakeoff', *{arguments}]\n"
        "from bakeoff.app.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    loaded = [
        "bakeoff.app",
        "bakeoff.app.cli",
        "bakeoff.app.cli.command_table",
        "bakeoff.app.cli.parser",
        "bakeoff.foundation",
        "bakeoff.foundation.errors",
        "bakeoff.foundation.tf_loading",
    ]
    assert done.stdout.splitlines()[-1] == str(loaded)


def test_splits_are_called_as_the_records_call_them() -> None:
    assert (evaluate.SPLITS, evaluate.TEST) == (SPLITS, TEST)
