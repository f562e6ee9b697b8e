"""The parsers of the commands -> a page: each command with its arguments, its options and their help."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from bakeoff.cli import make_parser
from bakeoff.cli.terminal import RUN
from reference.texts import as_sentence, make_table, read_texts

ROOT = Path(__file__).resolve().parent.parent
TARGET = re.compile(r'^\t@echo "(make (?:\w+=\w+ )?\w+) +(.+)"$', re.MULTILINE)
A_RUN = "a run by any of its [names](../runs.md#the-names-of-a-run)"


def make_command_page() -> str:
    texts = read_texts("commands")
    page = f"# Commands\n\n{texts['intro']}\n## make\n\n{make_table(('command', 'what it does'), _make_targets())}"
    for name, parser, text in find_commands(make_parser(), ""):
        page += f"## `{name}`\n\n" if " " not in name.removeprefix("bakeoff ") else f"### `{name}`\n\n"
        page += f"{_sentence(text)}\n\n" if text else ""
        page += _usage(name, parser) + "".join(_items(parser)) + "\n"
        page += f"{texts['more'][name]}\n" if name in texts["more"] else ""
    return page.replace("\n\n\n", "\n\n") + texts["notes"]


def _make_targets() -> list[tuple[str, ...]]:
    rows = TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
    texts: dict[str, str] = read_texts("commands")["make"]
    return [(f"`{command}`", texts.get(command) or _sentence(text)) for command, text in rows]


def find_commands(parser: argparse.ArgumentParser, before: str) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yield each command's name, its parser and its help, a command of a command after it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name in sorted(action.choices, key=lambda name: _place(name, list(action.choices))):
                full = f"{before or 'bakeoff'} {name}"
                yield full, action.choices[name], helps.get(name, "")
                yield from find_commands(action.choices[name], full)


def _place(name: str, names: list[str]) -> tuple[int, int]:
    """`sweep list` is a command beside `sweep`, and stands behind it."""
    return names.index(name.split()[0]), names.index(name)


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    if name == "bakeoff repro":  # all its words go to DVC's own parser
        return f"`{name} [OPTION…] [STAGE…]`\n\n"
    words = [_argument(action) for action in parser._actions if not action.option_strings]
    options = any(action.option_strings and action.dest != "help" for action in parser._actions)
    return f"`{' '.join([name, *words, *(['[OPTION…]'] if options else [])])}`\n\n"


def _argument(action: argparse.Action) -> str:
    if isinstance(action, argparse._SubParsersAction):
        return "COMMAND"
    forms = {"*": "[{}…]", "+": "{}…", "?": "[{}]"}
    return forms.get(str(action.nargs), "{}").format(_name(action))


def _name(action: argparse.Action) -> str:
    if action.metavar is None and action.choices:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _items(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if action.dest == "help" or isinstance(action, argparse._SubParsersAction) or not action.help:
            continue
        names = ", ".join(action.option_strings)
        value = "" if action.nargs == 0 else _value(action)
        yield f"- `{names}{value if names else _name(action)}`: {_help(action)}\n"


def _value(action: argparse.Action) -> str:
    return f" [{_name(action)}]" if action.nargs == "?" else f" {_name(action)}"


def _help(action: argparse.Action) -> str:
    text = (action.help or "").replace(RUN, A_RUN)
    return re.sub(r"(?<![`\w/])(\.bakeoff/[\w./<>-]*|data/\w[\w./<>]*/?|conf/[\w./]+|models/[\w./]+)", r"`\1`", text)


def _sentence(text: str) -> str:
    return f"{as_sentence(text).rstrip('.')}."
