#!/usr/bin/python3
"""How far from the gather limit: the time it takes to fetch a row of B anew for every nonzero."""
import dots
import suite
from suite import plt


def draw(data):
    widths = data.panels()
    figure, grid = plt.subplots(1, len(widths), figsize=(suite.WIDTH, 3.4), sharex=True, sharey=True, squeeze=False,
                                constrained_layout=True)
    for N, ax in zip(widths, grid[0]):
        graphs = data.graphs(N)
        ax.set_xscale("log")
        for who in data.series(N):
            own, mean = data.points(N, who), data.mean(N, who)
            if who == "best":
                dots.points(ax, graphs, own, mean, label="cuSPARSE's best", **suite.VENDOR_DOT)
            else:
                dots.points(ax, graphs, own, mean, int(who), **suite.dot(int(who)))
        ax.axvline(1, color="black", linewidth=0.8, zorder=1)
        dots.lines(ax, graphs)
        ax.set_title(f"N = {N}")
        ax.set_xlabel("time over the gather limit\n(below 1: fetched rows of B are used again)")
    suite.plain_ticks(grid[0][0].xaxis, 1, 1.5, 2, 3, 5, 7)
    suite.legend(figure, *grid[0])
    return figure


suite.drawn(draw)
