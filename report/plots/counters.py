#!/usr/bin/python3
"""What the CPU backend counted of the labs' kernels, graph by graph: a panel a counter.

Drawn by matplotlib: ten panels share axes of unequal widths, which gnuplot would want placed one by one."""
import suite
from suite import plt

COUNTERS = {"sectors": "sectors a request\nof loads", "lanes": "lanes active,\n%", "hits": "L1 hit rate,\n%",
            "dram": "DRAM bytes over\ncompulsory", "warp": "longest warp\nover mean"}
LOGARITHMIC = ["dram", "warp"]


def draw(data):
    graphs = {N: data.graphs(N) for N in data.panels("graph")}
    labs = sorted({int(lab) for panel in data.panels() for lab in data.series(panel)})
    figure, axes = plt.subplots(len(COUNTERS), len(graphs), figsize=(suite.WIDTH, 1.15 * len(COUNTERS) + 0.6),
                                sharex="col", sharey="row", squeeze=False, constrained_layout=True,
                                gridspec_kw={"width_ratios": [len(of) + 1 for of in graphs.values()]})
    for column, (N, called) in enumerate(graphs.items()):
        place = {name: i for i, name in enumerate(called)}
        for ax, counter in zip(axes[:, column], COUNTERS):
            for i, lab in enumerate(labs):
                own = data.points(f"{counter} {N}", lab)
                ax.plot([place[name] + 0.16 * (i - (len(labs) - 1) / 2) for name in own], list(own.values()),
                        **{**suite.dot(lab), "markersize": 4})
            if counter in LOGARITHMIC:
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter("{x:g}")
                ax.axhline(1, color="black", linewidth=0.8)
        axes[0, column].set_title(f"N = {N}", fontsize=8)
        axes[-1, column].set_xticks(range(len(called)), called.values(), rotation=40, ha="right", fontsize=7)
    for (counter, title), ax in zip(COUNTERS.items(), axes[:, 0]):
        ax.set_ylabel(title, fontsize=7)
        if counter not in LOGARITHMIC:
            ax.set_ylim(0, None)
    figure.suptitle("counted by the CPU backend", fontsize=8)
    suite.legend(figure, axes[0, 0])
    return figure


suite.drawn(draw)
