"""Where things are. Paths are relative to the workspace, which is the folder a stage runs in.

DVC runs an experiment in a temporary workspace; what must outlive it lives in the main one.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

from bakeoff.foundation.errors import ConfigError, WorkspaceError
from bakeoff.foundation.files import write_whole

PARAMS = Path("params.yaml")
CONF = Path("conf")
TEAM = CONF / "team.yaml"  # minutes, which decide no result
DATA = Path("data")
RAW = DATA / "raw"
WEIGHTS = Path("data/weights")
RECORDS = Path("data/records")
RUN = Path("models/config/run.yaml")
PROMISE = Path("models/config/promise.yaml")
CODE = Path("models/code.yaml")  # of a workspace that `bakeoff init` made
MADE_BY = Path(".dvc/bakeoff.json")  # by which version
PROMISED = {"trained_to_its_end": True}
TRAINED = Path("models/train")
EVALUATION = Path("models/evaluation")
EXPORTED = Path("models/export")
JUDGED = Path("models/judged")  # results of `bakeoff evaluate`, apart from what stages make

RECORDS_PAGE = RECORDS / "report.html"

IN_FLIGHT = ".bakeoff"
STOP_FILE = "stop_requested"  # in a run's folder below it; whoever makes it asks the run to stop
OPTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
DVC_EXPERIMENT = "DVC_EXP_NAME"  # names DVC's experiment: a variable of its stages, and a tag of the run
TEMPORARY = (".dvc", "tmp", "exps")  # below it DVC makes its copies of the workspace


def main_workspace() -> Path:
    """Return the user's own clone, also when DVC runs this process in a temporary copy of it, or the user stands in
    one.
    """
    here = Path(os.environ.get("DVC_ROOT") or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if folder.parts[-len(TEMPORARY) :] == TEMPORARY:
            return folder.parents[len(TEMPORARY) - 1]
    return here


def _below_in_flight(name: str) -> Callable[[], Path]:
    return lambda: main_workspace() / IN_FLIGHT / name


facts = _below_in_flight("networks")  # cached facts about networks, which depend on the network alone
durations = _below_in_flight("durations.jsonl")  # how long steps and whole stages took on this machine
sweeps = _below_in_flight("sweeps")  # each sweep's logs
runs = _below_in_flight("runs")  # what is in flight: a folder for each run, in every workspace of one clone the same
choices = _below_in_flight("choices")  # records of data that sweeps chose beside the workspace's own
queue = _below_in_flight("queue")  # sweeps that wait in line
queued = _below_in_flight("queued")  # jobs of sweeps that have not started: a folder for each
spent = _below_in_flight("spent.jsonl")  # how long runs trained that were removed
journals = _below_in_flight("journal")  # the journals of runs, kept also after the tracking stores have them
results = _below_in_flight(
    "results"
)  # what the clock and the machine decided of each run; they stay when work in flight is cleared
fetched = _below_in_flight("fetched")  # weights of runs elsewhere
answers = _below_in_flight("answers")  # of teachers, to the examples of records
zoo_parts = _below_in_flight("zoo")  # parts of downloads that were interrupted


judged_records = _below_in_flight("judged")  # records of other data, that runs were judged on


def in_flight(fingerprint: str) -> Path:
    """Return the folder of a run's work until the run is finished."""
    return runs() / fingerprint


def enter() -> None:
    """Make the workspace that holds this folder the current one, as git and DVC do."""
    folder = find_above()
    if folder is None:
        raise WorkspaceError(
            f"{Path.cwd()}: not in a bakeoff workspace (no dvc.yaml and conf/ here or above); cd into one, or "
            "`bakeoff init` one"
        )
    os.chdir(folder)
    if MADE_BY.is_file():
        from bakeoff.foundation.made_by import require_not_newer

        require_not_newer()


def find_above() -> Path | None:
    """Return the workspace that holds this folder."""
    here = Path.cwd()
    folders = (here, *here.parents)
    return next((one for one in folders if (one / "dvc.yaml").is_file() and (one / CONF).is_dir()), None)


def require_own_code() -> None:
    """Raise unless a stage runs the code of its workspace. Its result would be filed under the wrong code."""
    own, used = Path("src/bakeoff").resolve(), Path(__file__).resolve().parents[1]
    if own.is_dir() and used != own:
        raise WorkspaceError(f"{used}: this code is not the workspace's own, {own}; run `python -m` from the workspace")


def promise(trained_to_its_end: bool) -> None:
    """Write the file that makes DVC train on: render_config promises a whole training, a stopped training takes that
    back.

    DVC therefore caches the stopped result under the broken promise. On the next `dvc repro` it finds that a file of
    render_config's was changed, has it written anew, and trains on, for train depends on it.
    """
    # Not written in place, for it may be a link into DVC's cache.
    write_whole(PROMISE, f"trained_to_its_end: {str(trained_to_its_end).lower()}\n", lasting=True)


def choose_option_name(given: str | None, stem: str, *, reserved: str) -> str:
    """Return the name of a new option of conf/: what was given, else of `stem` what an option can be called."""
    if given is not None:
        if not OPTION_NAME.fullmatch(given) or given == reserved:
            rule = f"must be a letter, then letters, digits, - and _, and not {reserved!r}"
            raise ConfigError(f"--name: {rule}, got {given!r}")
        return given
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_-")
    return plain if OPTION_NAME.fullmatch(plain) and plain != reserved else f"imported_{plain}".rstrip("_")


def printable_file_name(path: Path) -> str:
    """Return a file's name without line breaks. Messages and comments of options repeat it, and a line break would end
    them.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in path.name)
