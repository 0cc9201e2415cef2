#!/usr/bin/python3
"""Estimated against measured time, a point a row that was measured."""
import suite
from suite import plt


def draw(data):
    figure, ax = plt.subplots(figsize=(0.8 * suite.WIDTH, 3.4), constrained_layout=True)
    labs = sorted(map(int, data.series("estimated")))
    times = [ms for panel in ("estimated", "measured") for lab in labs for ms in data.points(panel, lab).values()]
    ends = min(times) / 1.5, max(times) * 1.5
    ax.plot(ends, ends, color="black", linewidth=0.8)
    ax.fill_between(ends, [end / 2 for end in ends], [end * 2 for end in ends], color="#e4e4e4", linewidth=0, zorder=0,
                    label="within a factor of 2")
    for lab in labs:
        mean, near, count = data.mean("near", lab)
        ax.plot(data.points("estimated", lab).values(), data.points("measured", lab).values(),
                **{**suite.dot(lab), "label": f"lab {lab}: {mean:.2f}, {near} of {count}"})
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.set_xlabel("estimated, ms")
    ax.set_ylabel("measured, ms")
    ax.legend(title="measured over estimated:\ngeomean, within a factor of 2", alignment="left", fontsize=7,
              title_fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


suite.drawn(draw)
