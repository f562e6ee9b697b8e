"""A bucket of S3 on this machine: moto's server holds it in memory, boto3 is its client."""

import re
import socket
import subprocess
import sys
import time
import urllib.request
from html import unescape
from pathlib import PurePosixPath
from urllib.parse import quote

from support.extra_packages import extra_packages, python_path
from support.workspace_copy import environment

NAME = "models"
PACKAGES = ("moto[server]==5.2.5", "boto3")


class Bucket:
    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._address = f"http://127.0.0.1:{self._port}"
        self.environment = {  # of whoever reads or writes it
            "PYTHONPATH": python_path(extra_packages(*PACKAGES)),
            "AWS_ENDPOINT_URL_S3": self._address, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
        self._process: subprocess.Popen | None = None

    @property
    def uri(self) -> str:
        return f"s3://{NAME}/of the team"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)],
            env=environment() | self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        make = urllib.request.Request(f"{self._address}/{NAME}", method="PUT")
        for _ in range(600):
            try:
                urllib.request.urlopen(make, timeout=5)
                return
            except OSError:
                time.sleep(0.2)
        raise AssertionError("moto's server does not come up")

    def files(self) -> list[PurePosixPath]:
        paths: list[PurePosixPath] = []
        after = ""
        while True:
            asked = f"{self._address}/{NAME}?list-type=2&start-after={quote(after)}"
            keys = re.findall("<Key>(.*?)</Key>", urllib.request.urlopen(asked, timeout=60).read().decode())
            if not keys:
                return paths
            after = unescape(keys[-1])
            paths += [PurePosixPath(unescape(key)) for key in keys]

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
