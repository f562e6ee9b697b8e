"""The main workspace's own MLflow store, `mlflow.db` (SQLite) and `mlartifacts/`, and the server that shows it."""

from pathlib import Path

from bakeoff.workspace import main_workspace


def store_file() -> Path:
    return main_workspace() / "mlflow.db"


def local_uri() -> str:
    return f"sqlite:///{store_file().as_posix()}"


def artifacts_uri() -> str:
    return (main_workspace() / "mlartifacts").as_uri()


def ui_arguments(port: int) -> list[str]:
    """For MLflow's own command: its server, for this machine only."""
    return [
        "server",
        f"--backend-store-uri={local_uri()}",
        f"--default-artifact-root={artifacts_uri()}",
        "--host=127.0.0.1",
        f"--port={port}",
        "--workers=1",
        "--uvicorn-opts=--log-level=warning",
    ]
