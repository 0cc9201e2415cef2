#!/usr/bin/python3
"""The measured ceilings of the machine and where each lab stands below them: the real graphs, and the layer of a
recurrent network on which lab 99 has the highest rate."""
import gather
import suite
from suite import plt

GRAPHS = ["arxiv", "ddi"]
INTENSITY = (0.7, 100)  # flop a byte: the axis


def draw(results):
    limits = results.limits()
    narrow, wide = (results.rows("spmm.csv", dataset=GRAPHS, origin="real", N=N, **suite.PLAIN) for N in (32, 256))
    fastest = max(results.peek("spmm-rnn.csv", lab=99, N=128, status="ok", **suite.PLAIN),
                  key=lambda row: suite.number(row, "gflops"))
    layer = results.rows("spmm-rnn.csv", dataset=fastest["dataset"], N=128, **suite.PLAIN)

    figure, (left, right) = plt.subplots(1, 2, figsize=(suite.WIDTH, 4.4), sharex=True, sharey=True,
                                         constrained_layout=True)
    for ax, title, problems in ((left, "N = 32", [narrow]),
                                (right, f"N = 256, {fastest['dataset']} at 128", [wide, layer])):
        _ceilings(ax, limits)
        for rows in problems:
            _columns(ax, limits, rows)
        ax.set_title(title)
        ax.set_xlabel("flop a compulsory byte\n(labs are drawn left and right of their place)")
    left.set_ylabel("GFLOP/s")
    suite.legend(figure, left, handlelength=1)
    return figure


def _ceilings(ax, limits):
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(INTENSITY)
    ax.set_ylim(0.2, 2e5)
    ax.xaxis.set_major_formatter("{x:g}")
    peak, copy = limits["fp32_gflops"], limits["copy_gbs"]
    low, high = INTENSITY
    ax.plot([low, peak / copy, high], [low * copy, peak, peak], color="black", linewidth=1)
    if "l2_read_gbs" in limits:
        level2 = limits["l2_read_gbs"]
        ax.plot([low, peak / level2], [low * level2, peak], color="black", linewidth=0.6, linestyle="--",
                label="reading L2")
    ax.text(high, peak * 1.1, f"fp32 {peak / 1000:.1f} TFLOP/s", ha="right", va="bottom", fontsize=7)
    ax.text(low * 1.1, low * copy * 5, f"copy {copy / 1000:.2f} TB/s", ha="left", va="bottom", fontsize=7)


def _columns(ax, limits, rows):
    """The labs and the vendor on the problems of `rows`: on each one above the other, at its flop a byte."""
    times = suite.times(rows)
    flops, x, roof = {}, {}, {}  # of a problem; flops in millions
    for row in rows:
        if suite.time_of(row):
            flops[row["dataset"]] = suite.number(row, "gflops") * suite.time_of(row)
            x[row["dataset"]] = suite.number(row, "gflops") / suite.number(row, "compulsory_gbs")
            roof[row["dataset"]] = flops[row["dataset"]] / gather.limit_ms(limits, row)
    for problem, name in suite.names(rows).items():
        ax.plot([x[problem] / 1.25, x[problem] * 1.25], [roof[problem]] * 2, color="black", linewidth=1.5,
                label="gather limit")
        lowest = flops[problem] / max(own[problem] for own in times.values() if problem in own)
        ax.text(x[problem], lowest / 1.5, name, rotation=90, ha="center", va="top", fontsize=7)
    for who in ["best"] + [lab for lab in suite.LABS if lab in times]:
        style = {"label": "cuSPARSE's best", **suite.VENDOR_DOT} if who == "best" else suite.dot(who)
        own = times[who]
        aside = 1 if who == "best" else 1.07 ** suite.side(who)
        ax.plot([x[problem] * aside for problem in own], [flops[problem] / own[problem] for problem in own], **style)


suite.main(draw)
