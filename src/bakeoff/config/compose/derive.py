"""A parsed variant + the records' manifest -> the variant with every number filled in that follows from them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bakeoff.config.compose.auto_batch import BatchSizeChoice, NothingFits
from bakeoff.config.compose.checks import Records, check
from bakeoff.config.compose.memory_plan import OUTPUTS_IN_EIGHT_BITS, Buffers, Limits, Load, buffers, of_largest_phase
from bakeoff.config.compose.network_facts import Facts, stated_limits
from bakeoff.config.compose.schedule_length import ScheduleLength, SetByWhom
from bakeoff.config.compose.whole_run import Draft, Run
from bakeoff.dataset.records.manifest import Manifest, Split
from bakeoff.dataset.records.record import TRAIN, VALIDATION
from bakeoff.foundation.errors import OutOfRange
from bakeoff.learning.input.memory_budget import Memory
from bakeoff.learning.input.subset import count_share
from bakeoff.learning.lr import batch_factor
from bakeoff.learning.lr.schedule import Schedule
from bakeoff.learning.networks.network import Network
from bakeoff.learning.plan.phases import WHOLE_RUN, Derived, Span
from bakeoff.learning.plan.train_settings import Phase, Train, steps_for
from bakeoff.learning.run_file.parse import Problems

SMALL_BATCH_BYTES = 64 * 10**6  # of all layers' outputs: below, threads wait longer for each other than they save


@dataclass(frozen=True)
class MemoryNeed:
    """What training takes of a machine, and what the machine has."""

    memory: Memory
    load: Load
    limits: Limits


def resolve(
    draft: Draft,
    records: Records,
    problems: Problems,
    *,
    facts_of: Callable[[Network, int], Facts | None],
    set_by: SetByWhom,
    limits_of: Callable[[Memory], Limits] = stated_limits,
    largest_batch: Callable[[Run, Load, Limits], BatchSizeChoice | None] | None = None,
) -> Run | None:
    """Return the whole variant, or None with every mistake noted that shows in what could be read of it.

    `limits_of` and `largest_batch` are what looks at the machine, and asked only where the variant says `auto`.
    """
    manifest, train = records.manifest, draft.train
    facts = _find_facts(draft.model, manifest, facts_of)
    if manifest is None or train is None:
        check(draft, records, facts, [], problems, set_by)
        return None
    need = _find_need(draft, train, manifest, facts, limits_of)
    examples, because = count_share(manifest.splits[TRAIN].examples, train.share), "stated"
    if train.batch_size == "auto":
        train = replace(train, batch_size=1)
        draft = replace(draft, train=train)
        if need is None or largest_batch is None:
            check(draft, records, facts, [], problems, set_by)
            return None
        limits, any_seed = need.limits, 0 if draft.seed is None else draft.seed
        smallest = resolve(
            replace(draft, seed=any_seed),
            records,
            Problems(str),
            facts_of=facts_of,
            set_by=set_by,
            limits_of=lambda memory: limits,
        )
        try:
            choice = largest_batch(smallest, need.load, limits) if smallest else None
        except NothingFits as error:
            _note_nothing_fits(need, error.least_bytes, problems)
            return None
        if choice:
            because = choice.in_words(limits.bytes, examples)
            train = replace(train, batch_size=choice.batch_size)
            need = replace(need, load=choice.measured(need.load))
    cut = _cut_batches(train, examples, problems)
    if cut.batch < train.batch:
        because = f"stated as {train.batch}, cut by halves to what the set can fill"
    spans = _spans(cut, draft.lr, examples, problems)
    length = ScheduleLength(cut, problems, set_by)
    cut = length.cut_checkpoints(cut, spans[-1].end_step)
    draft = _with_schedules(replace(draft, train=cut), cut, spans, examples, length)
    length.report(spans[-1].end_step)
    phases = _list_phases(cut, draft.model, facts, spans) if draft.model and facts else []
    held = _buffers(need, manifest.splits[TRAIN], phases, problems)
    check(draft, records, facts, spans, problems, set_by)
    if problems.lines or facts is None or need is None or held is None:
        return None
    threads = _choose_threads(cut, facts.activation_bytes * max(batch for batch, _ in phases))
    return draft.whole(_derive(cut, manifest, spans, facts.parameters, because, need.limits, held, threads))


def _choose_threads(train: Train, batch_bytes: int) -> int | None:
    if train.threads != "auto":
        return train.threads
    return 1 if batch_bytes < SMALL_BATCH_BYTES else None


def _derive(
    train: Train, manifest: Manifest, spans: list[Span], parameters: int, because: str, limits: Limits, held: Buffers,
    threads: int | None,
) -> Derived:  # fmt: skip
    last, examples = spans[-1], count_share(manifest.splits[TRAIN].examples, train.share)
    taken = last.first_example + last.steps * last.batch_size * train.accumulate_batches
    return Derived(
        task=manifest.task,
        num_classes=len(manifest.classes),
        multi_label=manifest.multi_label,
        train_examples=examples,
        validation_examples=manifest.splits[VALIDATION].examples,
        steps=last.end_step,
        epochs=round(taken / examples, 3),
        phases=tuple(spans),
        parameters=parameters,
        batch_size_because=because,
        prefetch_batches=held.prefetch_batches,
        decode_threads=held.decode_threads,
        shuffle_windows=held.shuffle_windows,
        memory_budget_bytes=limits.bytes,
        memory_estimate_bytes=held.bytes,
        memory_parts=held.parts,
        device_budget_bytes=limits.device_bytes,
        device_estimate_bytes=held.device_bytes,
        threads=threads,
        left_out_examples=manifest.splits[TRAIN].examples - examples,
    )


def _find_facts(
    model: Network | None, manifest: Manifest | None, facts_of: Callable[[Network, int], Facts | None]
) -> Facts | None:
    """Return what is known of the network; nothing if it is of another task than the records."""
    if model is None or manifest is None or model.task != manifest.task:
        return None
    return facts_of(model, len(manifest.classes))


def _find_need(
    draft: Draft, train: Train, manifest: Manifest, facts: Facts | None, limits_of: Callable[[Memory], Limits]
) -> MemoryNeed | None:
    if draft.model is None or draft.memory is None or facts is None:
        return None
    load = Load(
        pixels=draft.model.frames * draft.model.input_size**2,
        parameters=facts.parameters,
        variables=len(facts.variables) * (1 + train.quantizes),
        activation_bytes=int(facts.activation_bytes * max(map(_outputs_kept, train.phases), default=1)),
        slots=draft.optimizer.slots if draft.optimizer else 0,
        averaged=train.ema_decay > 0,
        accumulates=train.accumulate_batches > 1,
        images=1 + train.augment.partners,
        validation_examples=manifest.splits[VALIDATION].examples,
    )
    return MemoryNeed(draft.memory, load, limits_of(draft.memory))


def _note_nothing_fits(need: MemoryNeed, least: int | None, problems: Problems) -> None:
    needed = f"at least {-(-least // 10**6)}MB" if least and least > need.limits.bytes else "more"
    rule = f"must be {needed}, got {need.memory.budget!r}; not even batches of 1 fit when tried"
    problems.add("memory.budget", rule)


def _cut_batches(train: Train, examples: int, problems: Problems) -> Train:
    """Halve every batch that the training set cannot fill, as ftc-ml does."""

    def cut(size: int, key: str) -> int:
        fitting = size
        while fitting > examples and fitting > 1:
            fitting //= 2
        if fitting < size:
            problems.warn(key, f"is {size}, more than the {examples} training examples; cut to {fitting} by halves")
        return fitting

    phases = tuple(
        replace(phase, batch_size=cut(phase.batch_size, f"train.phases[{place}].batch_size"))
        if phase.batch_size
        else phase
        for place, phase in enumerate(train.phases)
    )
    return replace(train, batch_size=cut(train.batch, "train.batch_size"), phases=phases)


def _spans(train: Train, lr: Schedule | None, examples: int, problems: Problems) -> list[Span]:
    """Return the phases of the run, one after the other; none if its length cannot be told."""
    phases = train.phases or (Phase(WHOLE_RUN),)
    shares = _shares(train, examples, problems) if train.phases else None
    spans: list[Span] = []
    first_step = first_example = 0
    for place, phase in enumerate(phases):
        batch_size = phase.batch_size or train.batch
        together = batch_size * train.accumulate_batches
        given = phase if train.phases else train
        length = (
            shares[place] if shares else steps_for(given.steps, given.epochs, examples=examples, batch_size=together)
        )
        if train.round_up_steps:
            length = -(-length // train.checkpoint_every_steps) * train.checkpoint_every_steps
        schedule = phase.lr or lr
        rate_factor = batch_factor(schedule, together) if schedule else 1.0
        spans.append(Span(phase.name, first_step, length, first_example, batch_size, rate_factor))
        first_step += length
        first_example += length * together
    return spans


def _shares(train: Train, examples: int, problems: Problems) -> list[int] | None:
    """Return the steps of phases that divide the run's own length, the last one taking what is left over."""
    if train.steps is None and train.epochs is None:
        return None
    together = train.batch * train.accumulate_batches
    steps, number = steps_for(train.steps, train.epochs, examples=examples, batch_size=together), len(train.phases)
    if steps < number:
        problems.add("train.phases", f"must be at most as many as the run's {steps} steps, got {number} phases")
        return [1] * number
    share = steps // number
    return [share] * (number - 1) + [steps - share * (number - 1)]


