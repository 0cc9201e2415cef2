#!/usr/bin/python3
"""Labs 9 and 20 on pruned weights of language models against the fastest dense product of cuBLAS, shape by shape.

Drawn by matplotlib: panels of points, boxes with quartiles and numbers share one axis and one legend."""
import suite
from suite import plt
from cases import mark_behind

BOXES = 6  # so many shapes or more are a box with its quartiles, not points alone
KERNELS = {"bitmap_fp16": (9, -0.18), "lane_major_fp16": (20, 0.18)}  # the lab, and where its points stand


def draw(data):
    widths = sorted((panel for panel in data.panels() if panel != "published"), key=int)
    sparsities = sorted({float(line.split()[1]) for N in widths for line in data.series(N)})
    published = {float(zeros): value for zeros, value in data.points("published", "published").items()}
    figure, axes = plt.subplots(len(widths), 1, figsize=(suite.WIDTH, 1.7 * len(widths) + 0.4), sharex=True,
                                sharey=True, squeeze=False, constrained_layout=True)
    for N, ax in zip(widths, axes[:, 0]):
        for contender, (lab, shift) in KERNELS.items():
            for i, zeros in enumerate(sparsities):
                line = f"{contender} {zeros:g}"
                if data.points(N, line):
                    _strip(ax, i + shift, list(data.points(N, line).values()), data.mean(N, line), lab)
        for i, zeros in enumerate(sparsities):
            if zeros in published:
                ax.plot([i], [published[zeros]], **suite.PUBLISHED_DOT, label=data.word("published") + ", mean")
        ax.set_ylabel(f"times as fast as dense\nN = {N}")
        ax.grid(False, axis="x")
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set_ylim(low, high + 0.3 * (high - low))  # room for what is said on top
    for ax in axes[:, 0]:
        mark_behind(ax, "cuBLAS ahead")
    suite.legend(figure, *axes[:, 0])
    shapes = int(data.word("shapes"))
    masks = [data.word(f"pruned {zeros:g}").split(",") for zeros in sparsities]
    axes[-1, 0].set_xticks(range(len(sparsities)), [
        f"{zeros:g} %" + (f"\n({', '.join(kinds)})" if len(kinds) > 1 else "") for zeros, kinds in zip(sparsities, masks)])
    axes[-1, 0].set_xlim(-0.6, len(sparsities) - 0.4)
    axes[-1, 0].set_xlabel(f"zeros; {shapes} shape{'s' * (shapes > 1)}; with each its geomean, and how many are ahead")
    return figure


def _strip(ax, x, speedup, mean, lab):
    """The speedups of one kernel at one sparsity: a point each, a box if many, and what they come to."""
    many = len(speedup) >= BOXES
    if many:
        ax.boxplot(speedup, positions=[x], widths=0.3, whis=(0, 100), manage_ticks=False, zorder=4,
                   medianprops={"color": "black"})
    spread = [x + 0.03 * (i % 9 - 4) * (len(speedup) > 1) for i in range(len(speedup))]
    ax.plot(spread, speedup, **{**suite.dot(lab), "markersize": 2.5 if many else 5, "rasterized": many})  # an SVG of a thousand points would be large
    ax.text(x, 0.99, f"{mean[0]:.2f}\n{mean[1]} of {mean[2]}", fontsize=6, ha="center", va="top",
            transform=ax.get_xaxis_transform())


suite.drawn(draw)
