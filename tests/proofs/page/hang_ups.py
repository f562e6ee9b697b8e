"""Browsers that go away in the middle of a download, and some that never read it: what the server still holds of them.

python tests/proofs/page/hang_ups.py --clients 1000 --at-once 100 --seed 0
"""

import argparse
import asyncio
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bakeoff.app.web.app import SECONDS_TO_TAKE
from bakeoff.experiments.runs.run_status import State
from bakeoff.foundation.machine import bind_port
from support.exported_run import write_export
from support.made_runs import NOBODY, made

RUN, RUN_ID = "b" * 16, "0b9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d"
PATH = f"/runs/{RUN}/download"
BYTES = 4_000_000  # of the model, which cannot be compressed
DESCRIPTORS = 256  # that the server may have, as on macOS
RESET = struct.pack("ii", 1, 0)  # for SO_LINGER: the connection breaks instead of ending
MOST_S = 10.0  # that any other answer may take meanwhile
SLEEPERS = 200  # clients that read nothing
THREADS = 40  # of the pool that answers, which stay
MOST_GROWN = 64 << 20  # bytes of memory; one download has some hundred KB under way


@dataclass(frozen=True)
class Held:
    """What a process holds."""

    descriptors: int
    threads: int
    memory: int  # bytes

    @classmethod
    def read(cls, pid: int) -> "Held":
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        descriptors, threads = (len(os.listdir(f"/proc/{pid}/{kind}")) for kind in ("fd", "task"))
        return cls(descriptors, threads, pages * os.sysconf("SC_PAGE_SIZE"))

    def __str__(self) -> str:
        return f"{self.descriptors} descriptors, {self.threads} threads, {self.memory >> 20} MB"


@dataclass(frozen=True)
class Server:
    port: int
    process: subprocess.Popen[bytes]

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=MOST_S) as answer:
            content: bytes = answer.read()
            return content

    @property
    def held(self) -> Held:
        return Held.read(self.process.pid)


def make_workspace(folder: Path) -> None:
    """Make one that has nothing but a run to be downloaded."""
    for name in ("conf/data", "data/raw"):
        (folder / name).mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        (folder / name).touch()
    made(folder / ".bakeoff/runs", RUN, State.SUCCEEDED, process=NOBODY, run_id=RUN_ID, metrics={"validation/mAP": 0.5})
    write_export(folder, RUN, RUN_ID, "ball\n")
    (folder / "models/export/model.tflite").write_bytes(random.Random(0).randbytes(BYTES))


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """Serve the page by the command, in a process with few descriptors."""
    with bind_port("127.0.0.1", 0, range(0)) as place:
        port = place.getsockname()[1]
    command = f"ulimit -n {DESCRIPTORS}; exec {sys.executable} -m bakeoff web --no-token --port {port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdout=subprocess.DEVNULL, stderr=log)
    server = Server(port, process)
    try:
        end = time.monotonic() + 60
        while not _answers(server):
            assert time.monotonic() < end and process.poll() is None, "bakeoff web does not start"
            time.sleep(0.2)
        yield server
    finally:
        process.kill()
        process.wait()


def _answers(server: Server) -> bool:
    try:
        return bool(server.get("/models"))
    except OSError:
        return False


