#!/usr/bin/python3
"""The RNN problems: speedup of labs over cuSPARSE's best and default algorithm, cell by cell, and geomeans."""
import cases
import suite
from suite import plt
from cases import legend_beside, mark_behind, mark_published, rnn_places, summary

LABS = [5, 6, 7, 10]
VENDORS = {"best": "cuSPARSE's best", "default": "cuSPARSE's default"}


def draw(results):
    rows = results.rows("spmm-rnn.csv", **suite.PLAIN)
    published = results.published("E2.5")
    times = {N: cases.times([row for row in rows if int(row["N"]) == N])
             for N in sorted({int(row["N"]) for row in rows})}
    figure, axes = plt.subplots(len(VENDORS) * len(times), 1, figsize=(suite.WIDTH, 1.45 * len(VENDORS) * len(times)),
                                sharex=True, constrained_layout=True)
    place, labels = rnn_places({row["dataset"] for row in rows})
    panels = iter(axes)
    whole = []
    for vendor, title in VENDORS.items():
        every = {}
        for N, of in times.items():
            ax = next(panels)
            for lab in [lab for lab in LABS if lab in of]:
                speedup = suite.ratios(of[vendor], of[lab])
                every.setdefault(lab, {}).update({(name, N): ratio for name, ratio in speedup.items()})
                ax.plot([place[name] for name in speedup], list(speedup.values()),
                        **{**suite.dot(lab), "label": f"lab {lab}: {summary(speedup)}"})
            mark_published(ax, published)
            ax.set_yscale("log")
            suite.plain_ticks(ax.yaxis, 1, 2, 5)
            mark_behind(ax, "cuSPARSE ahead")
            ax.set_ylabel(f"speedup over\n{title}", fontsize=7)
            ax.grid(False, axis="x")
            legend_beside(ax, f"N = {N}: geomean, ahead")
        whole.append(f"{title}: " + "; ".join(f"lab {lab} {summary(speedup)}" for lab, speedup in every.items()))
    axes[-1].set_xticks(*labels, fontsize=7)
    axes[-1].set_xlabel("hidden size and cell; of each from left to right 70, 80 and 90 % zeros")
    figure.suptitle("all problems, geomean and ahead, over " + "\nover ".join(whole), fontsize=7)
    return figure


suite.main(draw)
