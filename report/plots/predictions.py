#!/usr/bin/python3
"""Estimated against measured time, a point a row that was measured."""
import suite
from suite import plt


def draw(results):
    rows = results.rows("predictions.csv")
    figure, ax = plt.subplots(figsize=(0.8 * suite.WIDTH, 3.4), constrained_layout=True)
    times = [suite.number(row, column) for row in rows for column in ("predicted_ms", "measured_ms")]
    ends = min(times) / 1.5, max(times) * 1.5
    ax.plot(ends, ends, color="black", linewidth=0.8)
    ax.fill_between(ends, [end / 2 for end in ends], [end * 2 for end in ends], color="#e4e4e4", linewidth=0, zorder=0,
                    label="within a factor of 2")
    for lab in sorted({int(row["lab"]) for row in rows}):
        own = [row for row in rows if int(row["lab"]) == lab]
        ratio = [suite.number(row, "measured_ms") / suite.number(row, "predicted_ms") for row in own]
        ax.plot([suite.number(row, "predicted_ms") for row in own], [suite.number(row, "measured_ms") for row in own],
                **{**suite.dot(lab), "label": f"lab {lab}: {suite.geomean(ratio):.2f}, "
                   f"{sum(0.5 <= one <= 2 for one in ratio)} of {len(ratio)}"})
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.set_xlabel("estimated, ms")
    ax.set_ylabel("measured, ms")
    ax.legend(title="measured over estimated:\ngeomean, within a factor of 2", alignment="left", fontsize=7,
              title_fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    sampled = sum(float(row["sampled"]) < 1 for row in rows)
    results.note(f"estimates are the CPU backend's, times the modelled GPU's; {sampled} of {len(rows)} estimates are "
                 "of a sample of the blocks")
    return figure


suite.main(draw, "make predictions")
