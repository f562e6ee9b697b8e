"""One job on a Ray cluster, as its launcher follows it: by an actor on whichever node Ray chose."""

import signal
import time
from typing import Any

from bakeoff.errors import TRY_AGAIN_LATER
from bakeoff.sweep import session
from bakeoff.sweep.job import JobFiles
from bakeoff.sweep.running import TAKEN_AWAY
from bakeoff.tracking.journal import is_held

NODE_LOST = "stopped, for its node was lost"
SECONDS_BETWEEN_LOOKS = 0.1


class RayJob:
    def __init__(self, ray: Any, actor: Any, files: JobFiles) -> None:
        self.lost: str | None = None
        self._ray, self._actor, self._files = ray, actor, files
        self._has_begun = self._is_left = False  # whether Ray had room for it, and whether its actor is gone
        self._news = actor.news.remote()

    def is_over(self) -> bool:
        if not self._is_left and self._ray.wait([self._news], timeout=0)[0]:
            self._hear()
        if not self._is_left or is_held(self._files.lock):  # without its actor a job saves what it has, and ends
            return False
        code = self._files.exit_code()
        if code == TRY_AGAIN_LATER:
            self.lost = self.lost or TAKEN_AWAY
        elif code is not None:
            self.lost = None  # it came to its end all the same
        return True

    def ask(self, number: int) -> None:
        if self._is_left:
            return
        if self._has_begun:
            self._actor.ask.remote(number)
        else:
            self._leave()

    def end(self, *, asked: bool = False) -> None:
        for number in (session.INTERRUPT, signal.SIGTERM, session.KILL):
            if not (asked and number == session.INTERRUPT):
                self.ask(number)
            until = time.monotonic() + session.SECONDS_TO_END
            while not (over := self.is_over()) and time.monotonic() < until:
                time.sleep(SECONDS_BETWEEN_LOOKS)
            if over:
                return

    def gpus(self) -> tuple[str, ...]:
        return ()

    def _hear(self) -> None:
        errors = self._ray.exceptions
        try:
            told = self._ray.get(self._news)
        except errors.ActorUnavailableError:  # it may be heard again
            self._news = self._actor.news.remote()
            return
        except errors.RayActorError:
            self._is_left, self.lost = True, NODE_LOST
            return
        self._has_begun = True
        if told["error"]:
            with self._files.log.open("a", encoding="utf-8") as log:
                log.write(f"{told['where']}: {told['error']}\n")
        if told["is_over"]:
            self._leave()
        else:
            self._news = self._actor.news.remote()

    def _leave(self) -> None:
        """Give back what Ray holds for the job."""
        self._is_left = True
        self._ray.kill(self._actor)
