#!/usr/bin/python3
"""What is left of a balanced matrix's throughput as row lengths vary, with the row swizzle and without, for each
kernel that lab 10 chooses among."""
import suite
from suite import plt
from cases import FAMILIES, ORDERS, line, mark_published, settings

LOOKS = {"0": {"linestyle": "--", "markerfacecolor": "white", "markeredgewidth": 0.8}, "1": {},
         "4096": {"linestyle": ":", "linewidth": 0.8, "markersize": 2}}


def draw(results):
    found = {}
    for row in results.rows("spmm-lab10-cov.csv", status="ok"):
        chosen = settings(row)
        fastest = found.setdefault(chosen["FAMILY"], {}).setdefault(chosen["SWIZZLE"], {})
        cov = float(row["cov_row"])
        fastest[cov] = max(suite.number(row, "gflops"), fastest.get(cov, 0))
    families = [family for family in FAMILIES if family in found]
    figure, axes = plt.subplots(1, len(families), figsize=(suite.WIDTH, 2.5), sharey=True, squeeze=False,
                                constrained_layout=True)
    retained = results.published("E2.3")
    for family, ax in zip(families, axes[0]):
        lab, name = FAMILIES[family]
        balanced = min(found[family]["0"].items())[1]
        for order, label in ORDERS.items():
            fastest = dict(sorted(found[family].get(order, {}).items()))
            ax.plot(list(fastest), [100 * gflops / balanced for gflops in fastest.values()],
                    **line(lab, **{"markeredgecolor": suite.COLOURS[lab], "label": f"rows {label}", **LOOKS[order]}))
        mark_published(ax, retained, " %, swizzled")
        ax.set_title(f"{name}\n100 % = {balanced / 1000:.1f} TFLOP/s", fontsize=7)
    figure.supxlabel("CoV of row lengths", fontsize=plt.rcParams["axes.labelsize"])
    axes[0][0].set_ylim(0, None)
    axes[0][0].set_ylabel("throughput, % of that of rows\nof one length, as they come")
    suite.legend(figure, axes[0][-1], fontsize=7)
    return figure


suite.main(draw)
