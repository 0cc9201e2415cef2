#!/usr/bin/python3
"""The RNN problems: speedup of labs over cuSPARSE's best and default algorithm, cell by cell, and geomeans.

Drawn by matplotlib: four panels share the places of the problems, which stand in groups."""
import textwrap

import suite
from suite import plt
from cases import rnn_axis, rnn_panel, rnn_places, said

VENDORS = {"best": "cuSPARSE's best", "default": "cuSPARSE's default"}


def draw(data):
    panels = [panel for panel in data.panels() if panel != "published"]
    published = data.points("published", "published").values()
    names = {name for panel in panels for lab in data.series(panel) for name in data.points(panel, lab)}
    figure, axes = plt.subplots(len(panels), 1, figsize=(suite.WIDTH, 1.45 * len(panels)), sharex=True,
                                constrained_layout=True)
    place, labels = rnn_places(names)
    for ax, panel in zip(axes, panels):
        rnn_panel(ax, data, panel, place, VENDORS[panel.split()[0]], "cuSPARSE", published)
    rnn_axis(axes[-1], labels)
    whole = [f"{title}: " + "; ".join(f"lab {lab} {said(data.mean(vendor, lab))}" for lab in data.series(panels[0]))
             for vendor, title in VENDORS.items()]
    figure.suptitle("all problems, geomean and ahead, over " + "\nover ".join(
        textwrap.fill(line, 110) for line in whole), fontsize=7)
    return figure


suite.drawn(draw)
