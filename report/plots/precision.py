#!/usr/bin/python3
"""What fp16 brings on the RNN problems: labs 8 and 10 over cuSPARSE's best in fp16, and over the fastest lab in fp32."""
import suite
from suite import plt
from cases import legend_beside, mark_behind, mark_published, rnn_places, summary, times

LABS = [8, 10]


def draw(results):
    wide = results.rows("spmm-rnn.csv", **suite.PLAIN)
    problems = list({row["dataset"]: None for row in wide})
    narrow = results.rows("spmm-fp16.csv", l2="warm", flags="", dataset=problems)
    published = [row for row in results.published("E2.4") if row["setting"] == "mixed"]
    widths = sorted({int(row["N"]) for row in narrow})
    place, labels = rnn_places({row["dataset"] for row in narrow})
    figure, axes = plt.subplots(2 * len(widths), 1, figsize=(suite.WIDTH, 2.9 * len(widths)), sharex=True,
                                constrained_layout=True)
    panels = iter(axes)
    for over in ("cuSPARSE's best in fp16", "the fastest lab in fp32"):
        for N in widths:
            ax = next(panels)
            own = times([row for row in narrow if int(row["N"]) == N])
            fp32 = suite.times([row for row in wide if int(row["N"]) == N])
            labs = [of for who, of in fp32.items() if isinstance(who, int)]
            other = own["best"] if over.startswith("cuSPARSE") else {
                name: min(of[name] for of in labs if name in of) for name in place if any(name in of for of in labs)}
            for lab in [lab for lab in LABS if lab in own]:
                speedup = suite.ratios(other, own[lab])
                if speedup:
                    ax.plot([place[name] for name in speedup], list(speedup.values()),
                            **{**suite.dot(lab), "label": f"lab {lab}: {summary(speedup)}"})
            if over.startswith("cuSPARSE"):
                mark_published(ax, published)
            ax.set_yscale("log")
            suite.plain_ticks(ax.yaxis, 1, 2, 5)
            mark_behind(ax, over.split(" in ")[0].removesuffix("'s best") + " ahead")
            ax.margins(y=0.1)
            ax.set_ylabel(f"speedup over\n{over}", fontsize=7)
            ax.grid(False, axis="x")
            legend_beside(ax, f"N = {N}: geomean, ahead")
    axes[-1].set_xticks(*labels, fontsize=7)
    axes[-1].set_xlabel("hidden size and cell; of each from left to right 70, 80 and 90 % zeros")
    return figure


suite.main(draw)
