#!/usr/bin/python3
"""What fp16 brings on the RNN problems: labs 8 and 99 over cuSPARSE's best in fp16, and over the fastest lab in fp32.

Drawn by matplotlib: four panels share the places of the problems, which stand in groups."""
import suite
from suite import plt
from cases import rnn_axis, rnn_panel, rnn_places


def draw(data):
    panels = [panel for panel in data.panels() if panel != "published"]
    panels = [panel for kind in ("best", "fp32") for panel in panels if panel.startswith(kind)]
    names = {name for panel in panels for lab in data.series(panel) for name in data.points(panel, lab)}
    place, labels = rnn_places(names)
    published = data.points("published", "published").values()
    figure, axes = plt.subplots(len(panels), 1, figsize=(suite.WIDTH, 1.45 * len(panels)), sharex=True,
                                constrained_layout=True)
    for ax, panel in zip(axes, panels):
        if panel.startswith("best"):
            rnn_panel(ax, data, panel, place, "cuSPARSE's best in fp16", "cuSPARSE", published)
        else:
            rnn_panel(ax, data, panel, place, "the fastest lab in fp32", "the fastest lab", [])
    rnn_axis(axes[-1], labels)
    return figure


suite.drawn(draw)
