#!/usr/bin/python3
"""What preparing a matrix costs, and how many products it takes until that is earned back from cuSPARSE's best.

Drawn by matplotlib: four panels share axes by row and by column."""
import suite
from suite import plt


def draw(data):
    called = data.graphs("all")
    place = {name: i for i, name in enumerate(called)}
    widths = sorted({panel.split()[1] for panel in data.panels()}, key=int)
    figure, axes = plt.subplots(2, len(widths), figsize=(suite.WIDTH, 4.6), sharex=True, sharey="row", squeeze=False,
                                constrained_layout=True)
    for N, (above, below) in zip(widths, axes.T):
        labs = [int(lab) for lab in data.series(f"prepare {N}") if lab != "best"]
        for i, lab in enumerate(labs):
            shift = 0.18 * (i - (len(labs) - 1) / 2)
            for ax, panel in ((above, f"prepare {N}"), (below, f"earned {N}")):
                own = data.points(panel, lab)
                ax.plot([place[name] + shift for name in own], list(own.values()), **suite.dot(lab))
        best = data.points(f"prepare {N}", "best")
        above.plot([place[name] for name in best], list(best.values()), **suite.VENDOR_DOT,
                   label="cuSPARSE's best, its preprocess")
        above.set_title(f"N = {N}", fontsize=8)
        below.axhline(1, color="black", linewidth=0.8)
        for ax in (above, below):
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
            ax.set_xticks(range(len(called)), called.values(), rotation=60, ha="right", fontsize=7)
    axes[0, 0].set_ylabel("prepare, ms")
    axes[1, 0].set_ylabel("products until it is earned back\n(none: behind cuSPARSE's best)")
    if data.word("little"):
        figure.suptitle(data.word("little"), fontsize=7)
    suite.legend(figure, axes[0, 0])
    return figure


suite.drawn(draw)
