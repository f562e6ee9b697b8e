import pytest
from scipy.special import stdtrit

from bakeoff.learning.metrics.intervals import student_reach


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("freedom", [*range(1, 40), 998, 999, 1000, 1001, 10**5, 10**8])
def test_reach_is_that_of_scipy(freedom: int, share: float) -> None:
    assert student_reach(freedom, share) == pytest.approx(stdtrit(freedom, (1 + share) / 2), rel=1e-12)


def test_reach_of_one_and_two_degrees_of_freedom_is_that_of_tables() -> None:
    assert student_reach(1, 0.95) == pytest.approx(12.7062, abs=1e-4)
    assert student_reach(2, 0.95) == pytest.approx(4.3027, abs=1e-4)
