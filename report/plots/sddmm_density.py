#!/usr/bin/python3
"""SDDMM and density: which lab is the fastest at which density and K, and times of one layer against its zeros."""
import suite
from suite import plt
import cases

ASIDE = 1.06  # problems of one density and K stand above and below each other


def draw(data):
    figure, (above, below) = plt.subplots(2, 1, figsize=(suite.WIDTH, 5.6), constrained_layout=True)
    _winners(above, data)
    _layer(below, data)
    for ax in (above, below):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure


def _apart(problems):
    """{problem: (density, K)} of {"K DATASET": density}, those that would hide each other moved apart."""
    groups = {}
    for name, density in problems.items():
        groups.setdefault((f"{density:.2g}", int(name.split()[0])), []).append(name)
    return {name: (problems[name], K * ASIDE ** (i - (len(names) - 1) / 2))
            for (_, K), names in groups.items() for i, name in enumerate(names)}


def _winners(ax, data):
    problems = data.points("problems", "density")
    at = _apart(problems)
    for lab in sorted(map(int, data.series("winners"))):
        own = [at[name] for name in data.points("winners", lab)]
        ax.plot(*zip(*own), **{**suite.dot(lab), "label": f"lab {lab}: {len(own)} of {len(problems)}"})
    widths = sorted({int(name.split()[0]) for name in problems})
    ax.set_xscale("log")
    ax.set_yscale("log", base=2)
    ax.set_yticks(widths, [str(K) for K in widths])
    ax.set_yticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("density, % (graphs on the left, weights on the right)")
    ax.set_ylabel("K")
    ax.set_title("the fastest lab of each problem")


def _layer(ax, data):
    looks = {"best": {"color": "black", "linestyle": "--", "linewidth": 1.2, "label": "cuSPARSE's best"},
             "dense": {"color": "black", "linestyle": "-.", "linewidth": 1.2, "label": "dense and sampled,\ncuBLAS"}}
    for who in data.series("layer"):
        ax.plot(*zip(*((float(zeros), us) for zeros, us in data.points("layer", who).items())),
                **(looks.get(who) or cases.line(int(who))))
    ax.set_yscale("log")
    suite.plain_ticks(ax.yaxis, 1, 2, 5)
    ax.set_xlabel(f"zeros, % of {data.word('layer')}")
    ax.set_ylabel("median time, us")


suite.drawn(draw)
