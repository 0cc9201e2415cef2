#!/usr/bin/python3
"""What is left of a balanced matrix's throughput as row lengths vary, with the row swizzle and without, for each
kernel."""
import suite
from suite import plt
from cases import KERNELS, ORDERS, kernel, line, mark_published

LOOKS = {"0": {"linestyle": "--", "markerfacecolor": "white", "markeredgewidth": 0.8}, "1": {},
         "4096": {"linestyle": ":", "linewidth": 0.8, "markersize": 2}}


def draw(results):
    found = {}
    for row in results.rows("spmm-swizzle-cov.csv", status="ok"):
        name, order = kernel(row)
        fastest = found.setdefault(name, {}).setdefault(order, {})
        cov = float(row["cov_row"])
        fastest[cov] = max(suite.number(row, "gflops"), fastest.get(cov, 0))
    kernels = [name for name in KERNELS if name in found]
    figure, axes = plt.subplots(1, len(kernels), figsize=(suite.WIDTH, 2.5), sharey=True, squeeze=False,
                                constrained_layout=True)
    retained = results.published("E2.3")
    for name, ax in zip(kernels, axes[0]):
        lab, title = KERNELS[name]
        balanced = min(found[name]["0"].items())[1]
        for order, label in ORDERS.items():
            fastest = dict(sorted(found[name].get(order, {}).items()))
            ax.plot(list(fastest), [100 * gflops / balanced for gflops in fastest.values()],
                    **line(lab, **{"markeredgecolor": suite.COLOURS[lab], "label": f"rows {label}", **LOOKS[order]}))
        mark_published(ax, retained, " %, swizzled")
        ax.set_title(f"{title}\n100 % = {balanced / 1000:.1f} TFLOP/s", fontsize=7)
    figure.supxlabel("CoV of row lengths", fontsize=plt.rcParams["axes.labelsize"])
    axes[0][0].set_ylim(0, None)
    axes[0][0].set_ylabel("throughput, % of that of rows\nof one length, as they come")
    suite.legend(figure, axes[0][-1], fontsize=7)
    return figure


suite.main(draw)
