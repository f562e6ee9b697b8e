"""A call from Python, in any folder of a workspace -> the same as a command there; an error is one line."""

import os
from collections.abc import Callable
from contextlib import chdir
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError, WorkspaceError, explain

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def in_workspace(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Call in the workspace that holds the current folder, and come back. Of an error the text alone is left.

    What a method's object has as its `root` is the workspace, wherever the caller stands by now.
    """

    @wraps(function)
    def call(*given: Given.args, **named: Given.kwargs) -> Answer:
        root = getattr(given[0], "root", None) if given else None
        try:
            with chdir(root or Path.cwd()):
                workspace.enter()
                return function(*given, **named)
        except BakeoffError as error:
            raise error.with_traceback(None) from None
        except Exception as error:
            if (text := explain(error)) is None:
                raise
            raise WorkspaceError(text) from None

    return call


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path as it was meant in the caller's folder, which the workspace may be above."""
    return os.path.join(Path.cwd(), path)
