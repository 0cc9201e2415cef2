#!/usr/bin/python3
"""How long the rows of the 13 graphs are: the share of rows with at least so many nonzeros."""
import os

import suite
from suite import plt

COLUMNS = 5
DATASETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "datasets")
# What a table of datasets/standins says that its lengths come from.
LOOKS = {"histogram": {"linestyle": "-", "color": "black", "label": "the graph's published histogram"},
         "lognormal": {"linestyle": (0, (3, 1)), "color": "black",
                       "label": "a log-normal law with the graph's published mean (histogram unknown)"}}


def draw(results):
    tables = {name: _table(path) for name, path in _paths()}
    height = -(-len(tables) // COLUMNS)
    figure, grid = plt.subplots(height, COLUMNS, figsize=(suite.WIDTH, 1.5 * height), sharex=True, sharey=True,
                                constrained_layout=True)
    for place, ax in enumerate(grid.flat):
        ax.set(xscale="log", yscale="log", xticks=[1, 100, 10000], yticks=[1, 1e-2, 1e-4, 1e-6])
        ax.set_ylim(2e-9, 2)  # room for the text below the curves
        ax.minorticks_off()
        ax.tick_params(labelbottom=place + COLUMNS >= len(tables))
        if place >= len(tables):
            ax.set_axis_off()
    for ax, (name, (law, bins)) in zip(grid.flat, tables.items()):
        total = left = sum(rows for *_, rows, _ in bins)
        longest = max(own for _, own, *_ in bins)
        mean = sum(nonzeros for *_, nonzeros in bins) / total
        lengths, shares = [], []
        for length, _, rows, _ in bins:
            if length:
                lengths.append(length)
                shares.append(left / total)
            left -= rows
        empty = 100 * (1 - shares[0])
        ax.plot(lengths, shares, linewidth=1.2, **LOOKS[law])
        ax.set_title(name, fontsize=8)
        ax.text(0.03, 0.02, f"mean {mean:.3g}\nlongest {longest}" + (f"\nempty {empty:.2g}%" if empty else ""),
                va="bottom", fontsize=6.5, transform=ax.transAxes)
    figure.supxlabel("nonzeros a row, at least", fontsize=8)
    figure.supylabel("share of rows", fontsize=8)
    suite.legend(figure, *grid.flat)
    results.note("row lengths of datasets/standins/*.txt; their headers tell what is known of each graph")
    return figure


def _paths():
    """The graphs of datasets/registry.tsv and their tables."""
    with open(os.path.join(DATASETS, "registry.tsv"), encoding="utf-8") as stream:
        for line in stream:
            cell = line.split("\t")
            if not line.startswith("#") and cell[1] == "graphs":
                yield cell[0], os.path.join(DATASETS, cell[5])


def _table(path):
    """The law of the lengths, and the bins: shortest and longest length, rows, their nonzeros."""
    law, bins = None, []
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            cell = line.split()
            if cell[0] == "lengths":
                law = cell[1]
            elif cell[0].isdigit():
                bins.append(tuple(int(number) for number in cell[:4]))
    return law, bins


suite.main(draw)
