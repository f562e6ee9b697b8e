"""A parsed variant + the records' manifest -> the variant with every number filled in, checked across its keys."""

from dataclasses import replace

from bakeoff.config.parse import Problems
from bakeoff.config.run import Derived, Run
from bakeoff.errors import OutOfRange
from bakeoff.input.memory import RUNTIME_BYTES, Buffers
from bakeoff.lr import Schedule, batch_factor
from bakeoff.networks import NETWORKS
from bakeoff.records.manifest import Manifest, Split
from bakeoff.records.record import TRAIN, VALIDATION
from bakeoff.training.length import steps_for
from bakeoff.training.phases import WHOLE_RUN, Span


def resolve(run: Run, manifest: Manifest, problems: Problems) -> Run | None:
    """The variant with everything filled in that follows from the records, or None with every mistake noted."""
    train, validation = manifest.splits[TRAIN], manifest.splits[VALIDATION]
    if run.model.task != manifest.task:
        fitting = ", ".join(sorted(kind for kind, cls in NETWORKS.items() if cls.task == manifest.task))
        problems.add("model", f"{run.variant['model']!r} is for {run.model.task}, the records are for {manifest.task}; "
                              f"choose an option of kind {fitting}")  # fmt: skip
    spans = _spans(run, train.examples)
    filled = _with_schedules(run, spans, train.examples, problems)
    buffers = _buffers(run, max(span.batch_size for span in spans), train, problems)
    if problems.lines or buffers is None:
        return None
    derived = Derived(
        task=manifest.task,
        num_classes=len(manifest.classes),
        train_examples=train.examples,
        validation_examples=validation.examples,
        steps=spans[-1].end_step,
        epochs=round(_examples_until(run, spans[-1]) / train.examples, 3),
        phases=tuple(spans),
        prefetch_batches=buffers.prefetch_batches,
        decode_threads=buffers.decode_threads,
        memory_budget_bytes=run.memory.budget_bytes,
        memory_estimate_bytes=RUNTIME_BYTES + buffers.input_bytes,
    )
    return replace(filled, derived=derived)


def _spans(run: Run, examples: int) -> list[Span]:
    """The legs of the run, one after the other."""
    train = run.train
    legs = [(phase.name, phase.steps, phase.epochs, phase.batch_size, phase.lr) for phase in train.phases] or [
        (WHOLE_RUN, train.steps, train.epochs, None, None)
    ]
    spans: list[Span] = []
    first_step = first_example = 0
    for name, steps, epochs, own_batch, own_lr in legs:
        batch_size = own_batch or train.batch_size
        together = batch_size * train.accumulate_batches
        length = steps_for(steps, epochs, examples=examples, batch_size=together)
        rate_factor = batch_factor(own_lr or run.lr, together)
        spans.append(Span(name, first_step, length, first_example, batch_size, rate_factor))
        first_step += length
        first_example += length * together
    return spans


def _examples_until(run: Run, last: Span) -> int:
    return last.first_example + last.steps * last.batch_size * run.train.accumulate_batches


def _with_schedules(run: Run, spans: list[Span], examples: int, problems: Problems) -> Run:
    """With the schedule of each leg filled in for its length, where it stands in the variant."""

    def filled(schedule: Schedule, span: Span, prefix: str) -> Schedule:
        together = span.batch_size * run.train.accumulate_batches
        try:
            return schedule.over(span.steps, steps_per_epoch=examples / together)
        except OutOfRange as error:
            problems.refused(prefix, error)
            return schedule

    if not run.train.phases:
        return replace(run, lr=filled(run.lr, spans[0], "lr."))
    phases = []
    for place, (phase, span) in enumerate(zip(run.train.phases, spans, strict=True)):
        prefix = f"train.phases[{place}].lr." if phase.lr else "lr."
        phases.append(replace(phase, lr=filled(phase.lr or run.lr, span, prefix)))
    return replace(run, train=replace(run.train, phases=tuple(phases)))


def _buffers(run: Run, batch_size: int, train: Split, problems: Problems) -> Buffers | None:
    pixels = run.model.frames * run.model.input_size**2
    try:
        return run.memory.buffers(batch_size=batch_size, pixels=pixels, split=train)
    except OutOfRange as error:
        problems.refused("memory.", error)
        return None
