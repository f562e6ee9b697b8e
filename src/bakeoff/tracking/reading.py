"""The store that a target names, opened for reading: past MLflow if it can be, else through its client."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bakeoff.errors import WorkspaceError
from bakeoff.tracking.database import KNOWN_SCHEMAS, Database, NoStore, UnknownSchema
from bakeoff.tracking.stored_run import StoredRun
from bakeoff.tracking.target import Target, without_secrets

SQLITE = "sqlite:///"


class Store(Protocol):
    def runs(self) -> list[StoredRun]: ...
    def filled(self, runs: Sequence[StoredRun], *, by_class: bool) -> list[StoredRun]: ...


def runs_in(target: Target) -> tuple[Store, list[StoredRun]] | None:
    """What each of its runs is, and the store, which has the rest; None if there is no such file."""
    schema = None
    if target.address.startswith(SQLITE):
        file = Path(target.address.removeprefix(SQLITE))
        if not file.is_file():
            return None
        try:
            database = Database(file)
            return database, database.runs()
        except NoStore:
            raise WorkspaceError(f"{target.shown}: must be a database of MLflow's, got another file") from None
        except UnknownSchema as error:
            schema = str(error)
    try:
        from bakeoff.tracking.listed import Listed  # MLflow takes seconds to load

        listed = Listed(target.address)
        return listed, listed.runs()
    except Exception as error:  # whatever a store raises
        reason = _shortened(without_secrets(" ".join((str(error) or type(error).__name__).split())))
        if schema is None:
            raise WorkspaceError(f"{target.shown}: must be a store that gives its runs, got {reason}") from None
        known = ", ".join(f"{name} of MLflow {version}" for name, version in KNOWN_SCHEMAS.items())
        raise WorkspaceError(
            f"{target.shown}: must have a schema that is known here ({known}), got {schema}, and the MLflow that is "
            f"installed does not read it either ({reason}); use the MLflow that made it, or bring a copy of it up to "
            f"date with `mlflow db upgrade {target.shown if ':' in target.shown else SQLITE + target.shown}`"
        ) from None


def _shortened(text: str, most: int = 300) -> str:
    """Libraries say first what they did and last what went wrong."""
    return text if len(text) <= most else f"{text[: most // 3]} … {text[-2 * most // 3 :]}"
