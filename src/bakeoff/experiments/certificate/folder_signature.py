"""A folder and a key -> `model.sig`, by OpenSSF's model-signing; and whether a folder is still as it was signed.

The signature is over an in-toto statement with the SHA-256 of every file of the folder. model-signing's own command
verifies it, too. Nothing here asks a network.
"""

import base64
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from bakeoff.experiments.certificate.compare_copy import describe_difference
from bakeoff.experiments.certificate.run_statement import FILE as CERTIFICATE
from bakeoff.experiments.certificate.run_statement import StatedFile, read_statement
from bakeoff.foundation.errors import BakeoffError, DataError, WorkspaceError, one_line
from bakeoff.foundation.files import hash_file, load_json, read_json

FILE = "model.sig"
PASSWORD = "BAKEOFF_KEY_PASSWORD"  # the variable with the password of a private key that has one
INSTALL = "run `pip install 'bakeoff[certify]'`"
CARD_SECTION = (
    "", "## Certificate", "",
    f"`{CERTIFICATE}` states the code, the data, the configuration, the locks, the environment, the weights and the",
    f"metrics of this run. `{FILE}` signs every file of this folder. Whoever gave it to you has the public key:", "",
    "```console",
    f"$ bakeoff verify {CERTIFICATE} --key certificate.pub",
    f"$ model_signing verify key . --signature {FILE} --public_key certificate.pub",
    "```",
)  # fmt: skip
OTHER_FILES = "Signature mismatch: "  # how model-signing begins, if the signature holds and the files are others


def load_signer(key: Path) -> Any:
    """Return what `sign_folder` signs with. Raises WorkspaceError for a key that cannot sign."""
    password = os.environ.get(PASSWORD)
    with _using_key(key, "private"):
        return (
            _import("signing")
            .Config()
            .use_elliptic_key_signer(private_key=key, password=password.encode() if password else None)
        )


def sign_folder(folder: Path, signer: Any) -> None:
    """Sign all files of a folder."""
    hashing = _import("hashing").Config().set_ignored_paths(paths=[FILE], ignore_git_paths=False)
    signer.set_hashing_config(hashing).sign(folder, folder / FILE)


def name_key(folder: Path) -> str:
    """Return the SHA-256 of the public key's file, by which the signature of a folder names its key."""
    return str(read_json(folder / FILE)["verificationMaterial"]["publicKey"]["hint"])


def explain_mismatch(folder: Path, key: Path) -> str | None:
    """Return what is not as the key signed it; None if all is."""
    with _using_key(key, "public"):
        config = _import("verifying").Config().use_elliptic_key_verifier(public_key=key)
    signature = folder / FILE
    if not signature.is_file():
        raise DataError(f"{signature}: missing, so nothing says who certified this; ask for the folder as it was")
    try:
        config.verify(folder, signature)
    except Exception as error:  # whatever it and its libraries raise for a file of somebody else
        if str(error).startswith(OTHER_FILES):
            return next(_list_differing(folder, _read_signed(signature)), one_line(error))
        return f"{signature}: does not verify with {key}: {one_line(error) or 'it is of other content'}"
    if CERTIFICATE not in _read_signed(signature):
        return f"{folder / CERTIFICATE}: is not among the files that {key} signed"
    return None


def _list_differing(folder: Path, signed: Mapping[str, str]) -> Iterator[str]:
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted({*signed, *there} - {FILE}):
        if name not in there:
            yield f"{folder / name}: missing"
        elif name not in signed:
            yield f"{folder / name}: was not there when the folder was signed"
        elif hash_file(there[name]) != signed[name]:
            yield describe_difference(there[name], signed[name], _find_exported(folder, signed[name]))


def _find_exported(folder: Path, sha256: str) -> StatedFile | None:
    """Return the exported file with this content, by whose other names the certified bytes may be here."""
    with suppress(DataError):  # the certificate itself may be what differs
        return next((one for one in read_statement(folder / CERTIFICATE).files["export"] if one.sha256 == sha256), None)
    return None


def _read_signed(signature: Path) -> dict[str, str]:
    """Return the digests by name of a signature that holds."""
    payload = json.loads(base64.b64decode(load_json(signature)["dsseEnvelope"]["payload"]))
    return {one["name"]: one["digest"] for one in payload["predicate"]["resources"]}


@contextmanager
def _using_key(key: Path, kind: str) -> Iterator[None]:
    """Name the key's file if it is missing, or no key that model-signing takes."""
    if not key.is_file():
        raise WorkspaceError(f"--key: {key}: no such file; docs/certificate.md says how to make a key")
    try:
        yield
    except BakeoffError:
        raise
    except Exception as error:  # whatever `cryptography` raises for a file of any content
        rule = f"must be a {kind} key in PEM, of the curve P-256, P-384 or P-521"
        password = f"; ${PASSWORD} must hold its password" if "assword" in str(error) else ""
        raise WorkspaceError(f"--key: {key}: {rule} ({one_line(error)}){password}") from None


def _import(module: str) -> Any:
    try:
        return import_module(f"model_signing.{module}")
    except ModuleNotFoundError as error:
        raise WorkspaceError(f"{error.name}: this package is missing, and certificates need it; {INSTALL}") from None
