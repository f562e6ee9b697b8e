"""What a launcher and the agent of a job on a node send each other: an order, and the news of the job.

Ray sends these classes by value, like the agent. This file imports nothing but the standard library.
"""

from collections.abc import Mapping
from dataclasses import dataclass

LOG = "log"  # the name of a job's log among its files


@dataclass(frozen=True)
class JobCommand:
    """A process of Python."""

    arguments: tuple[str, ...]
    folder: str
    log: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class FarJob:
    """A job for a node that does not see the workspace. It runs in a clone of the sweep's snapshot."""

    attempt: str  # such as sweep-20260102-030405-1.2, the second attempt at the first job
    repository: str  # the name of the node's own copy of the repository
    remote: str  # the address of the git remote
    ref: str  # of the snapshot there
    snapshot: str  # a commit
    prefix: str  # of the workspace in its repository
    sweep: str
    arguments: tuple[str, ...]  # of remote_job.py, after the sweep's folder
    environment: Mapping[str, str]
    files: Mapping[str, bytes]  # by their names in the workspace
    log_size: int  # bytes of the log that earlier attempts have written


@dataclass(frozen=True)
class JobOrder:
    """A job, for whichever node Ray chooses. A node is near if it sees a file of the workspace."""

    mark: str  # the path of this file
    token: str  # its content
    near: JobCommand
    far: FarJob | None  # None if the sweep is not prepared for far nodes


@dataclass(frozen=True)
class FilePart:
    """A new part of a file that a far job writes. Files of most kinds grow, and some are replaced as a whole."""

    name: str  # below .bakeoff, or `log`
    at: int  # the offset of the part; of a file that was replaced the time of writing
    content: bytes


@dataclass(frozen=True)
class JobNews:
    host: str
    is_near: bool
    is_over: bool
    code: int | None  # None if the job's process has not ended, or never began
    error: str  # why it could not begin
    files: tuple[FilePart, ...]
