"""Any bytes in the place of a pipeline.config are carried over, or refused in lines that say what to mend."""

import pytest
from hypothesis import strategies as st

from bakeoff.importing.api_config.options import check_settings, import_pipeline
from support.api_files import TF1, TF2
from support.odd_inputs import edited, explore, few_or_many, is_read

TEXTS = [path.read_text("utf-8") for path in (TF1, TF2)]
LINES = sorted({line.strip() for text in TEXTS for line in text.splitlines() if ":" in line})
NUMBERS = ("0", "-1", "1e10", "1e-9", "1e38", "inf", "nan", "2147483647", "4294967295", "0.1", "true", "''", "[]", "{}")


def carry_over(source: bytes) -> None:
    check_settings(import_pipeline(source, "pipeline.config").settings, "pipeline.config")


def replace_values(text: str, pairs: list[tuple[str, str]]) -> bytes:
    for line, value in pairs:
        text = text.replace(line, f"{line.partition(':')[0]}: {value}")
    return text.encode()


other_values = st.builds(
    replace_values, st.sampled_from(TEXTS),
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(NUMBERS)), min_size=1, max_size=4),
)  # fmt: skip


@few_or_many
def test_any_text_is_carried_over_or_refused(number: int) -> None:
    texts = st.one_of(st.sampled_from(TEXTS).flatmap(edited), other_values, st.binary(max_size=200))
    explore(number, texts, carry_over, "pipeline.config")


@pytest.mark.parametrize("text", TEXTS, ids=["tf1", "tf2"])
def test_the_texts_themselves_are_carried_over(text: str) -> None:
    assert is_read(lambda: carry_over(text.encode()), "pipeline.config")
