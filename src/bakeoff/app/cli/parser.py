"""A parser that says a mistake in one line, with the command or the option that was probably meant."""

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from bakeoff.foundation.errors import USER_ERROR, did_you_mean

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
FILE = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # how shtab completes a path


class Commands(argparse._SubParsersAction):
    """The commands of a parser; the line of each in the help may stand in a table."""

    lines: Mapping[str, str]

    def add_parser(self, name: str, **settings: Any) -> Any:
        if name in self.lines:
            settings["help"] = self.lines[name]
        return super().add_parser(name, **settings)


class Parser(argparse.ArgumentParser):
    commands: Any = None  # of a command that has some of its own: what add_subparsers returned

    def add_commands(self, lines: Mapping[str, str] | None = None) -> Any:
        """Return what adds commands; `lines` has the line of help of those that are added without one."""
        self.commands = self.add_subparsers(title="commands", metavar="COMMAND", required=True, action=Commands)
        self.commands.lines = lines or {}
        return self.commands

    def add_path(self, *names: str, **how: Any) -> None:
        """Add an argument that shells complete as a path."""
        self.add_argument(*names, **how).complete = FILE  # type: ignore[attr-defined]

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else ";"
        self.exit(USER_ERROR, f"{self.prog}: {message}{end} `{self.prog} --help` says what there is\n")

    def parser_of(self, arguments: Sequence[str]) -> "Parser":
        """Return the parser of the command that arguments begin with; refuse one that is none."""
        if self.commands is None or not arguments or arguments[0].startswith("-"):
            return self
        argument, names = arguments[0], self.commands.choices
        if argument not in names:
            self.error(f"no such command {argument!r}{_meant(argument, names)}")
        chosen: Parser = names[argument].parser_of(arguments[1:])
        return chosen

    def refuse(self, arguments: Sequence[str]) -> NoReturn:
        """Refuse arguments that the command does not take."""
        option = next((argument.partition("=")[0] for argument in arguments if argument.startswith("-")), None)
        if option is None:
            self.error(f"must be given no more, got {' '.join(arguments)}")
        self.error(f"no such option {option!r}{_meant(option, self.options)}")

    @property
    def options(self) -> list[str]:
        """With all their names, as the help lists them."""
        named = [line.strip().partition("  ")[0] for line in self.format_help().splitlines() if line.startswith("  -")]
        return sorted({name for names in named for name in OPTION.findall(names)})


def _meant(argument: str, names: Sequence[str]) -> str:
    return f"; {text.strip()}" if (text := did_you_mean(argument, names)) else ""
