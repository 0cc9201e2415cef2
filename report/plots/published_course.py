#!/usr/bin/python3
"""Labs 1 to 5 beside the course report they come from: speedups over cuSPARSE, here and as published (E1.7, E1.8)."""
import dots
import suite
from suite import plt

EXPERIMENTS = {32: "E1.7", 256: "E1.8"}  # by N
COURSE = [1, 2, 3, 4, 5]
OVER = {"default": "cuSPARSE's default", "best": "cuSPARSE's best"}


def speedups(rows):
    """Of published rows: {experiment: {graph: speedup over the cuSPARSE of the day}}"""
    seconds = {}
    for row in rows:
        if row["quantity"] == "time_s":
            seconds.setdefault((row["experiment"], row["setting"]), {})[row["matrix"]] = row["value"]
    return {experiment: suite.ratios(seconds[experiment, "cuSPARSE"], seconds[experiment, "final"])
            for experiment in EXPERIMENTS.values()}


def draw(results):
    published = results.published(*EXPERIMENTS.values())
    theirs = speedups(published)
    figure, grid = plt.subplots(len(EXPERIMENTS), len(OVER), figsize=(suite.WIDTH, 6.2), sharex="row", sharey="row",
                                constrained_layout=True)
    for (N, experiment), line in zip(EXPERIMENTS.items(), grid):
        rows = results.rows("spmm.csv", N=N, lab=[0] + COURSE, **suite.PLAIN)
        graphs = suite.names(rows)
        times = suite.times(rows)
        ours = {whose: {lab: suite.ratios(times[whose], times[lab]) for lab in COURSE} for whose in OVER}
        farthest = max(value for own in [theirs[experiment], *ours["default"].values()] for value in own.values())
        for ax, (whose, said) in zip(line, OVER.items()):
            ax.set_xlim(0, 1.08 * farthest)
            dots.vendor_side(ax)
            dots.lines(ax, graphs)
            published_mean = dots.points(ax, graphs, theirs[experiment], label=suite.published_on(published),
                                         **suite.PUBLISHED_DOT)
            for lab, own in ours[whose].items():
                mean = dots.points(ax, graphs, own, lab, **suite.dot(lab))
            if mean and published_mean:
                ax.set_title(f"mean: lab {lab} {mean:.2f}, published {published_mean:.2f}")
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_xlabel(f"times as fast as {said}\nN = {N}; grey: cuSPARSE is faster")
    suite.legend(figure, *grid.flat)
    return figure


suite.main(draw)
