#!/usr/bin/python3
"""Kernels with and without lab 10's row swizzle, on pruned layers: speed in % of the fastest."""
import suite
from suite import plt
from cases import KERNELS, ORDERS, kernel


def draw(results):
    times, layers = {}, {}
    rows = results.rows("spmm-swizzle-ablation.csv", status="ok")
    for row in rows:
        of = times.setdefault(kernel(row), {})
        of[row["dataset"]] = min(suite.time_of(row), of.get(row["dataset"], suite.time_of(row)))
        layer, pruning, _ = row["dataset"].split(".", 1)[1].rsplit("-", 2)
        layers.setdefault(f"{layer}\n{row['rows']} x {row['cols']}", {})[row["dataset"]] = pruning
    kernels = [(name, order) for name in KERNELS for order in ORDERS if (name, order) in times]
    names = [name for of_layer in layers.values() for name in of_layer]
    prunings = [pruning for of_layer in layers.values() for pruning in of_layer.values()]
    fastest = {name: min(times[one][name] for one in kernels if times[one].get(name)) for name in names}
    share = []
    for one in kernels:
        line = [100 * fastest[name] / times[one][name] if times[one].get(name) else float("nan")
                for name in names]
        share.append(line + [suite.geomean(line)])

    figure, ax = plt.subplots(figsize=(suite.WIDTH, 0.8 + 0.22 * len(kernels)), constrained_layout=True)
    ax.imshow(share, cmap="Greys", vmin=20, vmax=190, aspect="auto")
    for y, line in enumerate(share):
        for x, part in enumerate(line):
            if part == part:  # not NaN: was tried
                ax.text(x, y, f"{part:.0f}", ha="center", va="center", fontsize=7,
                        weight="bold" if part >= 99.5 else "normal")
    ax.grid(False)
    ax.set_yticks(range(len(kernels)), [f"{KERNELS[name][1]}, {ORDERS[order]}" for name, order in kernels])
    ax.set_xticks(range(len(names) + 1), prunings + ["geomean"], rotation=40, ha="right", fontsize=7)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    first = 0
    for title, of_layer in layers.items():
        ax.text(first + (len(of_layer) - 1) / 2, -0.6, title, ha="center", va="bottom", fontsize=7)
        first += len(of_layer)
        ax.axvline(first - 0.5, color="white", linewidth=3)
    for y in range(1, len(kernels)):
        if kernels[y][0] != kernels[y - 1][0]:
            ax.axhline(y - 0.5, color="white", linewidth=3)
    figure.suptitle(f"speed, % of that of the fastest kernel of the layer, B of {rows[0]['N']} columns; "
                    "empty: not tried", fontsize=8)
    return figure


suite.main(draw)
