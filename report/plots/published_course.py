#!/usr/bin/python3
"""Labs 1 to 5 beside the course report they come from: speedups over cuSPARSE, here and as published (E1.7, E1.8).

Drawn by matplotlib: four panels share axes by row and by column."""
import dots
import suite
from suite import plt

WIDTHS = [32, 256]
OVER = {"default": "cuSPARSE's default", "best": "cuSPARSE's best"}


def draw(data):
    published = data.word("published")
    figure, grid = plt.subplots(len(WIDTHS), len(OVER), figsize=(suite.WIDTH, 6.2), sharex="row", sharey="row",
                                constrained_layout=True)
    for N, line in zip(WIDTHS, grid):
        graphs, theirs = data.graphs(N), data.points(N, "published")
        ours = f"{N} default"
        farthest = max(value for own in [theirs, *(data.points(ours, lab) for lab in data.series(ours))]
                       for value in own.values())
        for ax, (whose, said) in zip(line, OVER.items()):
            panel = f"{N} {whose}"
            ax.set_xlim(0, 1.08 * farthest)
            dots.vendor_side(ax)
            dots.lines(ax, graphs)
            published_mean = dots.points(ax, graphs, theirs, data.mean(N, "published"), label=published,
                                         **suite.PUBLISHED_DOT)
            for lab in map(int, data.series(panel)):
                mean = dots.points(ax, graphs, data.points(panel, lab), data.mean(panel, lab), lab, **suite.dot(lab))
            if mean and published_mean:
                ax.set_title(f"mean: lab {lab} {mean:.2f}, published {published_mean:.2f}")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_xlabel(f"times as fast as {said}\nN = {N}; grey: cuSPARSE is faster")
    suite.legend(figure, *grid.flat)
    return figure


suite.drawn(draw)
