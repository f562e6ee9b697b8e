"""A module `ntcore` that keeps what is published: a robot's network without pyntcore, which no lock has."""

from collections import defaultdict
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass
class FakeNetwork:
    is_connected: bool
    module: ModuleType
    published: dict[str, list[tuple[Any, int]]] = field(default_factory=lambda: defaultdict(list))
    server: tuple[str, int] | None = None
    is_stopped: bool = False
    time: int = 1_000_000_000

    def __getattr__(self, name: str) -> Any:
        """Return what makes a topic of any type, or what does nothing."""
        if name.startswith("get") and name.endswith("Topic"):
            return lambda topic: FakeTopic(self, f"/{self.table}/{topic}")
        if name in ("startClient4", "flush"):
            return lambda *given: None
        raise AttributeError(name)

    table = ""

    def setServer(self, *server: Any) -> None:
        self.server = server  # type: ignore[assignment]

    def getTable(self, name: str) -> "FakeNetwork":
        self.table = name
        return self

    def isConnected(self) -> bool:
        return self.is_connected

    def stopClient(self) -> None:
        self.is_stopped = True

    def destroy(self) -> None:
        assert self.is_stopped


@dataclass
class FakeTopic:
    network: FakeNetwork
    name: str

    def publish(self, options: Any = None) -> "FakeTopic":
        return self

    def set(self, value: Any, time: int = 0) -> None:
        self.network.published[self.name].append((value, time))


def make_ntcore(*, connected: bool) -> FakeNetwork:
    module: Any = ModuleType("ntcore")
    network = FakeNetwork(connected, module)
    module.PubSubOptions = lambda **options: options
    module._now = lambda: network.time
    module.NetworkTableInstance = type("NetworkTableInstance", (), {"create": staticmethod(lambda: network)})
    return network
