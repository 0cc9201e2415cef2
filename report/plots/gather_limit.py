#!/usr/bin/python3
"""How far from the gather limit: the time it takes to fetch a row of B anew for every nonzero."""
import dots
import gather
import suite
from suite import plt

WIDTHS = [32, 256]
LABS = [5, 11, 99]


def draw(results):
    limits = results.limits()
    figure, grid = plt.subplots(1, len(WIDTHS), figsize=(suite.WIDTH, 3.4), sharex=True, sharey=True,
                                constrained_layout=True)
    for N, ax in zip(WIDTHS, grid):
        rows = results.rows("spmm.csv", N=N, lab=[0, *LABS], **suite.PLAIN)
        graphs = suite.names(rows)
        times = suite.times(rows)
        limit = {row["dataset"]: gather.limit_ms(limits, row) for row in rows if suite.time_of(row)}
        ax.set_xscale("log")
        _points(ax, graphs, suite.ratios(times["best"], limit), None, label="cuSPARSE's best", **suite.VENDOR_DOT)
        for lab in (lab for lab in LABS if lab in times):
            _points(ax, graphs, suite.ratios(times[lab], limit), lab, **suite.dot(lab))
        ax.axvline(1, color="black", linewidth=0.8, zorder=1)
        dots.lines(ax, graphs)
        ax.set_title(f"N = {N}")
        ax.set_xlabel("time over the gather limit\n(below 1: fetched rows of B are used again)")
    suite.plain_ticks(grid[0].xaxis, 1, 1.5, 2, 3, 5, 7)
    suite.legend(figure, *grid)
    return figure


def _points(ax, graphs, values, lab, **style):
    mean = (suite.geomean(values.values()), 0, len(values)) if values else None
    dots.points(ax, graphs, values, mean, lab, **style)


suite.main(draw)
