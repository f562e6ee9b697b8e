"""A table of runs -> trials, whose keys and first number are looked at for what moved it."""

from bakeoff.compare.contender import Contender
from bakeoff.compare.folded import FINISHED
from bakeoff.compare.metric import number_of
from bakeoff.compare.table import KEY, Table
from bakeoff.effects.trial import Question, Trial

RECORDS = "records"  # a column where they differ: then no number compares with another's of other records


def question_of(table: Table) -> Question | None:
    """None if nothing was measured."""
    if not table.metrics:
        return None
    keys = [column.name for column in table.columns if column.kind == KEY or column.name == RECORDS]
    first = table.metrics[0]
    return Question(tuple(keys), first.name, first.is_higher_better)


def trials_of(table: Table, question: Question) -> list[Trial]:
    """In the order of the table."""
    return [_trial(contender, question) for contender in table.contenders]


def _trial(contender: Contender, question: Question) -> Trial:
    known = {**contender.params, **({RECORDS: contender.records[:8]} if contender.records else {})}
    found = [number_of(one.metrics, question.metric) for one in contender.seeds or (contender,)]
    return Trial(
        contender.label,
        {key: known[key] for key in question.keys if key in known},
        tuple(number.value for number in found if number),
        contender.state,
        contender.state in (FINISHED, ""),
    )
