import numpy as np

from bakeoff.learning.metrics.score import average_known


def test_mean_of_arrays_passes_over_what_has_no_number() -> None:
    nan = np.nan
    means = average_known([np.array([1.0, nan, nan]), np.array([3.0, 5.0, nan])])
    np.testing.assert_array_equal(means, [2.0, 5.0, nan])
