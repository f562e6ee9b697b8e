"""A commit -> a clone of the user's repository, with its objects and DVC's cache, in which nothing ran yet."""

import shutil
from configparser import ConfigParser, Error
from contextlib import suppress
from pathlib import Path

from bakeoff.foundation.git import git, git_beside_gc
from bakeoff.foundation.workspace import main_workspace

LINKS = "reflink,hardlink,symlink,copy"  # the first kind that the disk supports
LOCAL = Path(".dvc/config.local")


def make_clone(place: Path, commit: str, *others: str) -> Path:
    """Check a commit out in a clone, which also has `others`, and return the folder of the workspace in it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _link_objects(git("rev-parse", "--show-toplevel"), place)
    if git("rev-parse", "--is-shallow-repository") == "true":  # then git copies no more than what branches lead to
        git("fetch", "--quiet", "--no-tags", "origin", commit, *others, folder=place)
    git("checkout", "--quiet", "--detach", commit, folder=place)
    return place / git("rev-parse", "--show-prefix")


def _link_objects(repository: str, place: Path) -> None:
    """Clone without files. All objects come along as hard links, also those that are on no branch.

    Git lists the objects before it links them. If a `git gc` beside removes one meanwhile, the clone fails, and is made
    again.
    """
    words = ("clone", "--quiet", "--local", "--no-checkout", "--no-tags", repository, str(place))
    git_beside_gc(*words, clean=lambda: shutil.rmtree(place, ignore_errors=True))


def share_cache(workspace: Path, cache: Path, **core: str) -> None:
    """Take DVC's settings of this machine along, with addresses that count from the main workspace spelled out.

    `core` are more settings of that section.
    """
    main = main_workspace()
    local, shared = (ConfigParser(interpolation=None, strict=False) for _ in range(2))
    for config, path in ((local, main / LOCAL), (shared, workspace / ".dvc/config")):
        config.optionxform = str  # type: ignore[assignment,method-assign]  # options of remotes keep their case
        with suppress(Error):
            config.read(path, encoding="utf-8")
    settings = {("core", key): value for key, value in core.items()} | {("cache", "dir"): str(cache)}
    if not any(config.has_option("cache", "type") for config in (local, shared)):
        settings["cache", "type"] = LINKS
    for section in dict.fromkeys([*local.sections(), *shared.sections()]):
        url = next((config[section]["url"] for config in (local, shared) if config.has_option(section, "url")), "")
        place = url.strip("\"' ")
        if place and "://" not in place and not Path(place).is_absolute():
            settings[section, "url"] = str((main / ".dvc" / place).resolve())
    for (section, key), value in settings.items():
        if not local.has_section(section):
            local.add_section(section)
        local.set(section, key, f'"{value}"')
    with (workspace / LOCAL).open("w", encoding="utf-8") as file:
        local.write(file)
