#!/usr/bin/python3
"""How long the rows of the 13 graphs are: the share of rows with at least so many nonzeros.

Drawn by matplotlib: a grid of 13 panels on shared axes."""
import suite
from suite import plt

COLUMNS = 5
# The words of datasets/standins for where its lengths come from.
LOOKS = {"histogram": {"linestyle": "-", "color": "black", "label": "the graph's published histogram"},
         "lognormal": {"linestyle": (0, (3, 1)), "color": "black",
                       "label": "a log-normal law with the graph's published mean (histogram unknown)"}}


def draw(data):
    graphs = data.graphs("all")
    height = -(-len(graphs) // COLUMNS)
    figure, grid = plt.subplots(height, COLUMNS, figsize=(suite.WIDTH, 1.5 * height), sharex=True, sharey=True,
                                constrained_layout=True)
    for place, ax in enumerate(grid.flat):
        ax.set(xscale="log", yscale="log", xticks=[1, 100, 10000], yticks=[1, 1e-2, 1e-4, 1e-6])
        ax.set_ylim(2e-9, 2)  # room for the text below the curves
        ax.minorticks_off()
        ax.tick_params(labelbottom=place + COLUMNS >= len(graphs))
        if place >= len(graphs):
            ax.set_axis_off()
    for ax, (name, law) in zip(grid.flat, graphs.items()):
        share = data.points(name, "share")
        ax.plot([int(length) for length in share], list(share.values()), linewidth=1.2, **LOOKS[law])
        ax.set_title(name, fontsize=8)
        ax.text(0.03, 0.02, data.word(name), va="bottom", fontsize=6.5, transform=ax.transAxes)
    figure.supxlabel("nonzeros a row, at least", fontsize=8)
    figure.supylabel("share of rows", fontsize=8)
    suite.legend(figure, *grid.flat)
    return figure


suite.drawn(draw)
