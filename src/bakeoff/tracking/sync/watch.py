"""Beside a stage: keeps a sender alive, warns once on the screen if MLflow takes nothing, measures the machine."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Event, Thread

from bakeoff.foundation.progress import print_line
from bakeoff.tracking.journal.journal import Journal
from bakeoff.tracking.store.target import SyncProgress, Target, is_sent, place_in, target_in
from bakeoff.tracking.sync import system_metrics
from bakeoff.tracking.sync.process import is_far, is_running, start_sender
from bakeoff.tracking.sync.system_metrics import ENERGY, EnergyMeter

MEASURE_EVERY_S = 1.0
RESTART_AFTER_S = 10.0  # a sender that has just ended is started again after this time
VAIN_TRIES = 2  # after so many failed tries in a row the run does not wait for the store
TROUBLE_AFTER_S = 5.0  # a shorter failure is not reported, for a server may be restarting


class Watch:
    def __init__(self, journal: Journal, target: Target, system_every_s: float) -> None:
        self._journal, self._target = journal, target
        self._system_every = system_every_s
        self._started_at = self._trouble_since = float("-inf")
        self._warned, self._ending = False, Event()
        self._load: dict[str, float] = {}
        self._meter = EnergyMeter({})
        self._thread = Thread(target=self._run, name="tracking", daemon=True)
        self._thread.start()

    def begin_energy(self, *, has_begun: bool) -> None:
        """Measure from now on the energy of a training. One that `has_begun` goes on from what its journal has."""
        known = {name: joules for name in ENERGY if (joules := self._journal.last_value(name)) is not None}
        if self._system_every:
            self._meter = EnergyMeter(known if known or has_begun else dict.fromkeys(ENERGY, 0.0))

    def end_energy(self) -> dict[str, float | None]:
        """Return the joules of it; None of what an earlier process of the run could measure, and this one could not."""
        joules = self._look() if self._meter.add(self._load) else {}
        self._meter = EnergyMeter({})
        return {name: joules.get(name) for name in ENERGY if self._journal.last_value(name) is not None}

    def end(self, wait_s: float) -> None:
        """Wait for MLflow to have everything, but not longer, and not for one that takes nothing."""
        self._ending.set()
        self._thread.join()
        if target_in(self._journal.folder) is None:  # somebody removed it, and the journal is there again
            with suppress(OSError):
                self._target.write(self._journal.folder)
        if is_far():
            return
        end = time.monotonic() + wait_s
        self._started_at = float("-inf")
        while not self._is_sent() and time.monotonic() < end and self._place.tries < VAIN_TRIES:
            self._keep_sending()
            time.sleep(0.05)
        self._keep_sending()
        if wait_s and not self._is_sent():
            if self._place.trouble:
                self._warn(self._place.trouble)
            elif not self._warned:
                where = f"MLflow ({self._target.shown})"
                print_line(f"{where} is being sent the rest of this run; `bakeoff track sync` waits for it")

    def _run(self) -> None:
        looked_at = time.monotonic()
        self._load = system_metrics.measure_load()  # processor time is counted from here
        while True:
            self._keep_sending()
            self._check_trouble()
            self._meter.add(self._load)
            # MLflow's comparison of runs begins with the metric that came first: with one of the training's.
            is_wanted = self._system_every and self._journal.has_metrics
            if is_wanted and time.monotonic() - looked_at >= self._system_every:
                looked_at = time.monotonic()
                self._look()
            if self._ending.wait(MEASURE_EVERY_S):
                return

    def _look(self) -> Mapping[str, float]:
        """Write how busy the machine is and the energy of the training until now, and return this."""
        load = system_metrics.measure_load()
        joules = self._meter.add(self._load)
        self._load |= load  # a tool that once gives no answer leaves the last one
        self._journal.metrics(self._journal.next_step(system_metrics.FIRST), {**load, **joules})
        return joules

    def _keep_sending(self) -> None:
        now = time.monotonic()
        try:
            if is_far() or now - self._started_at <= RESTART_AFTER_S:
                return
            if not self._is_sent() and not is_running(self._target.key):
                self._started_at = now
                start_sender(self._target.key)
        except OSError as error:  # the disk is full, or there can be no more processes
            self._warn(str(error))

    def _check_trouble(self) -> None:
        if self._journal.trouble:
            self._warn(str(self._journal.trouble))
        trouble, now = self._place.trouble, time.monotonic()
        if not trouble:
            self._trouble_since = now
        elif now - self._trouble_since > TROUBLE_AFTER_S:
            self._warn(trouble)

    @property
    def _place(self) -> SyncProgress:
        return place_in(self._journal.folder, self._target)

    def _is_sent(self) -> bool:
        return is_sent(self._journal.folder, self._target)

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            print(
                f"warning: MLflow ({self._target.shown}) does not take this run yet ({reason}); nothing is lost, and "
                "`bakeoff track sync` sends it later",
                file=sys.stderr,
            )
