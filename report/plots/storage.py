#!/usr/bin/python3
"""What formats for pruned 16-bit weights take, and what that allows a product: formulas, of common/ops/storage.c."""
import os

import suite
from suite import plt
from cases import ROOT


def _look(lab, **more):
    return {"color": suite.COLOURS[lab], "marker": suite.MARKERS[lab], **more}


LOOKS = {  # name of the format: label, look
    "dense": ("dense", {"color": "black", "linestyle": ":"}),
    "CSR": ("CSR", {"color": "#666666", "linestyle": "-.", "marker": "o"}),
    "Tiled-CSL": ("Tiled-CSL", {"color": "#666666", "linestyle": "--", "marker": "s"}),
    "SparTA": ("SparTA", {"color": "#666666", "linestyle": (0, (3, 1, 1, 1, 1, 1)), "marker": "^"}),
    "TCA-BME": ("TCA-BME, lab 9", _look(9, linestyle="-")),
    "lane": ("lane-major, lab 20", _look(20, linestyle="--")),
    "optimum": ("values alone", {"color": "black", "linestyle": "-"}),
}


def draw(results):
    rows = suite.Results(os.path.join(ROOT, "report")).rows("storage.csv")
    columns = {"compression_ratio": "bytes of the dense matrix over the format's",
               "flop_per_byte": f"FLOP a byte, B of {rows[0]['N']} columns"}
    figure, axes = plt.subplots(1, 2, figsize=(suite.WIDTH, 3.4), constrained_layout=True)
    for ax, (column, title) in zip(axes, columns.items()):
        for i, (name, (label, look)) in enumerate(LOOKS.items()):
            own = [row for row in rows if row["format"] == name]
            even = 100 * float(own[0]["break_even_sparsity"])
            said = f"{label}: {even:.1f} %" if even > 0 else label
            ax.plot([100 * float(row["sparsity"]) for row in own], [suite.number(row, column) for row in own],
                    **{"linewidth": 1.2, "markersize": 4, "markevery": (i, 8), "label": said, **look})
            if even > 0 and column == "compression_ratio":
                ax.plot([even], [1], "o", markersize=8, markerfacecolor="none", markeredgecolor="black")
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xlabel(f"zeros, % of {rows[0]['rows']} x {rows[0]['cols']} elements")
        ax.set_ylabel(title)
    axes[0].legend(title="smaller than dense from (o)", alignment="left", fontsize=7, title_fontsize=7)
    results.note("by formula (labstat --storage), nothing measured; elements are left independently of each other")
    return figure


suite.main(draw, "make storage")
