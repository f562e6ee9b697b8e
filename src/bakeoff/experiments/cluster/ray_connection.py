"""`--on ray` -> a connection to a Ray cluster whose nodes have the code and libraries of this workspace.

Only Ray core is used. It is loaded only when a command uses it.
"""

import importlib.util
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from bakeoff.foundation.errors import ConfigError, TakenAway, WorkspaceError, one_line
from bakeoff.foundation.signals import handling

if TYPE_CHECKING:
    from types import FrameType

ON_VARIABLE = "BAKEOFF_ON"  # the value of `--on`, for stages
ANY = "ray"  # the cluster that Ray itself finds, or a new one on this machine
SCHEME = "ray://"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SECONDS_TO_ANSWER = 5.0
# By default Ray reports its use to its makers, and prints warnings about GPUs.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
TRIES = {"RAY_NUM_REDIS_GET_RETRIES": "2"}  # attempts to reach a cluster that does not answer; each takes 40 s


@dataclass(frozen=True)
class RayAddress:
    """Where a Ray cluster is: at HOST:PORT, or where Ray itself finds one."""

    text: str  # in Ray's form; empty if Ray is to find the cluster
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        return self.text or ANY


def is_ray(text: str) -> bool:
    """Return whether the text after `--on` asks for Ray, rightly or not."""
    return text == ANY or ":" in text


def parse_address(text: str) -> RayAddress:
    """Return the address that `ray`, `ray://HOST:PORT` or `HOST:PORT` means. Raises ConfigError for other texts."""
    if text != ANY:
        return _parse_place(text, "--on")
    named = os.environ.get("RAY_ADDRESS", "")
    if named not in ("", "auto", "local"):
        return _parse_place(named, "RAY_ADDRESS")
    started = "" if named == "local" else _find_started_cluster()
    return _parse_place(started, "ray start") if started else RayAddress("")


def _find_started_cluster() -> str:
    """Return the address that `ray start` has left on this machine, or an empty text if no cluster was started here."""
    system = os.environ.get("RAY_TMPDIR") or (os.environ.get("TMPDIR") if sys.platform == "linux" else None)
    folder = Path(system or ("/tmp" if os.name == "posix" else tempfile.gettempdir()), "ray")
    try:
        return (folder / "ray_current_cluster").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _parse_place(text: str, where: str) -> RayAddress:
    with suppress(ValueError):  # a port that is no number
        parts = urlsplit(text if text.startswith(SCHEME) else f"{SCHEME}{text}")
        if parts.hostname and parts.port and parts.netloc == text.removeprefix(SCHEME):
            return RayAddress(text, parts.hostname, parts.port)
    raise ConfigError(f"{where}: must be ray, ray://HOST:PORT or HOST:PORT, got {text!r}")


def require_ray(text: str) -> None:
    """Raise ConfigError for a wrong address, and WorkspaceError on a machine without Ray, before any work starts."""
    parse_address(text)
    if importlib.util.find_spec("ray") is None:
        raise WorkspaceError("--on: Ray is not installed; run `pip install 'ray>=2.60'` here and on every node")


def _load_ray(settings: Mapping[str, str]) -> Any:
    """Return the module `ray`, which reads settings when it is loaded."""
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    import ray

    return ray


@contextmanager
def connect(address: RayAddress) -> Iterator[Any]:
    """Yield the module `ray`, connected to the cluster. Tasks of this process end with the block.

    A cluster that was made for the block ends with it, too.
    """
    require_ray(str(address))
    ray = _load_ray(SETTINGS | TRIES if address.text else SETTINGS)
    require_answer(address, address.host if address.host not in LOOPBACK else _find_own_address(ray, address))
    with handling((signal.SIGTERM,), signal.getsignal(signal.SIGTERM)):  # which Ray replaces
        try:
            ray.init(address.text or None, logging_level="ERROR", log_to_driver=False, include_dashboard=False)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            _refuse(address, error)
    try:
        with _end_by_signal():
            yield ray
    finally:
        with handling((signal.SIGTERM,), signal.getsignal(signal.SIGTERM)):
            ray.shutdown()


def require_answer(address: RayAddress, host: str) -> None:
    """Raise WorkspaceError at once if nothing listens at an address. Ray itself would wait for minutes."""
    if not address.text:
        return
    try:
        socket.create_connection((host, address.port), SECONDS_TO_ANSWER).close()
    except OSError as error:
        _refuse(address, error)


def _find_own_address(ray: Any, address: RayAddress) -> str:
    """Return the address at which Ray tries to reach a cluster of this machine: its network card's, but for clients."""
    return address.host if address.text.startswith(SCHEME) else str(ray.util.get_node_ip_address())


def _refuse(address: RayAddress, error: Exception) -> NoReturn:
    if "ersion mismatch" in str(error):
        raise WorkspaceError(f"--on {address}: {one_line(error, 400)}; install the same versions") from None
    remedy = "see `ray status` there; of a dead cluster here, `ray stop` clears what is left"
    reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]  # the first ones may be a traceback
    raise WorkspaceError(f"--on {address}: no Ray cluster answers ({reason[:200]}); {remedy}") from None


@contextmanager
def _end_by_signal() -> Iterator[None]:
    """Let SIGTERM leave the block, so that tasks elsewhere end, unless the process has a handler already."""

    def leave(number: int, frame: "FrameType | None") -> NoReturn:
        raise TakenAway(signal.Signals(number).name)

    numbers = [signal.SIGTERM] if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL else []
    with handling(numbers, leave):
        yield
