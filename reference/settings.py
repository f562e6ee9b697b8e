"""A group of settings -> its page: the options of conf/, and each kind's keys with type, default, range and meaning.

A meaning stands in texts/<group>.yaml, by its key or by `kind:key`; else it is the comment behind the field.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from bakeoff.config.compose.variant import KINDS
from bakeoff.learning.plan.phases import Derived
from reference.fields import Field, fields_of, list_keys
from reference.kinds import describe_option, kind_of_option, options_of, settings_of
from reference.texts import as_sentence, make_table, read_texts, require_text

HEADS = ("key", "type and range", "default", "meaning")
NUMBERS = ("number", "whole number")
NO_TEXTS: dict[str, str] = {}
FEW = 4  # keys that kinds share are in a table of their own if they are so many
MANY = 6  # keys below one, such as `augment`, are in a section of their own if they are so many

Row = tuple[str, ...]


def make_group_page(group: str) -> str:
    texts = read_texts(group)
    page = f"# Settings: {group}\n\n{texts['intro']}\n## Options\n\n{_option_table(group)}"
    kinds = KINDS[group]
    tables = {kind: make_rows(group, kind) for kind in kinds}
    page += _sections(next(iter(tables.values()))) if len(kinds) == 1 else _kinds(tables)
    return page + texts.get("notes", "")


def make_preset_page() -> str:
    """Return the page of the presets: what each is."""
    rows = [(f"`{path.stem}`", _option_text("experiment", path)) for path in options_of("experiment")]
    return (
        f"# Presets\n\n{read_texts('experiment')['intro']}\n{make_table(('preset', 'meaning'), rows)}".rstrip() + "\n"
    )


def make_derived_page() -> str:
    """Return the page of what render_config fills in."""
    texts = read_texts("derived")
    fields = list(list_keys(Derived))
    rows = [(f"`derived.{key}`", kind, _derived_text(texts, key)) for key, kind in fields]
    return f"# Derived values\n\n{texts['intro']}\n{make_table(('key', 'type', 'meaning'), rows)}"


def _derived_text(texts: dict[str, Any], key: str) -> str:
    return require_text(texts["keys"].get(key), f"derived.{key}", "it into reference/texts/derived.yaml")


def _option_table(group: str) -> str:
    several = len(KINDS[group]) > 1
    rows = [
        (f"`{path.stem}`", *([f"`{kind_of_option(group, path)}`"] if several else []), _option_text(group, path))
        for path in options_of(group)
    ]
    return make_table(("option", *(["kind"] if several else []), "meaning"), rows)


def _option_text(group: str, path: Any) -> str:
    text = read_texts(group).get("options", NO_TEXTS).get(path.stem) or describe_option(path)
    return require_text(text, f"conf/{group}/{path.name}", "it as a comment into the first line")


def make_rows(group: str, kind: str) -> list[Row]:
    """Return the rows of the kind's keys; raise ConfigError if a key has no meaning."""
    return [_row(group, kind, field) for field in fields_of(settings_of(group, kind))]


def _row(group: str, kind: str, field: Field) -> Row:
    meaning = _text_of(group, "keys", kind, field.key) or field.comment
    remedy = f"it as a comment behind the field, or into reference/texts/{group}.yaml"
    meaning = require_text(meaning, f"{group}.{field.key}", remedy)
    limits = _text_of(group, "ranges", kind, field.key) or field.range
    return f"`{field.key}`", describe_values(field.type, limits), field.default, as_sentence(meaning)


def describe_values(kind: str, limits: str) -> str:
    """Return what a key may be: "number, 0 to 1", "one of `a`, `b`", "text or null: a run"."""
    if kind == "choice or null":
        return f"null, or one of {limits}"
    if "choice" in kind:
        return f"{kind.replace('choices', 'these:').replace('choice', 'one of')} {limits}"
    return f"{kind}{',' if kind.startswith(NUMBERS) else ':'} {limits}" if limits else kind


def _text_of(group: str, part: str, kind: str, key: str) -> str | None:
    texts: dict[str, str] = read_texts(group).get(part, NO_TEXTS)
    return texts.get(f"{kind}:{key}") or texts.get(key)


def _sections(rows: list[Row]) -> str:
    """Return the keys of the only kind; those below a key that has many stand apart."""
    parts = {first: list(inner) for first, inner in groupby(rows, key=_first_part)}
    apart = {first: inner for first, inner in parts.items() if len(inner) >= MANY}
    page = f"## Keys\n\n{make_table(HEADS, [row for row in rows if _first_part(row) not in apart])}"
    for first, inner in apart.items():
        page += f"## `{first}`\n\n{make_table(HEADS, inner)}"
    return page


def _first_part(row: Row) -> str:
    return row[0].strip("`").partition(".")[0].removesuffix("[]")


def _kinds(tables: dict[str, list[Row]]) -> str:
    """Return a section for each kind, and one for keys that several of them share to the letter."""
    sharers: dict[tuple[str, ...], list[Row]] = {}
    for row in dict.fromkeys(row for rows in tables.values() for row in rows):
        sharers.setdefault(tuple(kind for kind, rows in tables.items() if row in rows), []).append(row)
    shared = {kinds: rows for kinds, rows in sharers.items() if len(kinds) > 1 and len(rows) >= FEW}
    page = ""
    for kind, rows in tables.items():
        page += f"## `{kind}`\n\n"
        own = [row for row in rows if not any(row in others for kinds, others in shared.items() if kind in kinds)]
        page += make_table(HEADS, own) if own else ""
        links = [f"[{_heading(kinds)}](#{_anchor(kinds)})" for kinds in shared if kind in kinds]
        page += f"More keys: {_listed(links, ';')}.\n\n" if links else ""
        page += "This kind has no keys.\n\n" if not rows else ""
    for kinds, rows in shared.items():
        page += f"## {_heading(kinds)}\n\n{make_table(HEADS, rows)}"
    return page


def _heading(kinds: Iterable[str]) -> str:
    return _listed([f"`{kind}`" for kind in kinds], ",")


def _anchor(kinds: Iterable[str]) -> str:
    return _heading(kinds).replace("`", "").replace(",", "").replace(" ", "-")


def _listed(names: list[str], comma: str) -> str:
    *most, last = names
    return f"{f'{comma} '.join(most)} and {last}" if most else last
