"""The functions of `import bakeoff`, and the values that they return -> a page, by signatures and docstrings."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import bakeoff
from bakeoff.app.api.predictions import ImagePredictions, Prediction
from bakeoff.app.api.run_handle import RunExamples, RunHandle, RunHistory
from bakeoff.app.api.run_list import RunList
from bakeoff.experiments.compare.comparison_verdict import ComparisonVerdict
from bakeoff.experiments.planning.plan import Plan
from reference.texts import make_table, read_texts, require_text

VALUES = (RunHandle, RunList, RunHistory, RunExamples, ImagePredictions, Prediction, Plan, ComparisonVerdict)


def make_python_page() -> str:
    texts = read_texts("python")
    page = f"# Python\n\n{texts['intro']}\n## Functions\n\n"
    for name in bakeoff.__all__:
        function = getattr(bakeoff, name)
        signature = textwrap.fill(_plain(f"bakeoff.{name}{inspect.signature(function)}"), 100, subsequent_indent="    ")
        page += f"### `bakeoff.{name}`\n\n```text\n{signature}\n```\n\n{_describe(function, name)}\n\n"
    for cls in VALUES:
        rows = [(f"`{name}`", text) for name, text in _list_parts(cls, texts["keys"])]
        page += f"## `{cls.__name__}`\n\n{_describe(cls, cls.__name__)}\n\n{make_table(('name', 'meaning'), rows)}"
    return page


def _list_parts(cls: type, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what people read or call, in the order of the code."""
    for name, part in vars(cls).items():
        if name.startswith("_") or name in ("contender", "gathered", "root"):
            continue
        if inspect.isfunction(part):
            yield (
                f"{name}{_plain(str(inspect.signature(part))).replace('self, ', '').replace('self', '')}",
                _text(part, f"{cls.__name__}.{name}", texts),
            )
        elif isinstance(part, property) or hasattr(part, "func"):
            function = part.fget if isinstance(part, property) else part.func
            yield name, _text(function, f"{cls.__name__}.{name}", texts)
    for name in getattr(cls, "__dataclass_fields__", ()):
        if (key := f"{cls.__name__}.{name}") in texts:
            yield name, texts[key]


def _text(part: Any, key: str, texts: dict[str, str]) -> str:
    text = require_text(texts.get(key) or part.__doc__, key, "a docstring")
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())


def _describe(part: Any, name: str) -> str:
    return inspect.cleandoc(require_text(part.__doc__, name, "a docstring"))


def _plain(signature: str) -> str:
    """Return a signature with the names of types alone, as a reader knows them."""
    short = re.sub(r"(?:[A-Za-z_]\w*\.)+(?=\w)", lambda match: match[0] if match[0] == "bakeoff." else "", signature)
    short = short.replace("'", "").replace('"', "")
    return short.replace("Which | None", "str | RunHandle | None").replace("Which", "str | RunHandle").replace(
        "Several", "str | list[str]"
    )  # fmt: skip
