#!/usr/bin/python3
"""SDDMM beside SpMM: the time of K dot products' features over that of as many columns, graph by graph."""
import dots
import suite
from suite import plt

LABS = [31, 32, 33, 99]
WIDEST = 20  # times beyond so many times SpMM's are left out
GOAL = 1.1


def draw(results):
    rows = results.rows("sddmm.csv", **suite.PLAIN)
    beside = results.rows("spmm-beside-sddmm.csv", lab=99, **suite.PLAIN)
    widths = sorted({row["N"] for row in rows} & {row["N"] for row in beside}, key=int)
    if not widths:
        raise suite.Missing("no width that both sddmm.csv and spmm-beside-sddmm.csv have")
    graphs = suite.names(rows)
    figure, grid = plt.subplots(1, len(widths), figsize=(suite.WIDTH, 3.6), sharex=True, sharey=True, squeeze=False,
                                constrained_layout=True)
    for K, ax in zip(widths, grid[0]):
        times = suite.times([row for row in rows if row["N"] == K])
        spmm = suite.times([row for row in beside if row["N"] == K])[99]
        over = {who: suite.ratios(own, spmm) for who, own in times.items()}
        ax.set_xscale("log")
        ax.set_xlim(min([0.5] + [ratio for own in over.values() for ratio in own.values()]) / 1.2, WIDEST)
        if "best" in over:
            dots.points(ax, graphs, over["best"], label="cuSPARSE's best SDDMM", **suite.VENDOR_DOT)
        for lab in (lab for lab in LABS if lab in over):
            dots.points(ax, graphs, over[lab], lab, **suite.dot(lab))
        ax.axvline(1, color="black", linewidth=0.8, zorder=1)
        ax.axvline(GOAL, color="black", linewidth=0.8, linestyle=(0, (6, 3)), zorder=1, label=f"the goal, {GOAL}")
        dots.lines(ax, graphs)
        ax.set_title(f"K = {K}" + (f"\nlab 99: {suite.geomean(over[99].values()):.2f}" if over.get(99) else ""))
        suite.plain_ticks(ax.xaxis, 1, 2, 5)
    figure.supxlabel(f"time over that of lab 99's SpMM of K columns; above: geometric mean of its SDDMM (beyond {WIDEST}: not shown)", fontsize=8)
    suite.legend(figure, *grid[0])
    return figure


suite.main(draw, "make bench PLAN=sddmm")
