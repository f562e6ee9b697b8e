"""What a camera sees, frame by frame -> lines of JSON, UDP packets, NetworkTables. One that is not there stops nothing.

    {"frame": 12, "time_s": 0.4, "latency_ms": 18.2, "objects": [{"id": 3, "label": "ball", "score": 0.91, "box": [0.4,
     0.1, 0.6, 0.2], "distance_m": 1.65, "bearing_deg": -8.1, "distance_error_m": 0.01}]}

NetworkTables get numbers, ten for each object, in one topic, so that a robot never reads half of two frames.
"""

import json
import math
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

from bakeoff.foundation.errors import ConfigError, WorkspaceError, one_line

TABLE = "bakeoff"
ROW = ("label", "id", "score", "ymin", "xmin", "ymax", "xmax", "distance_m", "bearing_deg", "distance_error_m")
POSITION = ROW[-3:]
NETWORK_TABLES, UDP = "--networktables", "--udp"
PORT, MOST_PORTS = 5810, 65535  # NetworkTables 4
SECONDS_TO_CONNECT = 2.0


class Output(Protocol):
    def send(self, frame: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


class Complaint:
    """What is printed once, however often it happens."""

    def __init__(self, what: str) -> None:
        self._what: str | None = what

    def make(self, why: str) -> None:
        if self._what:
            print(f"reader: {self._what} ({why}); the reader goes on", file=sys.stderr, flush=True)
        self._what = None


class UdpPackets:
    """A packet a frame, with the same text as a line. Nobody need listen."""

    def __init__(self, address: str) -> None:
        self._to = read_address(address, UDP, None)
        self._socket = socket.socket(socket.AF_INET6 if ":" in self._to[0] else socket.AF_INET, socket.SOCK_DGRAM)
        self._failed = Complaint(f"{UDP}: {address}: cannot be sent to")

    def send(self, frame: dict[str, Any]) -> None:
        try:
            self._socket.sendto(json.dumps(frame).encode(), self._to)
        except OSError as error:
            self._failed.make(one_line(error))

    def close(self) -> None:
        self._socket.close()


class NetworkTables:
    """Topics of the table `bakeoff`: labels, objects (ten numbers each), latency_ms, frame, and json.

    A value's time is when its frame was taken.
    """

    def __init__(self, address: str, labels: Sequence[str], name: str = TABLE) -> None:
        server = read_address(address, NETWORK_TABLES, PORT)
        try:
            import ntcore
        except ImportError:
            raise WorkspaceError(
                f"{NETWORK_TABLES}: needs pyntcore; `pip install pyntcore`, or bakeoff[networktables]"
            ) from None
        self._places = {label: place for place, label in enumerate(labels)}
        self._now = ntcore._now
        self._network = ntcore.NetworkTableInstance.create()
        self._network.setServer(*server)
        self._network.startClient4(name)
        table, fresh = self._network.getTable(name), ntcore.PubSubOptions(keepDuplicates=True)  # with its own time
        self._labels = table.getStringArrayTopic("labels").publish()
        self._objects = table.getDoubleArrayTopic("objects").publish(fresh)
        self._latency = table.getDoubleTopic("latency_ms").publish(fresh)
        self._frame = table.getIntegerTopic("frame").publish(fresh)
        self._json = table.getStringTopic("json").publish(fresh)
        self._labels.set(list(labels))
        self._is_alone = Complaint(f"{NETWORK_TABLES}: {address}: no server answers")
        self._late = time.monotonic() + SECONDS_TO_CONNECT

    def send(self, frame: dict[str, Any]) -> None:
        taken = self._now() - round(frame["latency_ms"] * 1000)
        self._objects.set([number for row in frame["objects"] for number in self._row(row)], taken)
        self._latency.set(frame["latency_ms"], taken)
        self._frame.set(frame["frame"], taken)
        self._json.set(json.dumps(frame), taken)
        self._network.flush()
        if time.monotonic() > self._late and not self._network.isConnected():
            self._is_alone.make("it is tried again all the time")

    def close(self) -> None:
        self._network.flush()
        self._network.stopClient()
        type(self._network).destroy(self._network)

    def _row(self, found: dict[str, Any]) -> list[float]:
        position = [found.get(key) for key in POSITION]
        return [
            float(self._places[found["label"]]), float(found["id"]), found["score"], *found["box"],
            *(math.nan if value is None else value for value in position),
        ]  # fmt: skip


def read_address(text: str, option: str, port: int | None) -> tuple[str, int]:
    """Return the host and the port of `10.12.34.2:5810`; without the second it is the usual `port`, if there is one."""
    host, _, end = text.rpartition(":") if ":" in text else (text, "", str(port or ""))
    if not host or not end.isascii() or not end.isdigit() or not 1 <= int(end) <= MOST_PORTS:
        example = f"10.12.34.2:{port}" if port else "10.12.34.2:5800"
        raise ConfigError(f"{option}: must be like {example}, with a port of 1 to {MOST_PORTS}, got {text!r}")
    return host.strip("[]"), int(end)
