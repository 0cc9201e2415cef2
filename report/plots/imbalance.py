#!/usr/bin/python3
"""What is left of a balanced matrix's throughput as row lengths vary, with the row swizzle and without, for each
kernel.

Drawn by matplotlib: six panels, as many as there are kernels, share one axis and one legend."""
import suite
from suite import plt
from cases import ORDERS, line

LOOKS = {"0": {"linestyle": "--", "markerfacecolor": "white", "markeredgewidth": 0.8}, "1": {},
         "4096": {"linestyle": ":", "linewidth": 0.8, "markersize": 2}}


def draw(data):
    kernels = [panel for panel in data.panels() if panel != "published"]
    figure, axes = plt.subplots(1, len(kernels), figsize=(suite.WIDTH, 2.5), sharey=True, squeeze=False,
                                constrained_layout=True)
    for kernel, ax in zip(kernels, axes[0]):
        lab, name = kernel.split()
        for order, label in ORDERS.items():
            share = data.points(kernel, order)
            ax.plot([float(cov) for cov in share], list(share.values()), **line(int(lab), **{
                "markeredgecolor": suite.COLOURS[int(lab)], "label": f"rows {label}", **LOOKS[order]}))
        for value in data.points("published", "published").values():
            ax.axhline(value, color="black", linewidth=0.8, linestyle=(0, (6, 3)), zorder=1,
                       label=f"{data.word('published')}: {value:g} %, swizzled")
        ax.set_title(f"lab {lab}: {name}\n{data.word(kernel)}", fontsize=7)
    figure.supxlabel("CoV of row lengths", fontsize=plt.rcParams["axes.labelsize"])
    axes[0][0].set_ylim(0, None)
    axes[0][0].set_ylabel("throughput, % of that of rows\nof one length, as they come")
    suite.legend(figure, axes[0][-1], fontsize=7)
    return figure


suite.drawn(draw)
