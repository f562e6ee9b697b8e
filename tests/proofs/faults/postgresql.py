"""A cluster of PostgreSQL on this machine, in a folder of its own, that asks for passwords."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
PROGRAMS = ("initdb", "pg_ctl", "psql", "pg_dump", "pg_restore")
OWNER = "postgres"  # the user of this machine and of the cluster; PostgreSQL refuses to run as root
PASSWORD = "of-the-cluster"


def why_not() -> str | None:
    """Return why PostgreSQL cannot run here; None if it can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"needs {', '.join(missing)}; `apt-get install postgresql` brings them" if missing else None


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class PostgreSQL:
    def __init__(self) -> None:
        self.port = free_port()
        self.environment = {"PATH": _path(), "PGHOST": "127.0.0.1", "PGPORT": str(self.port)}
        self._folder = Path(tempfile.mkdtemp(prefix="bakeoff-postgresql-"))  # which its owner can enter
        if os.geteuid() == 0:
            shutil.chown(self._folder, OWNER)

    def start(self) -> None:
        """Start it; make it first, if it was not made or was wiped."""
        data = self._folder / "data"
        if not data.exists():
            word = self._folder / "word"
            word.write_text(PASSWORD, encoding="ascii")
            word.chmod(0o644)
            self._run("initdb", "--pgdata", data, "--username", OWNER, "--auth=scram-sha-256", "--pwfile", word)
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "start", "--wait", "--pgdata", data, "--log", self._folder / "log", "-o", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--pgdata", self._folder / "data", "--mode=immediate")

    def wipe(self) -> None:
        self.stop()
        shutil.rmtree(self._folder / "data")

    def close(self) -> None:
        if (self._folder / "data/postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder)

    def query(self, sql: str, database: str = OWNER) -> str:
        own = {"PGUSER": OWNER, "PGPASSWORD": PASSWORD}
        done = subprocess.run(
            ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", database],
            input=sql, env=os.environ | self.environment | own, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def rows(self, sql: str, database: str = OWNER) -> list[tuple[Any, ...]]:
        output = self.query(f"SELECT coalesce(json_agg(one), '[]') FROM ({sql}) AS one", database)
        return [tuple(one.values()) for one in json.loads(output)]

    def _run(self, program: str, *arguments: object) -> None:
        owner = OWNER if os.geteuid() == 0 else None
        path = shutil.which(program, path=_path())
        command = [str(path), *map(str, arguments)]
        out = self._folder / "out"
        with out.open("a") as file:
            done = subprocess.run(command, user=owner, cwd=self._folder, stdout=file, stderr=file)
        assert done.returncode == 0, f"{program}: {out.read_text()}"


def _path() -> str:
    return os.pathsep.join([*map(str, reversed(PLACES)), os.environ["PATH"]])
