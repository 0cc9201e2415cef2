#!/usr/bin/python3
"""SDDMM and density: which lab is the fastest at which density and K, and times of one layer against its zeros."""
import suite
from suite import plt
import cases

FILES = ["sddmm.csv", "sddmm-rnn.csv", "sddmm-sparsity.csv", "sddmm-dlmc-like.csv"]
LAYER = "sddmm-sparsity.csv"
CHOOSES = 99  # has no kernel of its own
ASIDE = 1.06  # problems of one density and K stand above and below each other


def draw(results):
    figure, (above, below) = plt.subplots(2, 1, figsize=(suite.WIDTH, 5.6), constrained_layout=True)
    _winners(above, results)
    _layer(below, results.rows(LAYER, **suite.PLAIN))
    for ax in (above, below):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure


def _density(row):
    """Nonzeros, % of all elements."""
    return 100 * int(row["nnz"]) / (int(row["rows"]) * int(row["cols"]))


def _apart(at):
    """{problem: (density, K)}, those that would hide each other moved apart."""
    groups = {}
    for key, (density, K) in at.items():
        groups.setdefault((f"{density:.2g}", K), []).append(key)
    return {key: (at[key][0], at[key][1] * ASIDE ** (i - (len(keys) - 1) / 2))
            for keys in groups.values() for i, key in enumerate(keys)}


def _winners(ax, results):
    fastest = {}
    for file in FILES:
        try:
            rows = results.rows(file, **suite.PLAIN)
        except suite.Missing:
            continue
        for row in rows:
            lab, time = int(row["lab"]), suite.time_of(row)
            key = row["dataset"], row["N"]
            if time and lab not in (0, CHOOSES) and (key not in fastest or time < fastest[key][0]):
                fastest[key] = time, lab, _density(row), int(row["N"])
    if not fastest:
        raise suite.Missing(f"no times of labs in {', '.join(FILES)}")
    at = _apart({key: (density, K) for key, (*_, density, K) in fastest.items()})
    for lab in sorted({lab for _, lab, *_ in fastest.values()}):
        own = [at[key] for key in fastest if fastest[key][1] == lab]
        ax.plot(*zip(*own), **{**suite.dot(lab), "label": f"lab {lab}: {len(own)} of {len(fastest)}"})
    widths = sorted({K for *_, K in fastest.values()})
    ax.set_xscale("log")
    ax.set_yscale("log", base=2)
    ax.set_yticks(widths, [str(K) for K in widths])
    ax.set_yticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("density, % (graphs on the left, weights on the right)")
    ax.set_ylabel("K")
    ax.set_title("the fastest lab of each problem")


def _layer(ax, rows):
    zeros = {row["dataset"]: 100 - _density(row) for row in rows}

    def line(times):
        return zip(*sorted((zeros[dataset], 1000 * ms) for dataset, ms in times.items()))

    times = cases.times(rows)
    for lab in sorted(who for who in times if isinstance(who, int)):
        ax.plot(*line(times[lab]), **cases.line(lab))
    ax.plot(*line(times["best"]), color="black", linestyle="--", linewidth=1.2, label="cuSPARSE's best")
    dense = {}
    for row in rows:
        if row["contender"].endswith("(dense)") and suite.time_of(row):
            dense[row["dataset"]] = min(suite.time_of(row), dense.get(row["dataset"], suite.time_of(row)))
    if dense:
        ax.plot(*line(dense), color="black", linestyle="-.", linewidth=1.2, label="dense and sampled,\ncuBLAS")
    ax.set_yscale("log")
    suite.plain_ticks(ax.yaxis, 1, 2, 5)
    ax.set_xlabel(f"zeros, % of {rows[0]['rows']} x {rows[0]['cols']} weights; K = {rows[0]['N']}")
    ax.set_ylabel("median time, us")


suite.main(draw, "make bench PLAN=sddmm")
