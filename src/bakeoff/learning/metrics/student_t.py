"""How far Student's t distribution reaches, for intervals: scipy.special has it too, and takes 0.2 seconds to load.

student_reach(9, 0.95) -> 2.262: between -2.262 and 2.262 lie 95 % of a t with nine degrees of freedom.
"""

import math
from functools import cache
from statistics import NormalDist

MANY = 1000  # degrees of freedom from which on the expansion around the normal distribution is exact to the last digits
NEARLY = 1e-15


@cache
def student_reach(freedom: int, share: float) -> float:
    """Return the distance from 0 within which that share of the distribution lies, for 1, 2, ... degrees of freedom."""
    z = NormalDist().inv_cdf((1 + share) / 2)
    reach = _expand(z, freedom)
    if freedom >= MANY:
        return reach
    # Newton's method on the angle, which has ends where the reach has none: share -> angle is steep, but never flat.
    angle = math.atan(reach / math.sqrt(freedom))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) * 2 / math.sqrt(math.pi)
    for _ in range(100):
        step = (_share_within(angle, freedom) - share) / (scale * math.cos(angle) ** (freedom - 1))
        angle = min(max(angle - step, angle / 2), (angle + math.pi / 2) / 2)
        if abs(step) <= NEARLY * angle:
            break
    return math.sqrt(freedom) * math.tan(angle)


def _expand(z: float, freedom: int) -> float:
    """Abramowitz and Stegun, 26.7.5."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def _share_within(angle: float, freedom: int) -> float:
    """Return the share between -t and t, for the angle whose tangent is t over the root of the degrees of freedom.

    Abramowitz and Stegun, 26.7.3 and 26.7.4: a finite sum.
    """
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2
    term, terms = (cosine, []) if is_odd else (1.0, [])
    for number in range(1 + is_odd, freedom, 2):
        terms.append(term)
        term *= cosine * cosine * number / (number + 1)
    total = sine * math.fsum(terms)
    return (angle + total) * 2 / math.pi if is_odd else total
