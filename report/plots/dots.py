"""Dot plots: a line for each graph and one for the geometric mean, a point for each lab."""

import math

import suite


def lines(ax, graphs):
    """The vertical axis for `graphs`, as suite.names gives them: the first on top, the mean last."""
    labels = list(graphs.values()) + ["geometric mean"]
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.axhline(len(graphs) - 0.5, color="black", linewidth=0.5)
    for label in ax.get_yticklabels()[-1:]:  # none where an axis shares its neighbour's
        label.set_fontweight("bold")


def points(ax, graphs, values, mean=None, lab=None, **style):
    """A point for each graph that `values` has, and their mean (of Data.mean), which is returned, if it is of all.
    What lies outside of the axis is not drawn, what lies on its border is drawn whole. Of a lab they stand a little
    above the line or below."""
    at = [(x, y) for y, x in enumerate(values.get(graph) for graph in graphs) if x is not None]
    mean = mean[0] if mean and mean[2] == len(graphs) else None
    if mean:
        at.append((mean, len(graphs)))
    low, high = ax.get_xlim() if not ax.get_autoscalex_on() else (0, math.inf)
    at = [(x, y) for x, y in at if low <= x < high]
    aside = 0.17 * suite.side(lab) if lab else 0
    line, = ax.plot([x for x, _ in at], [y + aside for _, y in at], clip_on=False, **style)
    line.set_in_layout(False)  # a line without points would reach for the corner of the figure
    return mean


def say_mean(ax, graphs, mean):
    """The mean as a number, right of its point."""
    if mean:
        ax.annotate(f"{mean:.2f}", (mean, len(graphs)), xytext=(5, 0), textcoords="offset points",
                    va="center_baseline")


def vendor_side(ax):
    """Marks where a speedup is below 1: the vendor is faster."""
    ax.axvspan(ax.get_xlim()[0], min(1, ax.get_xlim()[1]), color=suite.VENDOR_WINS, linewidth=0, zorder=0)
    ax.axvline(1, color="black", linewidth=0.8, zorder=1)
