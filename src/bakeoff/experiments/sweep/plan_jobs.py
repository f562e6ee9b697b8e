"""Configurations -> jobs -> a sweep that has started: its id, its snapshot, its manifest.

Every configuration is read and resolved before the first runs, and all mistakes are reported in one list. Folds are
configurations that differ in which part of the data is validation: each of them builds records of its own.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.config.compose.compose import list_groups
from bakeoff.config.compose.overrides import apply_overrides
from bakeoff.config.compose.read_once import Same, files_read_once, read_once
from bakeoff.config.compose.variant import read_variant
from bakeoff.config.compose.whole_run import Run, as_tree
from bakeoff.dataset.sources.dataset import MOST_FOLDS
from bakeoff.experiments.planning.estimate import Estimate
from bakeoff.experiments.planning.plan import check_best_by
from bakeoff.experiments.planning.stage_status import (
    CACHED,
    RUNS,
    UNCHANGED,
    DvcState,
    asked_of,
    read_known,
    stages_ahead,
)
from bakeoff.experiments.planning.time_estimate import TRAIN
from bakeoff.experiments.sweep.configurations import Configuration
from bakeoff.experiments.sweep.data_choices import RECORDS_STAGE, DataChoices
from bakeoff.experiments.sweep.git_snapshot import require_capturable, take_snapshot
from bakeoff.experiments.sweep.params_diff import list_options
from bakeoff.experiments.sweep.search.search_settings import Search
from bakeoff.experiments.sweep.sweep_manifest import SweepJob, SweepManifest
from bakeoff.foundation import workspace
from bakeoff.foundation.errors import BakeoffError, ConfigError, WorkspaceError, choices
from bakeoff.foundation.progress import progress
from bakeoff.learning.metrics.names import choose_judgement
from bakeoff.learning.plan.phases import Derived
from bakeoff.learning.plan.run_length import UNLIMITED
from bakeoff.learning.run_file.yaml_file import read_mapping

BY_PARAMS = (RECORDS_STAGE, "render_config")  # stages that depend on params.yaml, not on run.yaml
NOTHING = Estimate(0.0, 0, 0)
NOT_OF_TRAINING = ("evaluate", "export", "note", "track", "variant")  # groups of run.yaml

FOLD, TEST = "data.split.fold", "data.split.test"
OF_FOLDS = ("fold", "test")  # keys of data.split that folds may set, for a test split would be in no fold


@dataclass(frozen=True)
class PlannedJob:
    number: int  # from 1
    configurations: tuple[Configuration, ...]  # the first runs; the others render the same run.yaml
    run: Run
    derived: Derived
    options: tuple[str, ...]  # of `dvc exp run -S`
    stages: dict[str, str]  # each with its outcome, such as RUNS
    warnings: tuple[str, ...]
    fold: str | None  # the fold, or the data, that it has records of; None if it uses the workspace's
    asked: dict[str, str]  # what each stage that reads run.yaml reads of it, as a digest
    estimate: Estimate = NOTHING


def preflight(
    configurations: Sequence[Configuration],
    *,
    until: str | None = None,
    cores: int | None = None,
    other_data: bool = False,
    builds: bool = False,
) -> list[PlannedJob]:
    """Return the jobs of these configurations, with times for `cores` each.

    With `other_data` they may have other data, or folds, than the workspace. `builds` says whether records of other
    data may be built for that. Raises ConfigError with all mistakes of all of them.
    """  # fmt: skip
    require_capturable()
    known = read_known()
    if until is not None and until not in known.stages:
        raise ConfigError(f"--until: no such stage {until!r}; {choices(until, known.stages)}")
    now = read_mapping(workspace.PARAMS)
    others = DataChoices(now, known, may_build=builds) if other_data else None
    mistakes: dict[str, list[Configuration]] = {}
    jobs: dict[str, PlannedJob] = {}  # by run.yaml and fold
    with files_read_once(), progress("sweep: reading", len(configurations), "configurations") as bar:
        for configuration in configurations:
            try:
                job, tree = _plan_job(len(jobs) + 1, configuration, now, known, until, others)
                same = json.dumps([job.fold, tree], sort_keys=True)
                if same in jobs:
                    job = replace(jobs[same], configurations=(*jobs[same].configurations, configuration))
                jobs[same] = job
            except BakeoffError as error:
                for line in str(error).splitlines():
                    mistakes.setdefault(line, []).append(configuration)
            bar.advance()
        if mistakes:
            raise ConfigError("\n".join(f"{_name(where, configurations)}{line}" for line, where in mistakes.items()))
        return _estimate(list(jobs.values()), cores)


def _estimate(jobs: Sequence[PlannedJob], cores: int | None) -> list[PlannedJob]:
    """Return the jobs with their estimates. A result that an earlier job makes comes from the cache."""
    estimated, made = [], set[tuple[str, str]]()
    for job in jobs:
        stages = {
            stage: CACHED if outcome == RUNS and (stage, job.asked.get(stage)) in made else outcome
            for stage, outcome in job.stages.items()
        }
        made |= set(job.asked.items())
        estimate = replace(Estimate.of(job.run, stages, cores=cores), training=job.asked.get(TRAIN, ""))
        estimated.append(replace(job, stages=stages, estimate=estimate))
    return estimated


def _plan_job(
    number: int, configuration: Configuration, now: dict[str, Any], known: DvcState, until: str | None,
    others: DataChoices | None,
) -> tuple[PlannedJob, dict[str, Any]]:  # fmt: skip
    """Return the job and its run.yaml."""
    wanted = apply_overrides(now, configuration.overrides, read_once(list_groups, workspace.CONF))
    data, current = wanted.get("data"), now.get("data")
    own, remark = workspace.RECORDS, []
    is_other = data != current and not (find_fold(data) and is_same_data(data, current))
    if data != current and others is None:
        raise ConfigError(  # and no other mistake, because that might be about other records
            "data: must be the same for every configuration here, since their results are compared; "
            "set it in params.yaml, run `dvc repro build_records`, then sweep the rest"
        )
    if is_other and others is not None:
        own = others.find(configuration.overrides, data)
        remark = ["data: is not the same for every configuration, so each is validated on its own examples"]
    variant = read_variant(overrides=configuration.overrides, records=own)
    check_best_by(variant)
    run = variant.whole()
    assert run.derived is not None
    if run.train.is_unlimited and run.train.max_minutes is None and not run.train.early_stopping.patience:
        remedy = "set a number, or train.max_minutes or train.early_stopping.patience beside it"
        raise ConfigError(f"train.steps: must end by itself in a sweep, got {UNLIMITED!r}; {remedy}")
    # A fold is planned with the workspace's records, too. They hold the same examples, in other splits.
    tree = as_tree(run)
    if not read_once(_are_records_made, Same(now), Same(known)):
        raise WorkspaceError(
            f"{workspace.RECORDS.as_posix()}/: must be what params.yaml asks for, before configurations are planned "
            f"with them; run `dvc repro {RECORDS_STAGE}`"
        )
    files = {workspace.PARAMS.as_posix(): wanted, workspace.RUN.as_posix(): tree}
    stages = stages_ahead(files, known, until=until)
    if is_other and RECORDS_STAGE in stages:
        stages |= {RECORDS_STAGE: CACHED}
    mark = None if data == current else json.dumps(data, sort_keys=True) if is_other else find_fold(data)
    of_data = "" if mark is None else f"{mark} "
    asked = {stage: of_data + asked_of(stage, known, files) for stage in stages if stage not in BY_PARAMS}
    options, warnings = tuple(list_options(now, wanted)), (*variant.problems.warnings, *remark)
    return PlannedJob(number, (configuration,), run, run.derived, options, stages, warnings, mark, asked), tree


def _are_records_made(now: Same[dict[str, Any]], known: Same[DvcState]) -> bool:
    """Return whether the records are what params.yaml asks for as it is."""
    files = {workspace.PARAMS.as_posix(): now.one}
    return stages_ahead(files, known.one, until=RECORDS_STAGE)[RECORDS_STAGE] == UNCHANGED


def _name(where: Sequence[Configuration], configurations: Sequence[Configuration]) -> str:
    """Return the names of the configurations with a mistake, or an empty text if all have it."""
    if len(where) == len(configurations):
        return ""
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return f"{where[0].name}{more}: "


def minutes_of(jobs: Sequence[PlannedJob]) -> list[float | None]:
    """Return the longest time of each job that trains."""
    return [job.run.train.max_minutes for job in jobs if job.stages.get(TRAIN) == RUNS]


def begin(
    jobs: Sequence[PlannedJob], overrides: Sequence[str], until: str | None, search: Search | None = None,
    note: str | None = None, person: str | None = None,
) -> SweepManifest:  # fmt: skip
    """Start a sweep of these jobs. For a search the jobs are only the corners of its space, and it has none yet."""
    folder = _new_folder(workspace.sweeps())
    snapshot = take_snapshot(folder.name)
    manifest = SweepManifest(
        id=folder.name,
        overrides=tuple(overrides),
        until=until,
        began=time.time(),
        baseline=snapshot.baseline,
        snapshot=snapshot.commit,
        track=as_tree(jobs[0].run)["track"],
        jobs=(),
        search=search,
        note=note,
        person=person,
    )
    return extend(manifest, () if search else jobs)


def extend(manifest: SweepManifest, jobs: Sequence[PlannedJob]) -> SweepManifest:
    """Write the manifest with these jobs, whose numbers follow those that it has."""
    more = [
        sweep_job(manifest.id, number, job.configurations, job.run, job.options, stages_of(job), job.fold)
        for number, job in enumerate(jobs, len(manifest.jobs) + 1)
    ]
    manifest = manifest.with_more(more)
    manifest.write()
    return manifest


def _new_folder(sweeps: Path) -> Path:
    """Make a folder named by the time. Its name is the sweep's id, and the first part of its experiments' names."""
    while True:
        folder = sweeps / time.strftime("sweep-%Y%m%d-%H%M%S")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:  # another sweep began in this second
            time.sleep(1)
        else:
            return folder


def sweep_job(
    sweep: str, number: int, configurations: Sequence[Configuration], run: Run, options: Sequence[str],
    stages: Sequence[str], fold: str | None = None,
) -> SweepJob:  # fmt: skip
    assert run.derived is not None
    training = {group: value for group, value in as_tree(run).items() if group not in NOT_OF_TRAINING}
    training |= {} if fold is None else {"fold": fold}
    return SweepJob(
        number=number,
        experiment=f"{sweep}-{number}",
        variant=run.name,
        configurations=tuple(configuration.varied or configuration.overrides for configuration in configurations),
        options=tuple(options),
        stages=tuple(stages),
        steps=run.derived.steps,
        memory_bytes=run.derived.memory_estimate_bytes,
        headline=headline_name(run.derived),
        training=digest_of(training),
        devices=run.train.devices,
        max_minutes=run.train.max_minutes,
    )


def stages_of(job: PlannedJob) -> tuple[str, ...]:
    """Return the stages that a job runs itself. It has the first only if its records are not the workspace's."""
    return tuple(stage for stage in job.stages if stage != RECORDS_STAGE or job.fold) or (RECORDS_STAGE,)


def digest_of(tree: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def headline_name(derived: Derived) -> str:
    return choose_judgement(derived.task, multi_label=derived.multi_label).headline


def make_overrides(folds: int) -> list[str]:
    """Return the overrides of a sweep that trains every fold."""
    if not 2 <= folds <= MOST_FOLDS:
        raise WorkspaceError(f"--folds: must be 2 to {MOST_FOLDS}, got {folds}")
    return [f"+{FOLD}={','.join(f'{number}/{folds}' for number in range(1, folds + 1))}", f"+{TEST}=0"]


def find_fold(data: Any) -> str | None:
    """Return the fold that params.yaml's group `data` names."""
    split = data.get("split") if isinstance(data, Mapping) else None
    return split.get("fold") if isinstance(split, Mapping) else None


def is_same_data(one: Any, other: Any) -> bool:
    """Return whether two groups `data` name the same data, whatever their folds are."""
    return _without_fold(one) == _without_fold(other)


def _without_fold(data: Any) -> Any:
    if isinstance(data, str):
        return {"use": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("split"), Mapping):
        return data
    split = {key: value for key, value in data["split"].items() if key not in OF_FOLDS}
    return {key: value for key, value in data.items() if key != "split"} | ({"split": split} if split else {})
