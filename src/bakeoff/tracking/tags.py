"""What a run came from, for whoever finds it in MLflow."""

import os
import platform

from bakeoff.tracking import git, system

FROM_DVC = ("DVC_EXP_NAME", "DVC_EXP_BASELINE_REV")


def source_tags(records_digest: str, fingerprint: str, parent: str | None = None) -> dict[str, str]:
    """`parent` is the fingerprint of the run that this one continues."""
    commit = git.commit() or "none"
    tags = {
        "mlflow.source.name": "bakeoff train",
        "mlflow.source.git.commit": commit,
        "bakeoff.git_commit": commit,
        "bakeoff.git_dirty": str(git.has_uncommitted_changes()).lower(),
        "bakeoff.records_digest": records_digest,
        "bakeoff.fingerprint": fingerprint,
        "bakeoff.host": platform.node(),
        "bakeoff.versions": system.versions(),
        "bakeoff.processor": system.processor(),
    }
    tags |= {"bakeoff.continues": parent} if parent else {}
    return tags | {name: os.environ[name] for name in FROM_DVC if os.environ.get(name)}
