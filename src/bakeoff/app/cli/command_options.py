"""The arguments and options of a command as fields of a dataclass: they make its parser, and the parser fills them in.

@dataclass(frozen=True)
class FramesCommand(Command):
    video: Path = argument("the film", "VIDEO")  # VIDEO
    every: float = option("seconds between pictures (1)", "SECONDS", default=1.0, least=0.001)  # --every SECONDS

An option is called like its field. A path means what it meant where the user stands.
"""

import os
from argparse import Namespace
from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields
from math import inf
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_origin

from bakeoff.app.cli.parser import FILE
from bakeoff.foundation.errors import ConfigError

Made = TypeVar("Made")


class Command:
    """What is typed behind `bakeoff`."""

    epilog: ClassVar[str | None] = None  # of its --help
    takes_all: ClassVar[bool] = False  # whatever is typed behind it, options as well
    needs_workspace: ClassVar[bool] = True

    def run(self) -> None:
        raise NotImplementedError


def argument(text: str, metavar: str | None = None, *, default: Any = MISSING, **how: Any) -> Any:
    """Return a field for what is typed without a name. `how` is argparse's."""
    return field(default=default, metadata={"help": text, "metavar": metavar, **how})


def option(
    text: str, metavar: str | None = None, *, flags: str = "", default: Any = None, least: float = -inf,
    most: float = inf, **how: Any,
) -> Any:  # fmt: skip
    """Return a field for an option; a number below `least` or above `most` is refused."""
    metadata = {"help": text, "metavar": metavar, "flags": flags.split(), "limits": (least, most), **how}
    return field(default=default, metadata=metadata)


def flag(text: str, *, flags: str = "") -> Any:
    """Return a field for an option without a value."""
    return field(default=False, metadata={"help": text, "flags": flags.split(), "action": "store_true"})


def group(made: Callable[[], Any], title: str = "", text: str = "") -> Any:
    """Return a field for a dataclass of options that several commands have. With a title, they are apart in --help."""
    return field(default_factory=made, metadata={"group": (title, text)})


def add_options(parser: Any, cls: type, *, has_commands: bool = False) -> None:
    """Add what the fields of a dataclass stand for, but no arguments to a parser whose first argument is a command."""
    for one in fields(cls):
        if "group" in one.metadata:
            title, text = one.metadata["group"]
            add_options(parser.add_argument_group(title, text) if title else parser, one.type)  # type: ignore[arg-type]
        elif "flags" in one.metadata or not has_commands:
            _add(parser, one)


def _add(parser: Any, one: "Field[Any]") -> None:
    how = {key: value for key, value in one.metadata.items() if key not in ("flags", "limits")}
    is_option, is_several = "flags" in one.metadata, get_origin(one.type) is tuple
    [kind, *_] = get_args(one.type) or [one.type]
    if kind is Path:
        how.setdefault("type", path_from_here)
    elif kind in (int, float):
        how["type"] = kind
    if is_option:
        names = one.metadata["flags"] or [f"--{one.name.replace('_', '-')}"]
        how |= {"dest": one.name, "default": one.default}
        if is_several:
            how |= {"default": []} if "nargs" in how else {"default": [], "action": "append"}
    else:
        names = [one.name]
        if is_several or one.default is not MISSING:
            how.setdefault("nargs", "*" if is_several else "?")
        if not is_several and one.default is not MISSING:
            how.setdefault("default", one.default)
    action = parser.add_argument(*names, **how)
    if kind is Path or how.get("type") is from_here:
        action.complete = FILE


def make(cls: type[Made], typed: Namespace) -> Made:
    """Return the dataclass with what was typed. Raises ConfigError for a number out of its limits."""
    values: dict[str, Any] = {}
    for one in fields(cls):  # type: ignore[arg-type]
        if "group" in one.metadata:
            values[one.name] = make(one.type, typed)  # type: ignore[arg-type]
            continue
        value = getattr(typed, one.name)
        least, most = one.metadata.get("limits", (-inf, inf))
        if (least, most) != (-inf, inf) and value is not None and not least <= value <= most:
            rule = f"{least:,} or more" if most == inf else f"between {least:,} and {most:,}"
            raise ConfigError(f"--{one.name.replace('_', '-')}: must be {rule}, got {value:.15g}")
        values[one.name] = tuple(value) if isinstance(value, list) else value
    return cls(**values)


def from_here(path: str) -> str:
    """As it was meant where the user stands, for commands run in the workspace's own folder, which may be above."""
    return path if Path("dvc.yaml").is_file() else os.path.join(os.getcwd(), path)


def path_from_here(path: str) -> Path:
    return Path(from_here(path))


def absolute_path(path: str) -> Path:
    return Path(path).absolute()
