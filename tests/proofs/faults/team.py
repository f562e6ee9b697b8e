"""A team on the server of docs/server.md: clones train and share, the server is lost and restored. What is there again?

    python tests/proofs/faults/team.py [--keep FOLDER]

makes the server in a temporary folder from the page's files and commands: PostgreSQL, S3 by SeaweedFS, MLflow with
users. Clones of one repository train, and share records and results through the DVC remote. One clone is killed and
removed while it trains. A backup is made while another trains. Then the server is wiped and restored, and the script
prints what a new clone finds there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.faults.continuing import BAKEOFF, gone_on, lost
from proofs.faults.postgresql import why_not
from proofs.faults.team_server import TeamServer
from proofs.faults.tracking_store import contents, differences
from support.extra_packages import extra_packages, python_path
from support.workspace_copy import Workspace, environment, tiny_workspace

LONG = "steps: 4000, checkpoint_every_steps: 200"
SHORT = "steps: 20, checkpoint_every_steps: 20"
LINES = {
    "data": "data: {use: digits_single, train_examples: 40, validation_examples: 12}",
    "model": "model: {use: cnn_small, width: 0.25, input_size: 32}",
    "train": f"train: {{use: demo, batch_size: 4, {SHORT}, validate_every_steps: 40, log_every_steps: 2}}",
}


@contextmanager
def at_work(server: TeamServer, folder: Path, **words: str) -> Iterator[None]:
    """Within the block, every process here has the credentials of a member; `words` stand for others of the page."""
    (folder / ".mlflow").mkdir(parents=True)
    (folder / ".mlflow/credentials").write_text(server.credentials(**words), encoding="utf-8")
    own = {"HOME": str(folder), "PYTHONPATH": python_path(extra_packages("dvc-s3>=3.2"))}
    with patch.dict(os.environ, own | {"AWS_EC2_METADATA_DISABLED": "true"}):
        yield


class Team:
    """Clones of one repository, whose users have keys of one server."""

    def __init__(self, folder: Path, server: TeamServer) -> None:
        self.folder, self.server = folder, server
        track = {"track": f"{server.setting()}  wait_s: 120"}
        first = tiny_workspace(folder / "first", LINES | track)
        self._git("clone", "--quiet", "--bare", str(first.folder), str(folder / "origin.git"))

    def point(self) -> Workspace:
        """Return the clone that points the repository at the server."""
        workspace = self._clone("anna")
        for words in self.server.commands("dvc remote add"):
            workspace.run(*words)
        return self._with_key(workspace)

    def join(self, name: str) -> Workspace:
        return self._with_key(self._clone(name))

    def share(self, workspace: Workspace) -> None:
        workspace.commit()
        workspace.run("dvc", "push")
        workspace.run("git", "push", "--quiet")

    def _clone(self, name: str) -> Workspace:
        self._git("clone", "--quiet", str(self.folder / "origin.git"), str(self.folder / name))
        return Workspace(self.folder / name)

    def _with_key(self, workspace: Workspace) -> Workspace:
        for words in self.server.commands("--local team"):
            if words[0] == "dvc":
                workspace.run(*words)
        return workspace

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], check=True, env=environment())


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def work_together(team: Team) -> str:
    """Share records and results by the DVC remote; return the digest of the records."""
    anna = team.point()
    anna.run(*BAKEOFF, "repro", "train")
    team.share(anna)
    ben = team.join("ben")
    ben.run("dvc", "pull", "--with-deps", "train")
    ran, weights = ben.repro("train"), "models/train/best.weights.h5"
    same = ben.records_digest() == anna.records_digest()
    same = same and (ben.folder / weights).read_bytes() == (anna.folder / weights).read_bytes()
    say(f"another clone pulls records and weights: {'the same' if same else 'OTHERS'}; stages that ran: {len(ran)}")
    assert same and not ran
    return anna.records_digest()


def train_through_backup(team: Team) -> tuple[Path, Workspace]:
    """Make the backup while a clone trains; return the dumps and the clone, whose run has come to its end."""
    dora = team.join("dora")
    had = team.server.checkpoints()
    process = subprocess.Popen([*BAKEOFF, "repro", "train"], cwd=dora.folder, env=environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    while process.poll() is None and len(team.server.checkpoints() - had) < 2:
        time.sleep(0.2)
    assert process.poll() is None, "the training ended before the backup"
    dumps = team.server.back_up()
    assert process.poll() is None, "the training ended during the backup"
    out = process.communicate()[0]
    assert process.returncode == 0, out
    dora.run(*BAKEOFF, "track", "sync")
    return dumps, dora


def lose_and_restore(folder: Path) -> list[str]:
    """Return what is wrong."""
    server = TeamServer(folder / "server")
    try:
        server.install()
        say("PostgreSQL, S3 and MLflow with users are up")
        with at_work(server, folder / "home"):
            team = Team(folder / "team", server)
            return _lose_and_restore(team)
    finally:
        server.close()


def _lose_and_restore(team: Team) -> list[str]:
    records = work_together(team)
    long = team.join("long")
    long.edit("params.yaml", SHORT, LONG)
    long.commit()
    long.run("git", "push", "--quiet")
    ben_lost = lost(team.join("lost"), team.server, 400)  # two checkpoints, of which the first is whole
    say(f"a training is killed and its clone removed: run {ben_lost[:8]}")
    dumps, dora = train_through_backup(team)
    before = contents(team.server.uri)
    team.server.wipe()
    printed = dora.run(*BAKEOFF, "track", "sync", ok=False)
    say(f"backed up and wiped; a clone says: {printed.stdout.splitlines()[0].partition(': ')[2]}")
    team.server.restore(dumps)
    after = contents(team.server.uri)
    dora_run = next(path.read_text() for path in dora.folder.glob(".bakeoff/runs/*/run"))
    wrong = differences(*({run: entries for run, entries in had.items() if run != dora_run} for had in (before, after)))
    say(f"restored: {len(after)} of {len(before)} runs, {len(wrong)} differences in those that rested in the backup")
    missing = differences(before[dora_run][0], after[dora_run][0])
    say(f"the run that trained during the backup differs in {len(missing)} fields")
    erik = team.join("erik")
    erik.run("dvc", "pull", "build_records")
    is_same = erik.records_digest() == records
    say(f"a new clone pulls the records: {'the same' if is_same else 'OTHERS'}")
    wrong += [] if is_same else ["other records"]
    if outcome := gone_on(erik, ben_lost):
        step, state = outcome
        is_same = state["weights_sha256"] == dora.state()["weights_sha256"]
        say(f"`bakeoff continue` resumes after step {step}: {'equal' if is_same else 'OTHER'} weights in the end")
        wrong += [] if is_same else ["other weights"]
    else:
        wrong.append("no checkpoint to resume from")
    dora.run(*BAKEOFF, "track", "sync", "--anew")
    missing = differences(before[dora_run][0], contents(team.server.uri)[dora_run][0])
    say(f"after `bakeoff track sync --anew` it differs in {len(missing)} fields")
    return wrong + missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a new folder that stays")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = arguments.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        wrong = lose_and_restore(place)
    print("\n".join(wrong) or "all is there again")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
