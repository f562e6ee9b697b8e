"""An MLflow server that can be killed, frozen and started again, and all that a store holds of a run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from proofs.faults.s3_store import Bucket
from support.workspace_copy import environment

OF_A_SERVER = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


class Server:
    def __init__(
        self, folder: Path, store: str | None = None, bucket: Bucket | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """`store` is a database; without one the server makes its own. Files go to the bucket, without one to the
        server. `variables` are its own, such as the path of a client of that database."""
        self._variables = dict(variables or {})
        self.folder, self._store, self._bucket = folder, store or f"sqlite:///{folder}/store.db", bucket
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process: subprocess.Popen | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        options = {"backend-store-uri": self._store, "host": "127.0.0.1", "port": self._port, "workers": 1}
        files = [f"--artifacts-destination={self.folder / 'artifacts'}"]
        if self._bucket:
            files = ["--no-serve-artifacts", f"--default-artifact-root={self._bucket.uri}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *(f"--{key}={value}" for key, value in options.items()), *files],
            cwd=self.folder, env=environment() | OF_A_SERVER | self._variables, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(3000):
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=5)
                return
            except OSError:
                time.sleep(0.2)
        raise AssertionError("the server does not come up")

    def checkpoints(self) -> set[PurePath]:
        """The files of checkpoints that are kept for it; one that is there in parts is named once."""
        kept = (self.folder / "artifacts").rglob("*")
        files = self._bucket.files() if self._bucket else [path for path in kept if path.is_file()]
        named = {path.with_name(path.name.partition(".part-")[0]) for path in files}
        return {path for path in named if path.name.isdigit()}

    def checkpoints_of_nobody(self) -> set[PurePath]:
        """The files of checkpoints in the place of a model that is not there, or is deleted."""
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        client, left = MlflowClient(tracking_uri=self.uri), set()
        for path in self.checkpoints():
            try:
                client.get_logged_model(next(part for part in path.parts if part.startswith("m-")))
            except MlflowException:
                left.add(path)
        return left

    def kill(self) -> None:
        if self._process:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        os.killpg(self._process.pid, number)


READ = """
import hashlib, json, re, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts

client = MlflowClient(tracking_uri=sys.argv[1])
experiments = [experiment.experiment_id for experiment in client.search_experiments()]
OF_THE_MODEL_ALONE = re.compile(rb"^(model_id|model_uuid|run_id|utc_time_created):.*$", re.M)  # in MLmodel

def digests(root):
    return {file.relative_to(root).as_posix():
                hashlib.sha256(OF_THE_MODEL_ALONE.sub(b"", file.read_bytes()) if file.name == "MLmodel"
                               else file.read_bytes()).hexdigest()
            for file in sorted(root.rglob("*")) if file.is_file()}

def model(found, run):
    with TemporaryDirectory() as folder:
        root = Path(download_artifacts(found.artifact_location, dst_path=folder, tracking_uri=sys.argv[1]))
        files = {} if "bakeoff.reference" in found.tags else digests(root)
    points = sorted((point.key, point.step, point.value) for point in found.metrics or [])
    tags = {key: value for key, value in found.tags.items() if key != "mlflow.modelVersions"}  # says the version
    if found.model_type == "checkpoint":  # holds seconds
        of_its_bytes = [f"bakeoff.{key}" for key in ("sha256", "bytes", "contents", "stored_bytes")]
        files, tags = sorted(files), {key: tags[key] for key in tags if key not in of_its_bytes}
    return {"status": str(found.status), "type": found.model_type, "tags": tags, "params": found.params,
            "metrics": points, "files": files,
            "steps": [out.step for out in run.outputs.model_outputs if out.model_id == found.model_id]}

found = {}
for run in client.search_runs(experiments, max_results=1000):
    tags = dict(run.data.tags)
    with TemporaryDirectory() as folder:
        root = Path(client.download_artifacts(run.info.run_id, "", folder))
        files = digests(root)
    models = client.search_logged_models(experiments, filter_string=f"source_run_id = '{run.info.run_id}'")
    versions = client.search_model_versions(f"run_id = '{run.info.run_id}'")
    found.setdefault(tags["bakeoff.run"], []).append({
        "name": run.info.run_name, "status": run.info.status, "ended": run.info.end_time is not None,
        "params": dict(run.data.params), "tags": tags, "artifacts": files,
        "latest": dict(run.data.metrics),
        "history": {key: sorted((point.step, point.value) for point in client.get_metric_history(run.info.run_id, key))
                    for key in run.data.metrics},
        "datasets": [[one.dataset.name, one.dataset.digest, one.dataset.source, one.dataset.profile]
                     for one in run.inputs.dataset_inputs],
        "models": {f"{found.name} {found.tags.get('bakeoff.files')}": model(found, run) for found in models},
        "number_of_models": sum(found.model_type != "checkpoint" for found in models),
        "versions": sorted((found.name, found.tags) for found in versions),
    })
print(json.dumps(found))
"""


def contents(uri: str) -> dict[str, list[dict[str, Any]]]:
    """All that can be seen of each run, by our own id of it; times and MLflow's ids apart."""
    quiet = {"MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(
        [sys.executable, "-c", READ, uri], env=environment() | quiet, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def differences(one: object, other: object, where: str = "") -> list[str]:
    """Field by field."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(one.keys() | other.keys())
        return [line for key in keys for line in differences(one.get(key), other.get(key), f"{where}.{key}")]
    return [] if one == other else [f"{where[1:]}: {str(one)[:200]} and {str(other)[:200]}"]
