import re
import string
from random import Random

import pytest

from bakeoff.foundation import name_groups
from bakeoff.foundation.errors import ConfigError, OutOfRange
from bakeoff.foundation.name_groups import find_groups, require_one_group
from support.messages import missing_in

ENDLESS = ["(a+)+$", "/(?:ab?|b?a)+(b)$", "(?:a*a*a*a*a*a*a*a*a*)(b)c", "((?:a?){40}a{40})b"]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_that_never_ends_is_refused_by_its_key(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_groups, "LONGEST_S", 1.0)
    with pytest.raises(ConfigError) as error:
        find_groups("data.split.group", pattern, [f"images/{'a' * 60}!{number}.jpg" for number in range(9)])
    assert missing_in(str(error.value), "data.split.group", "9 names", repr(pattern)) == []
    assert len(str(error.value).splitlines()) == 1


def test_groups_are_those_of_pythons_own_search() -> None:
    random = Random(3)
    letters = string.ascii_lowercase[:4] + "_0189.é\ud800\n"
    names = ["".join(random.choices(letters, k=random.randrange(20))) for _ in range(300)]
    for pattern in (r"^(.+?)_\d+", r"(?<=a)(b*)", r"(\w)\1", r"^x|(\d+)", "(?i)(AB|C+)"):
        matches = [re.search(pattern, name) for name in names]
        assert find_groups("key", pattern, names) == [match[1] if match else None for match in matches]


def test_no_names_have_no_groups() -> None:
    assert find_groups("key", "(a)", []) == []


@pytest.mark.parametrize("pattern", ["a", "(a)(b)", "(", "(a{99999999999})", f"({'a' * 1000})"])
def test_a_pattern_without_exactly_one_group_or_of_many_letters_is_refused(pattern: str) -> None:
    with pytest.raises(OutOfRange):
        require_one_group("group", pattern)
