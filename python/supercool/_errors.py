"""Standard errors of means over independent runs."""

from __future__ import annotations

#: Runs from which on their scatter gives an error.
_FEWEST = 4


def of_scatter(values):
    """Mean over the runs, the first axis, and its standard error: the scatter over `R^(1/2)`, times `[(R - 1)/(R - 3)]^(1/2)`, as few
    runs know their scatter badly; NaN of fewer than four."""
    import numpy

    values = numpy.asarray(values, dtype=float)
    runs, mean = len(values), values.mean(0)
    if runs < _FEWEST:
        return mean, numpy.full_like(mean, numpy.nan)
    return mean, values.std(0, ddof=1) / runs**0.5 * ((runs - 1) / (runs - 3)) ** 0.5
