"""A job's stages, run by DVC in the job's clone, and what they made as a DVC experiment.

    python -m bakeoff.experiments.sweep.dvc_experiment CLONE sweep-20260102-030405-7 -S lr.peak=0.1 -- train

`dvc exp run` stashes, commits and reads every file of the pipeline again, because somebody may edit the workspace.
Nobody edits a job's clone. So three commands of DVC in one process and a commit are enough.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bakeoff.experiments.sweep.git_snapshot import AUTHOR
from bakeoff.foundation import dvc, workspace
from bakeoff.foundation.dvc_repair import LOCK
from bakeoff.foundation.errors import WorkspaceError, errors_in_one_line
from bakeoff.foundation.git import git
from bakeoff.foundation.shipped import code_stage
from bakeoff.foundation.signals import Relay
from bakeoff.learning.run_file.yaml_file import read_mapping
from bakeoff.tracking.sync.process import is_far

FOR_EXPERIMENTS = "refs/exps"
RECORDS_STAGE = "build_records"


def run_stages(changes: Sequence[str], stages: Sequence[str]) -> int:
    """Run the stages and return DVC's exit code. Each stage runs by itself, without those that it depends on."""
    if is_far() and not has_needed_files(dvc.cache(Path.cwd()), stages):
        if code := dvc.run_here("fetch", "--quiet", *needed_files(stages)):
            return code
    if code := dvc.run_here("checkout", "--quiet", "--force", "--allow-missing"):
        return code
    dvc.change_params(changes)
    return dvc.run_here("repro", "--single-item", *code_stage(), *stages)


def needed_files(stages: Sequence[str] = ()) -> list[str]:
    """Return the targets that DVC fetches for a job: its weights, and the records or the data to build them."""
    needed = [*workspace.WEIGHTS.rglob("*.dvc")]
    if RECORDS_STAGE in stages:
        return [path.as_posix() for path in sorted([*needed, *workspace.RAW.rglob("*.dvc")])]
    return [RECORDS_STAGE, *(path.as_posix() for path in sorted(needed))]


def has_needed_files(cache: Path, stages: Sequence[str] = ()) -> bool:
    """Return whether an earlier job has brought them to this node, without loading DVC's client of the remote."""
    outs = []
    for name in needed_files(stages):
        entry = read_mapping(LOCK)["stages"].get(name, {}) if name == RECORDS_STAGE else read_mapping(Path(name))
        if not entry.get("outs"):
            return False
        outs += entry["outs"]
    return all(dvc.is_cached(str(out.get("md5", "")), cache) for out in outs)


def save_experiment(name: str, baseline: str) -> None:
    """Commit the known files and those that stages wrote, under the reference by which DVC finds experiments."""
    here = Path.cwd()
    made = git("ls-files", "--others", "--exclude-standard", "--", "models", "dvc.lock", folder=here).splitlines()
    git("add", "--update", folder=here)
    if made:
        git("add", "--", *made, folder=here)
    tree = git("write-tree", folder=here)
    arguments = ("commit-tree", tree, "-p", baseline, "-m", f"dvc: commit experiment {name}")
    try:
        commit = git(*arguments, folder=here)
    except WorkspaceError:  # git does not know who does this
        commit = git(*arguments, folder=here, more=AUTHOR)
    git("update-ref", name_experiment_ref(baseline, name), commit, folder=here)


def name_experiment_ref(baseline: str, name: str) -> str:
    """Return the reference by which DVC finds an experiment."""
    return f"{FOR_EXPERIMENTS}/{baseline[:2]}/{baseline[2:]}/{name}"


def main() -> None:
    with errors_in_one_line():
        clone, name, *arguments = sys.argv[1:]
        os.chdir(clone)  # only now: this code is the main workspace's, the stages' is the clone's
        changes, stages = arguments[1 : arguments.index("--") : 2], arguments[arguments.index("--") + 1 :]
        baseline = git("rev-parse", "HEAD", folder=Path.cwd())
        os.environ |= {workspace.DVC_EXPERIMENT: name, "DVC_EXP_BASELINE_REV": baseline}  # for the stages
        with (relay := Relay()).listening():
            code = run_stages(changes, stages)
        if code == 0 and is_far():
            code = dvc.run_here("push", "--quiet", *stages)
        if code == 0:
            save_experiment(name, baseline)
        sys.exit(relay.exit_code(code))


if __name__ == "__main__":
    main()
