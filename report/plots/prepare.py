#!/usr/bin/python3
"""What preparing a matrix costs, and how many products it takes until that is earned back from cuSPARSE's best."""
import statistics

import suite
from suite import plt

LITTLE_MS = 0.02  # labs that prepare less than this, in the median, are named but not drawn


def draw(results):
    rows = [row for row in results.rows("spmm.csv", **suite.PLAIN) if suite.time_of(row)]
    called = suite.names(rows)
    place = {name: i for i, name in enumerate(called)}
    labs = sorted({int(row["lab"]) for row in rows} - {0})
    little = [lab for lab in labs if LITTLE_MS > statistics.median(
        suite.number(row, "prepare_ms") for row in rows if int(row["lab"]) == lab)]
    labs = [lab for lab in labs if lab not in little]
    widths = sorted({int(row["N"]) for row in rows})
    figure, axes = plt.subplots(2, len(widths), figsize=(suite.WIDTH, 4.6), sharex=True, sharey="row", squeeze=False,
                                constrained_layout=True)
    for N, (above, below) in zip(widths, axes.T):
        own = [row for row in rows if int(row["N"]) == N]
        best = {row["dataset"]: row for row in own if row["lab"] == "0" and row["contender"] == row["vendor_best"]}
        for i, lab in enumerate(labs):
            ours = {row["dataset"]: row for row in own if int(row["lab"]) == lab}
            earned = {name: suite.number(row, "prepare_ms") / (suite.time_of(best[name]) - suite.time_of(row))
                      for name, row in ours.items()
                      if name in best and suite.time_of(row) < suite.time_of(best[name])}
            shift = 0.18 * (i - (len(labs) - 1) / 2)
            above.plot([place[name] + shift for name in ours],
                       [suite.number(row, "prepare_ms") for row in ours.values()], **suite.dot(lab))
            below.plot([place[name] + shift for name in earned], list(earned.values()), **suite.dot(lab))
        above.plot([place[name] for name in best], [suite.number(row, "prepare_ms") for row in best.values()],
                   **suite.VENDOR_DOT, label="cuSPARSE's best, its preprocess")
        above.set_title(f"N = {N}", fontsize=8)
        below.axhline(1, color="black", linewidth=0.8)
        for ax in (above, below):
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
            ax.set_xticks(range(len(called)), called.values(), rotation=60, ha="right", fontsize=7)
    axes[0, 0].set_ylabel("prepare, ms")
    axes[1, 0].set_ylabel("products until it is earned back\n(none: behind cuSPARSE's best)")
    if little:
        figure.suptitle(f"labs {', '.join(map(str, little))} prepare next to nothing: in the median below "
                        f"{LITTLE_MS} ms", fontsize=7)
    suite.legend(figure, axes[0, 0])
    return figure


suite.main(draw)
