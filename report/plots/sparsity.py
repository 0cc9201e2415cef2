#!/usr/bin/python3
"""Time of one layer's product against its sparsity: labs, cuSPARSE's best, and the dense product, which does not
care. Where a lab gets ahead of the dense one for good is marked and said in the legend."""
import suite
from suite import plt
import cases

DENSE = {"TF32": ":", "fp32": "-."}  # lines of dense products


def draw(data):
    figure, ax = plt.subplots(figsize=(suite.WIDTH, 4), constrained_layout=True)

    def line(panel, who):
        return zip(*((float(zeros), us) for zeros, us in data.points(panel, who).items()))

    for who in data.series("times"):
        style = ({"color": "black", "linestyle": "--", "linewidth": 1.2} if who == "best" else cases.line(int(who)))
        name = "cuSPARSE's best" if who == "best" else f"lab {who}"
        ax.plot(*line("times", who), **{**style, "label": f"{name}: {data.word(who)}"})
        for zeros, us in data.points("crossing", who).items():
            ax.plot(float(zeros), us, marker="o", markersize=7, markerfacecolor="none", markeredgecolor="black",
                    markeredgewidth=0.8)
    for kind in data.series("dense"):
        ax.plot(*line("dense", kind), color="black", linestyle=DENSE[kind], linewidth=1.2,
                label=data.word(kind).replace("\\n", "\n"))
    for value in data.points("published", "published").values():
        ax.axvline(value, color="#777777", linewidth=0.8, linestyle=(0, (6, 3)),
                   label=f"{data.word('published')}:\nsparse ahead of fp32 from {value:g} %")
    shown = [us for who in data.series("times") if who != "1" for us in data.points("times", who).values()]
    ax.set_yscale("log")
    ax.set_ylim(None, 1.3 * max(shown))
    slow = data.points("times", 1).values()
    if slow:
        ax.set_title(f"lab 1, nearly all above this range: {min(slow) / 1000:.1f} to {max(slow) / 1000:.1f} ms",
                     fontsize=7, loc="left")
    suite.plain_ticks(ax.yaxis, 1, 2, 5)
    ax.set_xlabel(f"zeros, % of {data.word('layer')}")
    ax.set_ylabel("median time, us")
    ax.legend(title=f"ahead of dense {' / '.join(data.series('dense'))}\nfrom (o):", alignment="left",
              loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, title_fontsize=7)
    return figure


suite.drawn(draw)
