"""The address of an installed package, as installers note it."""

import hashlib
from pathlib import Path

import pytest

from bakeoff.foundation.installed import address_of, local_file


@pytest.mark.parametrize(
    ("noted", "address"),
    [
        (
            {"url": "https://host/b.whl", "archive_info": {"hashes": {"sha256": "9f"}, "hash": "sha256=9f"}},
            "https://host/b.whl#sha256=9f",
        ),
        ({"url": "https://host/b.whl", "archive_info": {"hash": "sha256=9f"}}, "https://host/b.whl#sha256=9f"),
        ({"url": "https://host/b.whl", "archive_info": {}}, "https://host/b.whl"),
        (
            {"url": "https://me:secret@host/b.git", "vcs_info": {"vcs": "git", "commit_id": "8d8d"}},
            "git+https://host/b.git@8d8d",
        ),
        ({"url": "file:///srv/bakeoff", "dir_info": {}}, "file:///srv/bakeoff"),
        ({"url": "file:///srv/bakeoff", "dir_info": {"editable": True}}, None),
    ],
)
def test_an_address_is_one_that_pip_takes_without_passwords(noted: dict[str, object], address: str | None) -> None:
    assert address_of(noted) == address


def test_a_wheel_without_a_noted_digest_gets_its_own(tmp_path: Path) -> None:
    wheel = tmp_path / "a b-1.whl"
    wheel.write_bytes(b"wheel")
    address = address_of({"url": wheel.as_uri(), "archive_info": {}})
    assert address == f"{wheel.as_uri()}#sha256={hashlib.sha256(b'wheel').hexdigest()}"
    assert local_file(address) == wheel and local_file("git+https://host/b.git@8d") is None
