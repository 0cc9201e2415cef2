#!/usr/bin/python3
"""How close the rule that chooses a kernel comes to an oracle: to the fastest of all settings that were tried, and to
the fastest of all labs in the same rows. A dot a case."""
import suite
from suite import plt
from cases import short

RULE = 99
GOAL = 97


def draw(data):
    lines = data.panels()
    figure, ax = plt.subplots(figsize=(suite.WIDTH, 0.5 + 0.5 * len(lines)), constrained_layout=True)
    for y, line in enumerate(lines):
        shares = data.points(line, "share")
        ax.plot([100 * share for share in shares.values()],
                [y + 0.05 * (i % 7 - 3) for i in range(len(shares))], **suite.dot(RULE))
        mean = 100 * data.mean(line, "share")[0]
        (case, least), = data.points(line, "worst").items()
        name, N = case.rsplit(" N=", 1)
        ax.plot([mean, mean], [y - 0.35, y + 0.35], color="black", linewidth=1.5)
        ax.text(101, y, f"{mean:.1f} % over {len(shares)}; worst {100 * least:.1f} %,\n{short(name)}, N = {N}",
                fontsize=6.5, va="center")
    ax.axvline(GOAL, color="black", linewidth=0.8, linestyle=(0, (6, 3)))
    ax.set_yticks(range(len(lines)), [line.replace("\\n", "\n") for line in lines], fontsize=7)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_xlabel(f"speed, % of the fastest; bar: geometric mean; line: the goal, {GOAL} %")
    ax.grid(False, axis="y")
    return figure


suite.drawn(draw)
