#!/usr/bin/python3
"""The worst error of each lab and of the vendor's libraries over the bound it is checked against, over all rows."""
import statistics

import suite
from suite import plt
from cases import short

# What the vendor rounds on the way is granted so many times the bound, as a power of two, and is no match for a
# lab's (common/baselines/sums_rounded.h and cublas.c).
WIDER = {"TF32": 13, "fp16": 13, "bf16": 16}


def draw(results):
    groups = {}
    for row in results.rows("spmm*.csv", status="ok"):
        if row["worst_error"]:
            groups.setdefault(_group(row), []).append((float(row["worst_error"]), row["dataset"]))
    order = sorted(groups)
    figure, ax = plt.subplots(figsize=(suite.WIDTH, 0.6 + 0.23 * len(order)), constrained_layout=True)
    for y, group in enumerate(order):
        worst, dataset = max(groups[group])
        lab = group[1]
        ax.barh([y], [worst], 0.7, **({"color": suite.COLOURS[lab], "edgecolor": "black", "linewidth": 0.4}
                                      if lab else suite.VENDOR))
        median = statistics.median(error for error, _ in groups[group])
        ax.text(1.02, y, f"{worst:.3f}, {short(dataset)}; median {median:.3f} of {len(groups[group])} rows",
                va="center", fontsize=7)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_xlim(0, 1)
    ax.set_xlabel("worst error, share of the bound; on the right where")
    ax.set_yticks(range(len(order)), [_label(*group) for group in order], fontsize=7)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.grid(False, axis="y")
    return figure


def _group(row):
    """(whether a vendor's, lab, library, place among precisions, precision): sorts labs before libraries."""
    precision = "TF32" if "TF32" in row["contender"] else row["precision"]
    place = ["fp32", "TF32", "fp16", "bf16"].index(precision)
    if row["lab"] != "0":
        return False, int(row["lab"]), "", place, precision
    return True, 0, row["contender"].split()[0].removesuffix("Lt"), place, precision


def _label(vendor, lab, library, _, precision):
    if not vendor:
        return f"lab {lab}, {precision}"
    return f"{library}, {precision}" + (f" (bound x $2^{{{WIDER[precision]}}}$)" if precision in WIDER else "")


suite.main(draw)
