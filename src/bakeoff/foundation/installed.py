"""Which bakeoff is installed, and an address by which pip installs the same again.

installed_address() -> "file:///srv/wheels/bakeoff-0.15.0-py3-none-any.whl#sha256=9f2c…", "git+https://…@<commit>",
or None for a clone
"""

import json
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bakeoff.foundation.files import hash_file
from bakeoff.foundation.formatting import without_secrets
from bakeoff.foundation.result_code import PACKAGE

NAME = "bakeoff"
HASH = "#sha256="


def installed_address() -> str | None:
    """Return the address by which this package was installed, with what fixes its content, where that is known.

    The installer notes it in direct_url.json (PEP 610).
    """
    try:
        noted = Distribution.from_name(NAME).read_text("direct_url.json")
        return address_of(json.loads(noted)) if noted and (PACKAGE / "shipped").is_dir() else None
    except (PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


def address_of(noted: Mapping[str, Any]) -> str | None:
    """Return the address that direct_url.json has; None for a clone, whose code changes."""
    url = without_secrets(noted["url"])
    if git := noted.get("vcs_info"):
        folder = noted.get("subdirectory")
        return f"{git['vcs']}+{url}@{git['commit_id']}" + (f"#subdirectory={folder}" if folder else "")
    if "dir_info" in noted:
        return None if noted["dir_info"].get("editable") else url
    archive = noted.get("archive_info") or {}
    digest = (archive.get("hashes") or {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
    file = local_file(url)
    if not digest and file and file.is_file():  # uv notes no digest
        digest = hash_file(file)
    return f"{url}{HASH}{digest}" if digest else url


def local_file(address: str) -> Path | None:
    """Return the file or folder of this machine that an address names."""
    parts = urlsplit(address)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None
