"""One run's copy in MLflow: opened by train, found again by evaluate.

A tracker never stops a run: the first thing that fails is said once, and the files stay the record.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bakeoff.tracking.settings import Mlflow, Track

PARAMS_AT_ONCE = 100
LONGEST_PARAM = 6000


class Tracker:
    """Sends to one MLflow run, or to nothing if there is none."""

    def __init__(self, client: Any = None, run_id: str | None = None) -> None:
        self._client, self.run_id = client, run_id

    def params(self, tree: Mapping[str, Any]) -> None:
        """A tree of plain values as params such as `lr.peak`."""

        def send() -> None:
            from mlflow.entities import Param

            params = [Param(key, str(value)[:LONGEST_PARAM]) for key, value in flattened(tree)]
            for start in range(0, len(params), PARAMS_AT_ONCE):
                self._client.log_batch(self.run_id, params=params[start : start + PARAMS_AT_ONCE])

        self._try(send)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        def send() -> None:
            from mlflow.entities import Metric

            now = int(time.time() * 1000)
            self._client.log_batch(
                self.run_id, metrics=[Metric(key, value, now, step) for key, value in values.items()]
            )

        self._try(send)

    def tags(self, values: Mapping[str, str]) -> None:
        def send() -> None:
            for key, value in values.items():
                self._client.set_tag(self.run_id, key, value)

        self._try(send)

    def file(self, path: Path, folder: str) -> None:
        self._try(lambda: self._client.log_artifact(self.run_id, str(path), folder))

    def folder(self, path: Path, name: str) -> None:
        self._try(lambda: self._client.log_artifacts(self.run_id, str(path), name))

    @contextmanager
    def ending(self) -> Iterator[None]:
        """The run ends as the block does: FINISHED, KILLED by Ctrl-C, FAILED by anything else."""
        status = "FAILED"
        try:
            yield
            status = "FINISHED"
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        finally:
            self._try(lambda: self._client.set_terminated(self.run_id, status))

    def _try(self, send: Callable[[], None]) -> None:
        if self._client is None:
            return
        try:
            send()
        except Exception as error:  # whatever a tracker raises, training goes on
            _warn(error)
            self._client = None


def start(settings: Track, name: str, tags: Mapping[str, str]) -> Tracker:
    """A new run in the store that the settings name."""
    return _opened(settings, lambda client, experiment: client.create_run(experiment, run_name=name, tags=dict(tags)))


def attach(settings: Track, run_id: str | None) -> Tracker:
    """The run that an earlier stage opened."""
    return Tracker() if run_id is None else _opened(settings, lambda client, _: client.get_run(run_id))


def _opened(settings: Track, run_of: Callable[[Any, str], Any]) -> Tracker:
    """On the run that `run_of` gives for a client and an experiment; on nothing if there is no store."""
    if not isinstance(settings, Mlflow):
        return Tracker()
    try:
        from bakeoff.tracking.store import open_store

        client, experiment = open_store(settings)
        return Tracker(client, run_of(client, experiment).info.run_id)
    except Exception as error:  # as in `_try`
        _warn(error)
        return Tracker()


def flattened(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in tree.items():
        rows += flattened(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return rows


def _warn(error: Exception) -> None:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    print(f"warning: MLflow does not take this run ({reason}); models/ has everything all the same", file=sys.stderr)
