"""The parsers of the commands -> a page: each command with its arguments, its options and their help."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from bakeoff.app.cli import make_parser
from bakeoff.app.cli.terminal import RUN
from reference.texts import as_sentence, make_table, read_texts

ROOT = Path(__file__).resolve().parent.parent
TARGET = re.compile(r'^\t@echo "(make (?:\w+=\w+ )?[\w-]+) +(.+)"$', re.MULTILINE)
A_RUN = "a run by any of its [names](../runs.md#the-names-of-a-run)"


def make_command_page() -> str:
    texts = read_texts("commands")
    page = f"# Commands\n\n{texts['intro']}\n## make\n\n{make_table(('command', 'what it does'), _make_targets())}"
    for name, parser, text in find_commands(make_parser(), ""):
        page += f"## `{name}`\n\n" if " " not in name.removeprefix("bakeoff ") else f"### `{name}`\n\n"
        page += f"{texts['help'].get(name) or _sentence(text)}\n\n"
        page += _usage(name, parser) + "".join(list_items(name, parser)) + "\n"
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
    positionals = [_argument(action) for action in parser._actions if not action.option_strings]
    options = any(action.option_strings and action.dest != "help" for action in parser._actions)
    return f"`{' '.join([name, *positionals, *(['[OPTION…]'] if options else [])])}`\n\n"


def _argument(action: argparse.Action) -> str:
    if isinstance(action, argparse._SubParsersAction):
        return "COMMAND"
    forms = {"*": "[{}…]", "+": "{}…", "?": "[{}]"}
    return forms.get(str(action.nargs), "{}").format(_name(action))


def _name(action: argparse.Action) -> str:
    if action.metavar is None and action.choices:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def list_items(command: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if action.dest == "help" or isinstance(action, argparse._SubParsersAction):
            continue
        text = _help(command, action)
        if text:
            yield f"- `{', '.join(action.option_strings)}{_value(action)}`: {text}\n"


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    name = f"[{_name(action)}]" if action.option_strings and action.nargs == "?" else _name(action)
    return f" {name}" if action.option_strings else name


def find_help(command: str, action: argparse.Action) -> str | None:
    """Return the key of the text for an option or an argument; None if the parser's own help is shown."""
    texts: dict[str, str] = read_texts("commands")["help"]
    name = action.option_strings[0] if action.option_strings else _name(action)
    return next((key for key in (f"{command} {name}", name) if key in texts), None)


def _help(command: str, action: argparse.Action) -> str:
    key = find_help(command, action)
    if key:
        return str(read_texts("commands")["help"][key])
    return _sentence((action.help or "").replace(RUN, A_RUN)) if action.help else ""


def _sentence(text: str) -> str:
    return f"{as_sentence(text).rstrip('.')}."