def _with_schedules(draft: Draft, train: Train, spans: list[Span], examples: int, length: ScheduleLength) -> Draft:
    """Fill in the schedule of each phase for its length, where it stands in the variant."""
    if (lr := draft.lr) is None:
        return draft

    def fill_in(schedule: Schedule, span: Span, prefix: str) -> Schedule:
        return length.fill_in(schedule, span.steps, examples / (span.batch_size * train.accumulate_batches), prefix)

    if not train.phases:
        return replace(draft, lr=fill_in(lr, spans[0], "lr."))
    phases = []
    for place, (phase, span) in enumerate(zip(train.phases, spans, strict=True)):
        prefix = f"train.phases[{place}].lr." if phase.lr else "lr."
        phases.append(replace(phase, lr=fill_in(phase.lr or lr, span, prefix)))
    return replace(draft, train=replace(train, phases=tuple(phases)))


def _list_phases(train: Train, network: Network, facts: Facts, spans: list[Span]) -> list[tuple[int, float]]:
    """Return of each phase the batch size on a machine, and the share of the outputs that waits for its gradients."""
    phases = train.phases or (Phase(WHOLE_RUN),)
    most = max(_outputs_kept(phase) for phase in phases)
    return [
        (
            max(1, span.batch_size // train.workers),
            facts.kept_share(phase.trainable or train.trainable, network) * (_outputs_kept(phase) / most),
        )
        for span, phase in zip(spans, phases, strict=True)
    ]


def _outputs_kept(phase: Phase) -> float:
    return OUTPUTS_IN_EIGHT_BITS if phase.quantize else 1.0


def _buffers(
    need: MemoryNeed | None, split: Split, phases: list[tuple[int, float]], problems: Problems
) -> Buffers | None:
    if need is None:
        return None
    largest, most_kept = max(batch for batch, _ in phases), max(batch * share for batch, share in phases)
    load = replace(need.load, activation_bytes=int(need.load.activation_bytes * most_kept / largest))
    try:
        held = buffers(need.memory, load, split, largest, need.limits)
    except OutOfRange as error:
        problems.add_refusal("memory.", error)
        return None
    return of_largest_phase(held, load, phases, need.limits)
