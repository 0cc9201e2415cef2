#!/usr/bin/python3
"""Lab 9's first kernel: time against the number of blocks that share a row of groups, and the dense product."""
import suite
from suite import plt
from cases import line, settings

HOLLOW = {"markerfacecolor": "white", "markeredgewidth": 0.8, "markeredgecolor": suite.COLOURS[9]}
LOOKS = [{}, {"linestyle": "--", **HOLLOW}, {"linestyle": ":"}, {"linestyle": "-.", **HOLLOW}]  # of shapes


def draw(results):
    lines = {}
    for row in results.rows("spmm-lab9-split.csv", contender="bitmap_fp16"):
        if suite.time_of(row):
            shape = row["dataset"].removeprefix("llm.").split("-")[0]
            times = lines.setdefault((row["dataset"], row["N"]), (shape, {}))[1]
            times[int(settings(row)["SPLIT"])] = 1000 * suite.time_of(row)
    figure, ax = plt.subplots(figsize=(0.65 * suite.WIDTH, 2.8), constrained_layout=True)
    for i, ((dataset, N), (shape, times)) in enumerate(lines.items()):
        look = LOOKS[i % len(LOOKS)]
        best = min(times, key=times.get)
        ax.plot(*zip(*sorted(times.items())), **line(9, **{
            "markersize": 6, "label": f"lab 9, {shape}, N = {N}:\nbest {times[best]:.0f} us at {best}", **look}))
        dense = _dense(results, dataset, N)
        if dense:
            ax.axhline(dense, color="black", linewidth=1, linestyle=look.get("linestyle", "-"),
                       label=f"cuBLAS, dense, {shape}:\n{dense:.0f} us")
    ax.set_ylim(0, None)
    ax.set_xlabel("SPLIT: blocks that share a row of groups")
    ax.set_ylabel("median time, us (L2 flushed)")
    ax.set_xticks(sorted({split for _, times in lines.values() for split in times}))
    figure.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure


def _dense(results, dataset, N):
    """us of the fastest dense product of the same matrix, or None: it was not measured."""
    try:
        rows = results.rows("spmm-llm*.csv", dataset=dataset, N=N, lab="0", l2="cold")
    except suite.Missing:
        return None
    return min((1000 * suite.time_of(row) for row in rows if suite.time_of(row)), default=None)


suite.main(draw)
