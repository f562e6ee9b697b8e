"""What the page refuses, by the code of its answer: 404, 409, 503, 507 or 400."""

from typing import Any

from bakeoff.foundation.errors import BakeoffError, DataError, WorkspaceError


class NotFound(DataError):
    """Nothing has the name that was asked for."""


class BadRequest(BakeoffError):
    """A request that no page of this version sends."""


class Busy(BakeoffError):
    """Others ask for the same at this moment."""


class NoRoom(WorkspaceError):
    """The disk has too little room for it."""


class Conflict(BakeoffError):
    """Somebody else changed it in between; `tree` is how it is now."""

    def __init__(self, text: str, tree: dict[str, Any]) -> None:
        self.tree = tree
        super().__init__(text)
