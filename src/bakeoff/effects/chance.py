"""How often chance alone makes a ratio of variances so large: the F distribution, in place of a library to load."""

import math

STEPS, SMALLEST, NEAR = 1000, 1e-300, 1e-14


def chance_of_ratio(ratio: float, upper: int, lower: int) -> float:
    """P(F >= ratio), F with so many degrees of freedom above and below."""
    if ratio <= 0:
        return 1.0
    if math.isinf(ratio):
        return 0.0
    return _incomplete_beta(lower / (lower + upper * ratio), lower / 2, upper / 2)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised, by its continued fraction on the side where that converges quickly."""
    if x <= 0.0 or x >= 1.0:
        return min(1.0, max(0.0, x))
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(1.0 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d1 / (1 + d2 / (1 + …)), from the front (Lentz): numerator and denominator by their ratios."""
    value = above = 1.0
    below = 0.0
    for step in range(1, STEPS):
        half = step // 2
        if step % 2:
            part = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            part = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        below = 1.0 / _not_zero(1.0 + part * below)
        above = _not_zero(1.0 + part / above)
        value *= above * below
        if abs(above * below - 1.0) < NEAR:
            break
    return value


def _not_zero(number: float) -> float:
    return number if abs(number) > SMALLEST else SMALLEST
