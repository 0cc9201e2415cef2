#!/usr/bin/python3
"""Throughput of labs and of cuSPARSE's best on pruned layers, problem by problem, and its share of the fp32 peak."""
import cases
import suite
from suite import plt
from cases import legend_beside, summary

LABS = [5, 6, 7, 99]
NAMED = 16  # up to so many problems have their name below them


def draw(results):
    rows = results.rows("spmm-dlmc.csv", **suite.PLAIN)
    empty = {row["dataset"] for row in rows if int(row["nnz"]) == 0}
    rows = [row for row in rows if row["dataset"] not in empty]
    shape = {row["dataset"]: row for row in rows}
    place = {name: i for i, name in enumerate(sorted(shape, key=lambda name: int(shape[name]["nnz"])))}
    peak = results.limits()["fp32_gflops"] / 1000
    published = {row["setting"]: row for row in results.published("E2.4")}
    widths = sorted({int(row["N"]) for row in rows})
    figure, axes = plt.subplots(len(widths), 1, figsize=(suite.WIDTH, 1.2 + 1.8 * len(widths)), sharex=True,
                                sharey=True, squeeze=False, constrained_layout=True)
    for N, ax in zip(widths, axes[:, 0]):
        times = cases.times([row for row in rows if int(row["N"]) == N])

        def throughput(who, shift=0.0):
            return [place[name] + shift for name in times[who]], \
                [2e-9 * int(shape[name]["nnz"]) * N / ms for name, ms in times[who].items()]

        labs = [lab for lab in LABS if lab in times]
        for i, lab in enumerate(labs):
            ax.plot(*throughput(lab, 0.14 * (i - (len(labs) - 1) / 2)), **{
                **suite.dot(lab), "label": f"lab {lab}: {summary(suite.ratios(times['best'], times[lab]))}"})
        ax.plot(*throughput("best"), **suite.VENDOR_DOT, label="cuSPARSE's best")
        ax.axhline(published["best"]["value"] / 100 * peak, color="black", linewidth=0.8, linestyle=(0, (6, 3)),
                   label=f"{suite.published_on([published['best']])}:\n{published['best']['value']:g} % of its peak;\n"
                   f"geomean {published['fp32']['value']:g}")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_ylabel("throughput, TFLOP/s")
        share = ax.secondary_yaxis("right", functions=(lambda y: 100 * y / peak, lambda y: y * peak / 100))
        share.yaxis.set_major_formatter("{x:g}")
        share.set_ylabel("% of the fp32 peak")
        legend_beside(ax, f"N = {N}: geomean over\ncuSPARSE's best, ahead", 1.12)
    axes[-1, 0].set_xticks([], [])
    if len(place) <= NAMED:
        axes[-1, 0].set_xticks(list(place.values()), [_label(shape[name]) for name in place], rotation=40, ha="right",
                               fontsize=6)
    axes[-1, 0].set_xlabel("layers, by nonzeros" + (f" ({len(empty)} without any left out)" if empty else ""))
    return figure


def _label(row):
    """Of transformer_magnitude_pruning_0.5_body_...: what, how pruned, shape and zeros."""
    model, how = row["dataset"].split("_")[:2]
    zeros = 100 * (1 - int(row["nnz"]) / (int(row["rows"]) * int(row["cols"])))
    return f"{model}, {how}\n{row['rows']} x {row['cols']}, {zeros:.0f} %"


suite.main(draw)
