#!/usr/bin/python3
"""Each lab's speedup over the best cuSPARSE algorithm, graph by graph, and the geometric mean.

Drawn by matplotlib: each row of panels is one axis, cut into two scales."""
import dots
import suite
from suite import plt

# Most labs lie around 1, a few far behind on graphs of one long row: the axis is cut in two scales.
CUT = 1 / 10
TICKS = ([(1 / n, f"1/{n}") for n in (10000, 1000, 100, 20, 10, 4, 2)] +
         [(n, f"{n:g}") for n in (1, 1.5, 2, 3, 4, 6, 8, 12)])


def draw(data):
    widths = data.panels()
    every = [value for N in widths for lab in data.series(N) for value in data.points(N, lab).values()]
    scales = (min(every + [CUT / 10]) / 1.5, CUT), (CUT, max(every + [1]) * 1.15)

    figure, grid = plt.subplots(len(widths), 2, figsize=(suite.WIDTH, 6.4), sharey="row",
                                width_ratios=[1, 2.7], constrained_layout=True)
    figure.get_layout_engine().set(w_pad=0.01, wspace=0.01)
    for N, (far, near) in zip(widths, grid):
        graphs = data.graphs(N)
        for ax, (low, high) in zip((far, near), scales):
            ax.set_xscale("log")
            ax.set_xlim(low, high)
            ax.set_xticks(*zip(*(tick for tick in TICKS if low <= tick[0] < high)))
            ax.set_xticks([], minor=True)
            dots.vendor_side(ax)
            dots.lines(ax, graphs)
            for lab in map(int, data.series(N)):
                mean = dots.points(ax, graphs, data.points(N, lab), data.mean(N, lab), lab, **suite.dot(lab))
        dots.say_mean(near, graphs, mean)  # of the last lab
        near.spines["left"].set_visible(False)
        near.set_title(f"N = {N}; grey: cuSPARSE is faster")
        near.set_xlabel("times as fast as cuSPARSE's best algorithm")
    suite.legend(figure, *grid.flat)
    return figure


suite.drawn(draw)
