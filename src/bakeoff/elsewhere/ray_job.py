"""One job on a Ray cluster, as its launcher follows it: by an actor on whichever node Ray chose."""

import signal
import time
from collections.abc import Mapping
from typing import Any

from bakeoff.elsewhere.bring_home import NOTHING
from bakeoff.elsewhere.bringing import Bringing, Errand
from bakeoff.elsewhere.mirror import Mirror
from bakeoff.errors import TRY_AGAIN_LATER
from bakeoff.sweep import session
from bakeoff.sweep.job import JobFiles
from bakeoff.sweep.running import TAKEN_AWAY
from bakeoff.tracking.journal import is_held
from bakeoff.tracking.sync import send_beside
from bakeoff.workspace import IN_FLIGHT

NODE_LOST = "stopped, for its node was lost"
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_SENDERS = 0.1, 5.0


class RayJob:
    """A job on a near node writes what it has to say itself; what a far one writes is mirrored here."""

    def __init__(
        self, ray: Any, actor: Any, files: JobFiles, bringing: Bringing, order: Mapping[str, Any] | None = None,
        given: Mapping[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        """`order` is what brings a far result home; `given` are files that a far node got.

        Without an actor, no more than a result that is left in the git remote can come.
        """
        self.lost: str | None = None
        self._ray, self._actor, self._files = ray, actor, files
        self._bringing, self._order = bringing, order
        self._has_begun = self._is_far = False
        self._sent_at = 0.0
        sizes = {name.removeprefix(f"{IN_FLIGHT}/"): len(content) for name, content in (given or {}).items()}
        self._mirror = Mirror(files, {name: size for name, size in sizes.items() if name.endswith(".jsonl")})
        self._errand: Errand | None = None
        self._news: Any = None
        if actor is None:
            self._lose()
        else:
            self._listen()

    def is_over(self) -> bool:
        if self._actor is not None and self._ray.wait([self._news], timeout=0)[0]:
            self._hear()
        if self._actor is not None or is_held(self._files.lock):  # without its actor a job saves what it has, and ends
            return False
        if self._errand is not None:
            if (brought := self._bringing.code_of(self._errand)) is None:
                return False
            self._settle_errand(brought)
        code = self._files.exit_code()
        if code == TRY_AGAIN_LATER:
            self.lost = self.lost or TAKEN_AWAY
        elif code is not None:
            self.lost = None  # it came to its end all the same
        return True

    def ask(self, number: int) -> None:
        if self._actor is None:
            return
        if self._has_begun:
            self._actor.ask.remote(number)
        else:
            self._ray.kill(self._actor)

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

    def _listen(self) -> None:
        self._news = self._actor.news.remote(self._mirror.known)

    def _hear(self) -> None:
        errors = self._ray.exceptions
        try:
            told = self._ray.get(self._news)
        except errors.ActorUnavailableError:  # it may be heard again
            self._listen()
            return
        except errors.RayActorError:
            self._actor = None
            self._lose()
            return
        self._has_begun, self._is_far = True, not told["is_near"]
        self._keep(told)
        if not told["is_over"]:
            self._listen()
            return
        self._actor.leave.remote()
        self._actor = None
        if self._is_far and told["code"] == 0:
            self._begin_to_bring()
        elif self._is_far and told["code"] is not None and told["code"] >= 0:
            self._files.write_outcome(told["code"])

    def _keep(self, told: Mapping[str, Any]) -> None:
        has_reported = self._mirror.apply(told["files"])
        if told["error"]:
            self._say(f"{told['where']}: {told['error']}")
        if has_reported and time.monotonic() - self._sent_at > SECONDS_BETWEEN_SENDERS:
            self._sent_at = time.monotonic()
            send_beside()
        for name in self._mirror.stops():
            self._actor.stop.remote(name)

    def _lose(self) -> None:
        """Nobody tells of it any more; a far one may have left its result before."""
        self.lost = NODE_LOST
        if self._order is not None and (self._is_far or not self._has_begun):
            self._begin_to_bring()

    def _begin_to_bring(self) -> None:
        assert self._order is not None
        self._errand = self._bringing.send_for(self._order, self._files.log)

    def _settle_errand(self, code: int) -> None:
        self._errand = None
        if code == 0 or (code != NOTHING and self.lost is None):
            self._files.write_outcome(code)

    def _say(self, line: str) -> None:
        with self._files.log.open("a", encoding="utf-8") as log:
            log.write(f"{line}\n")