class Client:
    """Who asks for a download, reads some of it, and goes."""

    def __init__(self, server: Server, chance: random.Random) -> None:
        self._server, self._loop = server, asyncio.get_running_loop()
        self._much, self._pause = chance.randrange(BYTES), chance.uniform(0, 2)
        self._way = chance.choice([self.go_at_once, self.break_off, self.end, self.half_close, self.read_slowly])
        self._head = b""

    async def act(self) -> str:
        """Return what it did, and whether it had a download under way."""
        with await self.ask() as connection:
            await self._way(connection)
        code = self._head.split()[1:2]
        return f"{self._way.__name__} {(code or [b'unanswered'])[0].decode()}"

    async def ask(self) -> socket.socket:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await self._loop.sock_connect(connection, ("127.0.0.1", self._server.port))
        head = f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{self._server.port}\r\nConnection: close\r\n\r\n"
        await self._loop.sock_sendall(connection, head.encode())
        return connection

    async def go_at_once(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    async def break_off(self, connection: socket.socket) -> None:
        await self._read(connection, self._much)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    async def end(self, connection: socket.socket) -> None:
        await self._read(connection, self._much)

    async def half_close(self, connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)
        await self._read(connection, self._much)

    async def read_slowly(self, connection: socket.socket) -> None:
        for _ in range(4):
            await self._read(connection, 100)
            await asyncio.sleep(self._pause)

    async def _read(self, connection: socket.socket, count: int) -> None:
        while count > 0 and (piece := await self._loop.sock_recv(connection, min(count, 1 << 16))):
            self._head = self._head or piece[:20]
            count -= len(piece)


async def hang_up(server: Server, clients: int, at_once: int, seed: int) -> tuple[Counter[str], float]:
    """Let so many clients hang up. Return how often each ended how, and the slowest answer to another browser."""
    chance, room, ends = random.Random(seed), asyncio.Semaphore(at_once), Counter[str]()

    async def come_and_go(client: Client) -> None:
        async with room:
            try:
                ends[await asyncio.wait_for(client.act(), 120)] += 1
            except OSError as error:  # TimeoutError, too
                ends[type(error).__name__] += 1

    everyone = asyncio.gather(*[come_and_go(Client(server, chance)) for _ in range(clients)])
    slowest = 0.0
    while not everyone.done():
        slowest = max(slowest, await asyncio.to_thread(measure_answer, server))
        await asyncio.sleep(0.5)
    await everyone
    return ends, slowest


async def sleep(server: Server, clients: int) -> tuple[float, int]:
    """Let so many clients ask, read nothing and stay. Return the slowest answer to another browser meanwhile, and how
    many clients the server has broken off in the end.
    """
    sleepers = [Client(server, random.Random(number)) for number in range(clients)]
    connections = [await client.ask() for client in sleepers]
    end, slowest = time.monotonic() + SECONDS_TO_TAKE + MOST_S, 0.0
    while time.monotonic() < end:
        slowest = max(slowest, await asyncio.to_thread(measure_answer, server))
        await asyncio.sleep(0.5)
    broken = sum(_is_broken_off(connection) for connection in connections)
    for connection in connections:
        connection.close()
    return slowest, broken


def measure_answer(server: Server) -> float:
    began = time.monotonic()
    server.get("/models")
    return time.monotonic() - began


def _is_broken_off(connection: socket.socket) -> bool:
    """Tell whether a connection ends before the download does. What the system holds of it comes first."""
    connection.settimeout(MOST_S)
    count = 0
    try:
        while piece := connection.recv(1 << 16):
            count += len(piece)
    except TimeoutError:  # it is still open
        return False
    except ConnectionError:
        return True
    return count < BYTES


def attack(clients: int, at_once: int, seed: int) -> list[str]:
    """Return what was wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_workspace(folder)
        with served(folder) as server:
            whole = len(server.get(PATH))
            before = server.held
            print("before:", before, flush=True)
            ends, slowest = asyncio.run(hang_up(server, clients, at_once, seed))
            print(f"{clients} hung up, slowest answer beside them {slowest:.2f} s: {json.dumps(ends, sort_keys=True)}")
            asleep, broken = asyncio.run(sleep(server, SLEEPERS))
            print(
                f"{SLEEPERS} read nothing: slowest answer beside them {asleep:.2f} s, {broken} broken off", flush=True
            )
            time.sleep(2)
            after, again = server.held, len(server.get(PATH))
            print("after:", after, flush=True)
        log = (folder / "log").read_text(encoding="utf-8")
        left = [path.name for path in (folder / ".bakeoff/web/downloads").iterdir()]
    faults = {
        "descriptors": after.descriptors > before.descriptors,
        "threads": after.threads > before.threads + THREADS,
        "memory": after.memory > before.memory + MOST_GROWN,
        "a download": again != whole,
        "files left": bool(left),
        "clients that read nothing": broken < SLEEPERS,
        f"the log: {log[-500:]}": bool(log),
    }
    return [fault for fault, is_there in faults.items() if is_there]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    faults = attack(arguments.clients, arguments.at_once, arguments.seed)
    print("\n".join(faults) or "no fault")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
