"""A parser that says a mistake in one line, with the command or the option that was probably meant."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from bakeoff.foundation.errors import USER_ERROR, did_you_mean

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
FILE = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # how shtab completes a path


class Parser(argparse.ArgumentParser):
    commands: Any = None  # of a command that has some of its own: what add_subparsers returned

    def add_commands(self) -> None:
        self.commands = self.add_subparsers(title="commands", metavar="COMMAND", required=True)

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
