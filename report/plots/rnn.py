#!/usr/bin/python3
"""The RNN problems: speedup of labs over cuSPARSE's best and default algorithm, cell by cell, and geomeans."""
import textwrap

import cases
import suite
from suite import plt
from cases import rnn_axis, rnn_panel, rnn_places, summary

LABS = [5, 6, 7, 12, 21, 99]
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
            speedups = {lab: suite.ratios(of[vendor], of[lab]) for lab in LABS if lab in of}
            for lab, speedup in speedups.items():
                every.setdefault(lab, {}).update({(name, N): ratio for name, ratio in speedup.items()})
            rnn_panel(next(panels), N, place, speedups, title, "cuSPARSE", published)
        whole.append(f"{title}: " + "; ".join(f"lab {lab} {summary(speedup)}" for lab, speedup in every.items()))
    rnn_axis(axes[-1], labels)
    figure.suptitle("all problems, geomean and ahead, over " + "\nover ".join(
        textwrap.fill(line, 110) for line in whole), fontsize=7)
    return figure


suite.main(draw)
