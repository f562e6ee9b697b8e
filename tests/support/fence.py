"""A fence around the workspace that the tests run in: what `dvc repro` leaves there is no test's business.

Python tells an audit hook of every file that is opened and every folder that is listed. One below the fence fails the
test at once, or after it if somebody caught the error. C++ and other processes are not heard; that tests begin in an
empty folder, from which no relative path leads to the workspace, keeps most of these away.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from support.imports import ROOT

FENCED = tuple(str(ROOT / name) for name in ("models/train", "models/export", "data/records", ".bakeoff", "mlflow.db"))
HEARD = ("open", "os.listdir", "os.scandir", "os.mkdir", "sqlite3.connect")  # their first argument is a path
crossed: list[str] = []  # what the test that runs has met


_stands = False


@contextmanager
def put_up() -> Iterator[None]:
    """Python takes no audit hook back, so this one hears nothing after the block.

    It takes a name for one of the current folder, as which a name within an open folder may look: pytest removes its
    folders so, with the workspace as the current one.
    """
    global _stands
    sys.addaudithook(_hear)
    _stands = True
    yield
    _stands = False


def _hear(event: str, given: tuple[object, ...]) -> None:
    if not _stands or event not in HEARD or not given or not isinstance(given[0], str | os.PathLike):
        return
    path = os.fspath(given[0])
    if not os.path.isabs(path):
        try:
            path = os.path.abspath(path)
        except FileNotFoundError:  # the current folder was removed
            return
    if path.startswith(FENCED):
        crossed.append(f"{event} {path}")
        raise AssertionError(f"a test sees the workspace that it is run in: {event} {path}")
