"""One job on a Ray cluster, as its launcher sees it: through an actor on the node that Ray chose."""

import time
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from typing import Any

from bakeoff.experiments.cluster.fetch_results import FAILED, NOTHING, FetchOrder
from bakeoff.experiments.cluster.mirror_logs import Mirror
from bakeoff.experiments.cluster.node_orders import JobNews
from bakeoff.experiments.sweep.backend import JobProcess
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.job_process import TAKEN_AWAY
from bakeoff.foundation.errors import TRY_AGAIN_LATER
from bakeoff.tracking.journal.journal_folder import is_held
from bakeoff.tracking.sync.sync_status import send_beside

NODE_LOST = "stopped, for its node was lost"
SECONDS_BETWEEN_SENDERS = 5.0
SECONDS_TO_FETCH = 600.0  # a network may come back


class RayJob(JobProcess):
    """The process of a job on a node. A near job writes its files here itself, those of a far one are mirrored."""

    def __init__(
        self,
        ray: Any,
        actor: Any,
        files: JobFiles,
        fetches: Executor,
        order: FetchOrder | None = None,
        sent: Mapping[str, bytes] | None = None,
    ) -> None:
        """`order` fetches a far result. `sent` are the files that a far node got.

        Without an actor, only a result that is left in the git remote can come.
        """
        self._ray, self._actor, self._files = ray, actor, files
        self._fetches, self._order = fetches, order
        self._has_started = self._is_far = False
        self._sent_at = 0.0
        self._mirror = Mirror(files, sent)
        self._fetch: Future[int] | None = None
        self._fetched_until = 0.0  # after this time a fetch that fails is not tried again
        self._news: Any = None
        if actor is None:
            self._lose()
        else:
            self._listen()

    def is_over(self) -> bool:
        if self._actor is not None and self._ray.wait([self._news], timeout=0)[0]:
            self._receive()
        if self._actor is not None or is_held(self._files.lock):  # without its actor a job saves its work, and ends
            return False
        if self._fetch is not None:
            if not self._fetch.done() or not self._settle_fetch(self._fetch.result()):
                return False
        code = self._files.exit_code()
        if code == TRY_AGAIN_LATER:
            self.lost = self.lost or TAKEN_AWAY
        elif code is not None:
            self.lost = None  # it ended properly all the same
        return True

    def ask(self, number: int) -> None:
        if self._actor is None:
            return
        if self._has_started:
            self._actor.ask.remote(number)
        else:
            self._ray.kill(self._actor)

    def _listen(self) -> None:
        self._news = self._actor.news.remote(self._mirror.known)

    def _receive(self) -> None:
        errors = self._ray.exceptions
        try:
            news: JobNews = self._ray.get(self._news)
        except errors.ActorUnavailableError:  # it may answer again
            self._listen()
            return
        except errors.RayActorError:
            self._actor = None
            self._lose()
            return
        self._has_started, self._is_far = True, not news.is_near
        self._keep(news)
        if not news.is_over:
            self._listen()
            return
        self._actor.leave.remote()
        self._actor = None
        if self._is_far and news.code == 0:
            self._start_fetch()
        elif self._is_far and news.code is not None and news.code >= 0:
            self._files.write_outcome(news.code)

    def _keep(self, news: JobNews) -> None:
        has_reported = self._mirror.apply(news.files)
        if news.error:
            self._log_line(f"{news.host}: {news.error}")
        if has_reported and time.monotonic() - self._sent_at > SECONDS_BETWEEN_SENDERS:
            self._sent_at = time.monotonic()
            send_beside()
        for name in self._mirror.stops():
            self._actor.stop.remote(name)

    def _lose(self) -> None:
        """Note that the node is lost. A far job may have left its result in the git remote before."""
        self.lost = NODE_LOST
        if self._order is not None and (self._is_far or not self._has_started):
            self._start_fetch()

    def _start_fetch(self) -> None:
        assert self._order is not None
        self._fetch = self._fetches.submit(self._order.run)
        self._fetched_until = self._fetched_until or time.monotonic() + SECONDS_TO_FETCH

    def _settle_fetch(self, code: int) -> bool:
        """Note how a fetch ended. Return whether it is not tried again."""
        if code == FAILED and time.monotonic() < self._fetched_until:
            self._start_fetch()
            return False
        self._fetch = None
        if code == 0 or (code != NOTHING and self.lost is None):
            self._files.write_outcome(code)
        return True

    def _log_line(self, line: str) -> None:
        with self._files.log.open("a", encoding="utf-8") as log:
            log.write(f"{line}\n")
