"""`conf/card.yaml`: what only people know of a model and its data, such as their licences and what they are for.

{licence: apache-2.0, intended_use: Finds balls on the field of 2026., data_licence: cc-by-4.0}
"""

import re
from dataclasses import dataclass

from bakeoff.foundation import workspace
from bakeoff.foundation.errors import require
from bakeoff.learning.run_file.parse import Problems, parse
from bakeoff.learning.run_file.yaml_file import read_document

FILE = workspace.CONF / "card.yaml"
UNKNOWN = "unknown"  # Hugging Face has it among its licences
IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.+-]*")


@dataclass(frozen=True)
class CardTexts:
    name: str | None = None  # of the model; none: that of the variant
    licence: str = UNKNOWN  # of the model, as Hugging Face names it: apache-2.0, cc-by-4.0, other
    authors: tuple[str, ...] = ()
    contact: str | None = None
    intended_use: str | None = None
    limits: str | None = None  # what it must not be used for, and where it is known to fail
    co2_per_kwh: float | None = None  # grams that one kWh of the power causes which the training used
    data_name: str | None = None
    data_licence: str = UNKNOWN
    data_origin: str | None = None  # who took the pictures, where, when and why, and who labelled them
    data_people: str | None = None  # whether people can be recognised in the pictures, and whether they agreed
    data_upkeep: str | None = None  # who corrects them, and where a mistake can be told

    def __post_init__(self) -> None:
        for key in ("licence", "data_licence"):
            value = getattr(self, key)
            require(bool(IDENTIFIER.fullmatch(value)), key, value, "an identifier such as apache-2.0, in small letters")
        require(self.co2_per_kwh is None or self.co2_per_kwh >= 0, "co2_per_kwh", self.co2_per_kwh, "grams, at least 0")


def load_texts() -> CardTexts:
    """Return what conf/card.yaml says; nothing where there is no such file."""
    if not FILE.is_file():
        return CardTexts()
    document = read_document(FILE)
    problems = Problems(lambda key: f"{FILE.as_posix()}:{document.lines.get((key.partition('.')[0],), 1)}")
    texts = parse(CardTexts, document.values, "", problems)
    problems.raise_any()
    assert isinstance(texts, CardTexts)
    return texts
