#!/usr/bin/python3
"""Throughput of labs and of cuSPARSE's best on pruned layers, problem by problem, and its share of the fp32 peak."""
import suite
from suite import plt
from cases import legend_beside, said

NAMED = 16  # up to so many problems have their name below them


def draw(data):
    called = data.graphs("all")
    place = {name: i for i, name in enumerate(called)}
    peak = data.points("limits", "peak")["fp32"]
    published = data.points("limits", "published")
    widths = sorted((panel for panel in data.panels() if panel != "limits"), key=int)
    figure, axes = plt.subplots(len(widths), 1, figsize=(suite.WIDTH, 1.2 + 1.8 * len(widths)), sharex=True,
                                sharey=True, squeeze=False, constrained_layout=True)
    for N, ax in zip(widths, axes[:, 0]):
        labs = [int(who) for who in data.series(N) if who != "best"]

        def throughput(who, shift=0.0):
            own = data.points(N, who)
            return [place[name] + shift for name in own], list(own.values())

        for i, lab in enumerate(labs):
            ax.plot(*throughput(lab, 0.14 * (i - (len(labs) - 1) / 2)), **{
                **suite.dot(lab), "label": f"lab {lab}: {said(data.mean(N, lab))}"})
        ax.plot(*throughput("best"), **suite.VENDOR_DOT, label="cuSPARSE's best")
        ax.axhline(published["best"] / 100 * peak, color="black", linewidth=0.8, linestyle=(0, (6, 3)),
                   label=f"{data.word('published')}:\n{published['best']:g} % of its peak;\n"
                   f"geomean {published['fp32']:g}")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_ylabel("throughput, TFLOP/s")
        share = ax.secondary_yaxis("right", functions=(lambda y: 100 * y / peak, lambda y: y * peak / 100))
        share.yaxis.set_major_formatter("{x:g}")
        share.set_ylabel("% of the fp32 peak")
        legend_beside(ax, f"N = {N}: geomean over\ncuSPARSE's best, ahead", 1.12)
    axes[-1, 0].set_xticks([], [])
    if len(place) <= NAMED:
        axes[-1, 0].set_xticks(list(place.values()), [label.replace("\\n", "\n") for label in called.values()],
                               rotation=40, ha="right", fontsize=6)
    empty = data.word("empty")
    axes[-1, 0].set_xlabel("layers, by nonzeros" + (f" ({empty} without any left out)" if empty != "0" else ""))
    return figure


suite.drawn(draw)
