#!/usr/bin/python3
"""Time of one layer's product against its sparsity: labs, cuSPARSE's best, and the dense product, which does not
care. Where a lab gets ahead of the dense one for good is marked and said in the legend."""
import math

import suite
from suite import plt
import cases

# What the names of dense products begin with, longest first, and their lines.
DENSE = {"TF32": ("cuBLAS SGEMM TF32", ":"), "fp32": ("cuBLAS SGEMM", "-.")}


def draw(results):
    rows = results.rows("spmm-sparsity.csv", **suite.PLAIN)
    zeros = {row["dataset"]: 100 * (1 - int(row["nnz"]) / (int(row["rows"]) * int(row["cols"]))) for row in rows}

    def points(times):
        """[(% of zeros, us)], ascending."""
        return sorted((zeros[dataset], 1000 * ms) for dataset, ms in times.items())

    times = cases.times(rows)
    dense, which = _dense(rows)
    dense = {kind: points(own) for kind, own in dense.items()}
    figure, ax = plt.subplots(figsize=(suite.WIDTH, 4), constrained_layout=True)

    def plot(own, label, style):
        at = [_crossing(own, dense[kind]) for kind in dense]
        ax.plot(*zip(*own), **{**style, "label": f"{label}: {' / '.join(said for _, said in at)}"})
        for cross, _ in at:
            if cross:
                ax.plot(*cross, marker="o", markersize=7, markerfacecolor="none", markeredgecolor="black",
                        markeredgewidth=0.8)

    labs = sorted(who for who in times if isinstance(who, int))
    for lab in labs:
        plot(points(times[lab]), f"lab {lab}", cases.line(lab))
    plot(points(times["best"]), "cuSPARSE's best", {"color": "black", "linestyle": "--", "linewidth": 1.2})
    for kind, own in dense.items():
        ax.plot(*zip(*own), color="black", linestyle=DENSE[kind][1], linewidth=1.2,
                label=f"dense, cuBLAS {kind}" + (",\nB in the faster layout" if len(which[kind]) > 1 else ""))
    for row in results.published("E2.1"):
        ax.axvline(row["value"], color="#777777", linewidth=0.8, linestyle=(0, (6, 3)),
                   label=f"{suite.published_on([row])}:\nsparse ahead of fp32 from {row['value']:g} %")
    shown = [ms for who in times if who != 1 for ms in times[who].values()]
    ax.set_yscale("log")
    ax.set_ylim(None, 1300 * max(shown))
    slow = times.get(1, {}).values()
    if slow:
        ax.set_title(f"lab 1, nearly all above this range: {min(slow):.1f} to {max(slow):.1f} ms", fontsize=7,
                     loc="left")
    suite.plain_ticks(ax.yaxis, 1, 2, 5)
    ax.set_xlabel(f"zeros, % of {rows[0]['rows']} x {rows[0]['cols']} weights; B has {rows[0]['N']} columns")
    ax.set_ylabel("median time, us")
    ax.legend(title=f"ahead of dense {' / '.join(dense)}\nfrom (o):", alignment="left", loc="center left",
              bbox_to_anchor=(1.0, 0.5), fontsize=7, title_fontsize=7)
    return figure


def _dense(rows):
    """Of each kind {dataset: ms of the fastest layout of B}, and the names of the contenders."""
    fastest, which = {"fp32": {}, "TF32": {}}, {"fp32": set(), "TF32": set()}
    for row in rows:
        ms = suite.time_of(row)
        kind = next((kind for kind, (name, _) in DENSE.items() if row["contender"].startswith(name)), None)
        if not kind or not ms or not row["contender"].endswith("(dense)"):
            continue
        which[kind].add(row["contender"])
        fastest[kind][row["dataset"]] = min(ms, fastest[kind].get(row["dataset"], ms))
    return {kind: own for kind, own in fastest.items() if own}, which


def _crossing(points, other):
    """Where the line `points` is below `other` from there on, ((x, y) or None, what to say)."""
    common = [(x, y, dict(other)[x]) for x, y in points if x in dict(other)]
    behind = [i for i, (_, own, their) in enumerate(common) if own >= their]
    if not behind:
        return None, f"{common[0][0]:.0f} %, the least"
    if behind[-1] == len(common) - 1:
        return None, "never"
    (x0, own0, their0), (x1, own1, their1) = common[behind[-1]:behind[-1] + 2]
    gap0, gap1 = math.log(own0 / their0), math.log(own1 / their1)
    part = gap0 / (gap0 - gap1)
    return (x0 + part * (x1 - x0), their0 ** (1 - part) * their1 ** part), f"{x0 + part * (x1 - x0):.0f} %"


suite.main(draw)
