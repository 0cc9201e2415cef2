#!/usr/bin/python3
"""SDDMM beside SpMM: the time of K dot products' features over that of as many columns, graph by graph.

Drawn by matplotlib: four panels share axes and one legend."""
import dots
import suite
from suite import plt

WIDEST = 20  # times beyond so many times SpMM's are left out
GOAL = 1.1


def draw(data):
    widths = data.panels()
    figure, grid = plt.subplots(1, len(widths), figsize=(suite.WIDTH, 3.6), sharex=True, sharey=True, squeeze=False,
                                constrained_layout=True)
    for K, ax in zip(widths, grid[0]):
        graphs = data.graphs(K)
        over = {who: data.points(K, who) for who in data.series(K)}
        ax.set_xscale("log")
        ax.set_xlim(min([0.5] + [ratio for own in over.values() for ratio in own.values()]) / 1.2, WIDEST)
        for who, own in over.items():
            if who == "best":
                dots.points(ax, graphs, own, data.mean(K, who), label="cuSPARSE's best SDDMM", **suite.VENDOR_DOT)
            else:
                dots.points(ax, graphs, own, data.mean(K, who), int(who), **suite.dot(int(who)))
        ax.axvline(1, color="black", linewidth=0.8, zorder=1)
        ax.axvline(GOAL, color="black", linewidth=0.8, linestyle=(0, (6, 3)), zorder=1, label=f"the goal, {GOAL}")
        dots.lines(ax, graphs)
        mean = data.mean(K, 99)
        ax.set_title(f"K = {K}" + (f"\nlab 99: {mean[0]:.2f}" if mean else ""))
        suite.plain_ticks(ax.xaxis, 1, 2, 5)
    figure.supxlabel(f"time over that of lab 99's SpMM of K columns; above: geometric mean of its SDDMM (beyond {WIDEST}: not shown)", fontsize=8)
    suite.legend(figure, *grid[0])
    return figure


suite.drawn(draw)
