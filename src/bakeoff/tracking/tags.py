"""What a run came from, for whoever finds it in MLflow."""

import os

from bakeoff.tracking import git


def source_tags(records_digest: str) -> dict[str, str]:
    experiment = os.environ.get("DVC_EXP_NAME")
    return {
        "mlflow.source.name": "bakeoff train",
        "mlflow.source.git.commit": git.commit() or "none",
        "bakeoff.git_commit": git.commit() or "none",
        "bakeoff.git_dirty": str(git.has_uncommitted_changes()).lower(),
        "bakeoff.records_digest": records_digest,
    } | ({"DVC_EXP_NAME": experiment} if experiment else {})
