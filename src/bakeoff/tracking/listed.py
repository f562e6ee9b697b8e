"""The runs of any store, through MLflow's client: a server's, PostgreSQL's, an SQLite file of another schema."""

from collections.abc import Iterator, Sequence
from typing import Any

from mlflow.entities import ViewType

from bakeoff.tracking.store import RUN_TAG, MlflowClient
from bakeoff.tracking.stored_run import StoredRun
from bakeoff.tracking.target import without_secrets

AT_ONCE = 1000


class Listed:
    def __init__(self, address: str) -> None:
        self._client = MlflowClient(tracking_uri=address)
        self._pages = f"{without_secrets(address).rstrip('/')}/#/experiments" if address.startswith("http") else None

    def runs(self) -> list[StoredRun]:
        experiments = {one.experiment_id: one.name for one in _every(self._client.search_experiments)}
        runs = list(
            _every(self._client.search_runs, list(experiments), run_view_type=ViewType.ALL) if experiments else ()
        )
        names = {run.info.run_id: run.data.tags.get(RUN_TAG, run.info.run_id) for run in runs}
        return [
            StoredRun(
                names[run.info.run_id], run.info.run_name or run.info.run_id, run.info.status, run.info.start_time,
                run.info.end_time, run.data.tags, run.data.params, run.data.metrics,
                parent=names.get(run.data.tags.get("mlflow.parentRunId", "")),
                mlflow_id=run.info.run_id, mlflow_experiment=experiments[run.info.experiment_id],
                artifacts=run.info.artifact_uri, is_deleted=run.info.lifecycle_stage != "active",
                page=self._pages and f"{self._pages}/{run.info.experiment_id}/runs/{run.info.run_id}",
            )
            for run in runs
        ]  # fmt: skip

    def filled(self, runs: Sequence[StoredRun], *, by_class: bool) -> list[StoredRun]:
        """As they came: the client brings everything at once."""
        return list(runs)


def _every(search: Any, *arguments: Any, **options: Any) -> Iterator[Any]:
    token = None
    while True:
        part = search(*arguments, max_results=AT_ONCE, page_token=token, **options)
        yield from part
        token = part.token
        if not token:
            return
