#!/usr/bin/python3
"""What 16 bits bring: the fastest lab in fp32, and cuSPARSE's best in 16 bits, over lab 8 in fp16 and bf16."""
import suite
from suite import plt
from cases import mark_behind, mark_published

KINDS = {"fp16": ("spmm-fp16.csv", {}), "bf16": ("spmm-bf16.csv", {"hatch": "\\\\\\\\"})}
IN_FP32 = {"graphs": "spmm.csv", "weights": "spmm-rnn.csv"}
BAR = 0.4


def draw(results):
    narrow = {kind: results.rows(file, l2="warm", flags="") for kind, (file, _) in KINDS.items()}
    rows = [row for own in narrow.values() for row in own]
    groups = {"graphs": [], "weights": []}
    for name in dict.fromkeys(row["dataset"] for row in rows):
        groups["weights" if name.startswith("rnn.") else "graphs"].append(name)
    wide = [row for group, file in IN_FP32.items() if groups[group]
            for row in results.rows(file, dataset=groups[group], **suite.PLAIN)]
    places = {N: _places(groups, {row["dataset"] for row in rows if int(row["N"]) == N})
              for N in sorted({int(row["N"]) for row in rows})}
    figure, axes = plt.subplots(2, len(places), figsize=(suite.WIDTH, 4.6), sharex="col", sharey="row", squeeze=False,
                                constrained_layout=True,
                                gridspec_kw={"width_ratios": [max(place.values()) + 1 for place in places.values()]})
    published = [row for row in results.published("E2.4") if row["setting"] == "mixed"]
    for (N, place), (above, below) in zip(places.items(), axes.T):
        fp32 = suite.times([row for row in wide if int(row["N"]) == N])
        labs = [of for who, of in fp32.items() if isinstance(who, int)]
        fastest = {name: min(of[name] for of in labs if name in of) for name in place
                   if any(name in of for of in labs)}
        for i, (kind, (_, style)) in enumerate(KINDS.items()):
            times = suite.times([row for row in narrow[kind] if int(row["N"]) == N])
            for ax, other in ((above, fastest), (below, times.get("best", {}))):
                speedup = suite.ratios(other, times.get(8, {}))
                for group, members in groups.items():
                    own = [speedup[name] for name in members if name in speedup]
                    if own:
                        speedup[f"geomean, {group}"] = mean = suite.geomean(own)
                        ax.text(place[f"geomean, {group}"] + BAR * (i - 0.5), mean, f" {mean:.2f}", fontsize=6,
                                rotation=90, ha="center", va="bottom")
                ax.bar([place[name] + BAR * (i - 0.5) for name in speedup], list(speedup.values()), BAR,
                       color=suite.COLOURS[8], edgecolor="black", linewidth=0.4, label=f"lab 8, {kind}", **style)
        mark_published(below, published, ", geomean")
        above.set_title(f"N = {N}", fontsize=8)
        below.set_xticks(list(place.values()), [name.removeprefix("rnn.") for name in place], rotation=90, fontsize=6)
    for ax in axes.flat:
        ax.grid(False, axis="x")
        ax.margins(x=0.02, y=0.15)
    for ax in axes.flat:
        mark_behind(ax, "lab 8 behind")
    axes[0, 0].set_ylabel("times as fast as\nthe fastest lab in fp32")
    axes[1, 0].set_ylabel("times as fast as\ncuSPARSE's best in 16 bits")
    suite.legend(figure, axes[1, 0])
    return figure


def _places(groups, measured):
    """{name: x} of the measured matrices, each group with its mean behind it."""
    place, x = {}, 0
    for group, members in groups.items():
        own = [name for name in members if name in measured]
        for name in own + [f"geomean, {group}"] * bool(own):
            place[name] = x
            x += 1
        x += 0.6 * bool(own)
    return place


suite.main(draw)
