#!/usr/bin/python3
"""Kernels with and without lab 10's row swizzle, on pruned layers: speed in % of the fastest.

Drawn by matplotlib: a table of numbers on grey, with headings of layers, takes gnuplot one label after another."""
import suite
from suite import plt
from cases import ORDERS


def draw(data):
    layers = {layer: data.graphs(layer) for layer in data.panels("graph")}
    places = {name: i for i, name in enumerate(name for of_layer in layers.values() for name in of_layer)}
    kernels = data.series("speed")
    names = [line.split() for line in kernels]
    share = []
    for line in kernels:
        own, mean = data.points("speed", line), data.mean("speed", line)
        share.append([own.get(name, float("nan")) for name in places] + [mean[0] if mean else float("nan")])

    figure, ax = plt.subplots(figsize=(suite.WIDTH, 0.8 + 0.22 * len(kernels)), constrained_layout=True)
    ax.imshow(share, cmap="Greys", vmin=20, vmax=190, aspect="auto")
    for y, line in enumerate(share):
        for x, part in enumerate(line):
            if part == part:  # not NaN: was tried
                ax.text(x, y, f"{part:.0f}", ha="center", va="center", fontsize=7,
                        weight="bold" if part >= 99.5 else "normal")
    ax.grid(False)
    ax.set_yticks(range(len(kernels)), [f"lab {lab}: {name}, {ORDERS[order]}" for lab, name, order in names])
    ax.set_xticks(range(len(places) + 1), [kind for of_layer in layers.values() for kind in of_layer.values()] +
                  ["geomean"], rotation=40, ha="right", fontsize=7)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    first = 0
    for title, of_layer in layers.items():
        ax.text(first + (len(of_layer) - 1) / 2, -0.6, suite.lines(title), ha="center", va="bottom", fontsize=7)
        first += len(of_layer)
        ax.axvline(first - 0.5, color="white", linewidth=3)
    for y in range(1, len(kernels)):
        if names[y][0] != names[y - 1][0]:
            ax.axhline(y - 0.5, color="white", linewidth=3)
    figure.suptitle(f"speed, % of that of the fastest kernel of the layer, B of {data.word('N')} columns; "
                    "empty: not tried", fontsize=8)
    return figure


suite.drawn(draw)
