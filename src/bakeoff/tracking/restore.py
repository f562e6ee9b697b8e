"""A run that was made elsewhere -> a journal, from what it left. A store that has the run gets nothing of this."""

from bakeoff.run.options import Mlflow
from bakeoff.tracking.journal import Journal
from bakeoff.tracking.result import Result
from bakeoff.tracking.trained_models import SUFFIX, kept_weights
from bakeoff.workspace import EVALUATION, RUN, TRAINED

RESTORED = "bakeoff.restored"


def restore(journal: Journal, result: Result, settings: Mlflow) -> None:
    """Its whole story; files only of a result that is in the workspace."""
    journal.restoring = True
    journal.run(result.name)
    journal.tags({RESTORED: "true", "bakeoff.weights_sha256": str(result.state.get("weights_sha256", "unknown"))})
    tell(journal, result)
    folders = ((RUN.parent, "config"), (TRAINED, "train"), (EVALUATION, "evaluation")) if not result.experiment else ()
    for folder, name in folders:
        for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if file.is_file() and not file.name.endswith(SUFFIX):
                journal.file(file, f"{name}/{file.relative_to(folder).as_posix()}")
    for model in kept_weights(TRAINED, result.state, settings) if not result.experiment else ():
        journal.model(model)
    journal.state("FINISHED")
    journal.restoring = False


def tell(journal: Journal, result: Result) -> None:
    """The variant and its numbers."""
    if result.experiment:
        journal.tags({"DVC_EXP_NAME": result.experiment})
    journal.params(result.params)
    for step, values in result.points():
        journal.metrics(step, values)
    if result.run_yaml:
        journal.text(result.run_yaml, f"config/{RUN.name}")
