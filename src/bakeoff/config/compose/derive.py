"""A parsed variant + the records' manifest -> the variant with every number filled in that follows from them."""

from collections.abc import Callable
from dataclasses import replace

from bakeoff.config.compose.auto_batch import Choice, NothingFits
from bakeoff.config.compose.checks import Records, check
from bakeoff.config.compose.memory_plan import Buffers, Limits, Load, buffers
from bakeoff.config.compose.network_facts import Facts, stated_limits
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
from bakeoff.learning.plan.settings import Train, steps_for
from bakeoff.learning.run_file.parse import Problems


def resolve(
    draft: Draft,
    records: Records,
    problems: Problems,
    *,
    facts_of: Callable[[Network, int], Facts],
    is_set: Callable[[str], bool],
    limits_of: Callable[[Memory], Limits] = stated_limits,
    largest_batch: Callable[[Run, Load, Limits], Choice | None] | None = None,
) -> Run | None:
    """Return the whole variant, or None with every mistake noted that shows in what could be read of it.

    `limits_of` and `largest_batch` are what looks at the machine, and asked only where the variant says `auto`.
    """
    manifest = records.manifest
    fits = draft.model is not None and manifest is not None and draft.model.task == manifest.task
    facts = facts_of(draft.model, len(manifest.classes)) if draft.model and manifest and fits else None
    limits = limits_of(draft.memory) if draft.memory else None
    load, because = _load(draft, facts), "stated"
    if draft.train and draft.train.batch_size == "auto":
        draft = replace(draft, train=replace(draft.train, batch_size=1))
        if not (manifest and load and limits and largest_batch):
            check(draft, records, facts, [], problems, is_set)
            return None
        alone = Problems(lambda key: key)
        smallest = resolve(draft, records, alone, facts_of=facts_of, is_set=is_set, limits_of=lambda memory: limits)
        try:
            choice = largest_batch(smallest, load, limits) if smallest else None
        except NothingFits as error:
            _note_nothing_fits(draft, error.least_bytes, limits, problems)
            return None
        if choice and draft.train:
            because = choice.in_words(limits.bytes, _count_examples(draft.train, manifest))
            draft = replace(draft, train=replace(draft.train, batch_size=choice.batch_size))
            load = choice.measured(load)
    if draft.train and manifest:
        cut, reason = _cut_batches(draft.train, _count_examples(draft.train, manifest), problems)
        draft, because = replace(draft, train=cut), reason or because
    examples = _count_examples(draft.train, manifest) if draft.train and manifest else 0
    spans = _spans(draft.train, draft.lr, examples, problems) if draft.train and manifest else []
    if draft.train and draft.lr and spans:
        draft = _with_schedules(draft, draft.train, draft.lr, spans, examples, problems)
    held = None
    if draft.memory and manifest and limits and load and spans:
        largest = max(span.batch_size for span in spans) // (draft.train.workers if draft.train else 1)  # on a machine
        held = _buffers(draft.memory, load, manifest.splits[TRAIN], largest, limits, problems)
    check(draft, records, facts, spans, problems, is_set)
    if problems.lines or not (manifest and facts and held and limits and draft.train):
        return None
    return draft.whole(_derive(draft.train, manifest, spans, facts.parameters, because, limits, held))


def _derive(
    train: Train, manifest: Manifest, spans: list[Span], parameters: int, because: str, limits: Limits, held: Buffers
) -> Derived:
    last, examples = spans[-1], _count_examples(train, manifest)
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
        left_out_examples=manifest.splits[TRAIN].examples - examples,
    )


def _count_examples(train: Train, manifest: Manifest) -> int:
    """Return how many training examples the run learns from; they are what an epoch is."""
    return count_share(manifest.splits[TRAIN].examples, train.share)


def _note_nothing_fits(draft: Draft, least: int | None, limits: Limits, problems: Problems) -> None:
    budget = draft.memory.budget if draft.memory else ""
    needed = f"at least {-(-least // 10**6)}MB" if least and least > limits.bytes else "more"
    problems.add("memory.budget", f"must be {needed}, got {budget!r}; not even batches of 1 fit when tried")


def _cut_batches(train: Train, examples: int, problems: Problems) -> tuple[Train, str | None]:
    """Halve every batch that the training set cannot fill, as ftc-ml does. Return why the run's own is what it is."""

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
    own = cut(train.batch, "train.batch_size")
    because = f"stated as {train.batch}, cut by halves to what the set can fill" if own < train.batch else None
    return replace(train, batch_size=own, phases=phases), because


def _spans(train: Train, lr: Schedule | None, examples: int, problems: Problems) -> list[Span]:
    """Return the phases of the run, one after the other; none if its length cannot be told."""
    phases = [(phase.name, phase.steps, phase.epochs, phase.batch_size, phase.lr) for phase in train.phases] or [
        (WHOLE_RUN, train.steps, train.epochs, None, None)
    ]
    shares = _shares(train, examples, problems) if train.phases else None
    spans: list[Span] = []
    first_step = first_example = 0
    for place, (name, steps, epochs, own_batch, own_lr) in enumerate(phases):
        batch_size = own_batch or train.batch
        together = batch_size * train.accumulate_batches
        length = shares[place] if shares else steps_for(steps, epochs, examples=examples, batch_size=together)
        if train.round_up_steps:
            length = -(-length // train.checkpoint_every_steps) * train.checkpoint_every_steps
        schedule = own_lr or lr
        rate_factor = batch_factor(schedule, together) if schedule else 1.0
        spans.append(Span(name, first_step, length, first_example, batch_size, rate_factor))
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


def _with_schedules(
    draft: Draft, train: Train, lr: Schedule, spans: list[Span], examples: int, problems: Problems
) -> Draft:
    """Fill in the schedule of each phase for its length, where it stands in the variant."""

    def fill_in(schedule: Schedule, span: Span, prefix: str) -> Schedule:
        together = span.batch_size * train.accumulate_batches
        try:
            return schedule.over(span.steps, steps_per_epoch=examples / together)
        except OutOfRange as error:
            problems.add_refusal(prefix, error)
            return schedule

    if not train.phases:
        return replace(draft, lr=fill_in(lr, spans[0], "lr."))
    phases = []
    for place, (phase, span) in enumerate(zip(train.phases, spans, strict=True)):
        prefix = f"train.phases[{place}].lr." if phase.lr else "lr."
        phases.append(replace(phase, lr=fill_in(phase.lr or lr, span, prefix)))
    return replace(draft, train=replace(train, phases=tuple(phases)))


def _load(draft: Draft, facts: Facts | None) -> Load | None:
    if not (draft.model and draft.train and facts):
        return None
    return Load(
        pixels=draft.model.frames * draft.model.input_size**2,
        parameters=facts.parameters,
        variables=len(facts.variables),
        activation_bytes=facts.activation_bytes,
        slots=draft.optimizer.slots if draft.optimizer else 0,
        averaged=draft.train.ema_decay > 0,
        accumulates=draft.train.accumulate_batches > 1,
        images=1 + draft.train.augment.partners,
    )


def _buffers(
    memory: Memory, load: Load, train: Split, batch_size: int, limits: Limits, problems: Problems
) -> Buffers | None:
    try:
        return buffers(memory, load, train, batch_size, limits)
    except OutOfRange as error:
        problems.add_refusal("memory.", error)
        return None
