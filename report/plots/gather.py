"""The gather limit: what it takes to fetch a row of B anew for every nonzero, as common/results/bound.h has it."""

import math

import suite


def bandwidth(limits, row_bytes, span_bytes):
    """GB/s of fetching random rows out of a span: at the nearest measured row, interpolated over the logarithm
    of the span."""
    points = limits["gather_gbs"]
    size = min((size for size, _ in points), key=lambda size: abs(math.log(size / row_bytes)))
    spans = sorted(span for own, span in points if own == size)
    span = min(max(span_bytes, spans[0]), spans[-1])
    below, above = max(own for own in spans if own <= span), min(own for own in spans if own >= span)
    if below == above:
        return points[size, above]
    at = math.log(span / below) / math.log(above / below)
    return points[size, below] + at * (points[size, above] - points[size, below])


def limit_ms(limits, row):
    """The time of gathering all rows of B of a measured row's problem, if nothing that was fetched is used twice."""
    row_bytes = 4 * suite.number(row, "N")
    gather_bytes = suite.number(row, "gather_gbs") * suite.time_of(row) * 1e6
    return gather_bytes / bandwidth(limits, row_bytes, row_bytes * suite.number(row, "cols")) * 1e-6
