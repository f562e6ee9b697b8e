"""Every group of a variant and the classes that its settings can be."""

from collections.abc import Mapping
from typing import Any

from bakeoff.config.watched import check_data_path
from bakeoff.run.parse import Problems, parse_kind
from bakeoff.run.settings import GROUPS, Draft, parse_draft, settings_tree
from bakeoff.sources import SOURCES
from bakeoff.sources.dataset import Dataset

KINDS: dict[str, Mapping[str, type]] = {"data": SOURCES} | GROUPS


def parse_variant(tree: Mapping[str, Any], problems: Problems) -> Draft:
    """Return the checked groups, with every mistake noted; `data` with every default filled in."""
    if "data" not in tree:
        return parse_draft(tree, problems)
    source = parse_kind(SOURCES, tree["data"], "data", problems)
    if isinstance(source, Dataset):
        check_data_path(source.path, problems)
    return parse_draft({**tree, "data": None if source is None else settings_tree(source, SOURCES)}, problems)
