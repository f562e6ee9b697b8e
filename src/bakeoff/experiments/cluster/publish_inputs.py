"""A sweep -> snapshot and records on a git remote and a DVC remote, for nodes that do not see the workspace."""

import hashlib
import os
from collections.abc import Mapping
from configparser import ConfigParser
from dataclasses import dataclass, replace
from io import StringIO

from bakeoff.experiments.checkpoint_store.store import DVC, VARIABLE, open_store, why
from bakeoff.experiments.cluster.fetch_results import REFS, ref_of
from bakeoff.experiments.cluster.node_orders import FarJob
from bakeoff.experiments.runs.list_runs import known_runs
from bakeoff.experiments.sweep.dvc_experiment import needed_files
from bakeoff.experiments.sweep.job import JobFiles
from bakeoff.experiments.sweep.sweep_manifest import FILE, SweepJob, SweepManifest
from bakeoff.foundation import dvc
from bakeoff.foundation.errors import WorkspaceError
from bakeoff.foundation.formatting import without_secrets
from bakeoff.foundation.git import git
from bakeoff.foundation.workspace import IN_FLIGHT, journals, main_workspace
from bakeoff.tracking.journal.journal_folder import FILE as JOURNAL
from bakeoff.tracking.sync.process import FAR

ORIGIN = "origin"
NOT_THERE = ("PYTHONPATH", "BAKEOFF_DVC_CACHE", "BAKEOFF_SCRATCH", "DVC_ROOT")  # paths of this machine


@dataclass(frozen=True)
class FarSweep:
    """A sweep that is prepared for far nodes."""

    manifest: SweepManifest
    remote: str  # the address of the git remote
    ref: str  # of the snapshot there
    prefix: str  # of the workspace in its repository
    settings: str  # settings of DVC that are in no commit

    @classmethod
    def prepare(cls, manifest: SweepManifest) -> "FarSweep":
        """Push the snapshot, and the records or raw data that jobs need.

        Raises WorkspaceError where a remote is missing or cannot be written.
        """
        remote = git_remote()
        _require_dvc_remote()
        ref = f"{REFS}/{manifest.id}/snapshot"
        try:
            git("push", "--quiet", remote, f"+{manifest.snapshot}:{ref}")
        except WorkspaceError as error:
            raise WorkspaceError(
                f"{remote}: far nodes need a git remote that can be written ({error}); "
                "`git remote set-url origin URL` names another one"
            ) from None
        needed = {name for stages in ((), *(job.stages for job in manifest.jobs)) for name in needed_files(stages)}
        dvc.answer("push", "--quiet", *sorted(needed))
        return cls(manifest, remote, ref, git("rev-parse", "--show-prefix"), _read_remote_settings())

    def make_job(self, job: SweepJob, files: JobFiles, environment: Mapping[str, str]) -> FarJob:
        """Return the part of an agent's order that is for far nodes."""
        attempt, sweep = len(job.attempts), f"{IN_FLIGHT}/sweeps/{self.manifest.id}"
        own = replace(self.manifest, jobs=(job,))
        content = {f"{sweep}/{FILE}": own.as_text().encode(), ".dvc/config.local": self.settings.encode()}
        kept = {key: value for key, value in environment.items() if key not in NOT_THERE}
        return FarJob(
            attempt=f"{job.experiment}.{attempt}",
            repository=hashlib.sha256(self.remote.encode()).hexdigest()[:12],
            remote=self.remote,
            ref=self.ref,
            snapshot=self.manifest.snapshot,
            prefix=self.prefix,
            sweep=self.manifest.id,
            arguments=("1", self.remote, ref_of(self.manifest.id, job.number, attempt)),
            environment={VARIABLE: DVC} | kept | {FAR: "1"},
            files=content | collect_reports(job),
            log_size=files.log.stat().st_size if files.log.is_file() else 0,
        )


def collect_reports(job: SweepJob) -> dict[str, bytes]:
    """Return the reports of earlier attempts at the job, so that nothing is reported twice."""
    files = {}
    for run in known_runs():
        if run.status is not None and run.status.experiment == job.experiment and run.run_id:
            files[f"{IN_FLIGHT}/runs/{run.fingerprint}/run"] = run.run_id.encode()
            for name in (JOURNAL, "target.json"):
                path = journals() / run.run_id / name
                if path.is_file():
                    files[f"{IN_FLIGHT}/journal/{run.run_id}/{name}"] = path.read_bytes()
    return files


def git_remote() -> str:
    names = git("remote").splitlines()
    name = ORIGIN if ORIGIN in names else names[0] if len(names) == 1 else None
    if name is None:
        reason = f"got {len(names)}: {', '.join(names)}, none of them origin" if names else "got none"
        raise WorkspaceError(
            f"git: far nodes need a remote that they and this machine reach, {reason}; `git remote add origin URL`"
        )
    address = git("remote", "get-url", name)
    is_folder = (main_workspace() / address).is_dir()
    return str((main_workspace() / address).resolve()) if is_folder else address


def _require_dvc_remote() -> None:
    remote = dvc.default_remote()
    if remote is None:
        raise WorkspaceError(
            "dvc: far nodes need a default remote that they and this machine reach, got none; "
            "`dvc remote add --default NAME URL`"
        )
    probe = f"probe-{os.getpid()}"
    try:
        store = open_store(DVC)
        store.write(probe, b"may I write?")
        store.remove(probe)
    except OSError as error:
        raise WorkspaceError(
            f"{without_secrets(remote.address)}: far nodes need a DVC remote that can be written ({why(error)}); "
            "give this user the right, or `dvc remote modify` names another one"
        ) from None


def _read_remote_settings() -> str:
    """Return the settings of remotes in config.local, such as keys, which are in no commit."""
    local = ConfigParser(interpolation=None, strict=False)
    local.read(main_workspace() / ".dvc/config.local", encoding="utf-8")
    for section in local.sections():
        if not section.startswith("'remote ") and section != "core":
            local.remove_section(section)
    text = StringIO()
    local.write(text)
    return text.getvalue()
