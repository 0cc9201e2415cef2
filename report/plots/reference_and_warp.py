#!/usr/bin/python3
"""Labs 1 to 3, from a thread a row to a warp a row, beside the published pair of kernels (E1.1).

Drawn by matplotlib: four panels that share axes by row and by column."""
import suite
from suite import plt

LABS = {"1": "lab 1, a thread a row", "2": "lab 2, a warp a row", "3": "lab 3, A in shared memory"}
KERNELS = {"ref": "as lab 1", "opt1": "as lab 3"}  # of the published
RIGHT = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}  # of a point, its number


def draw(data):
    graphs = data.graphs("all")
    figure, grid = plt.subplots(len(graphs), 2, figsize=(suite.WIDTH, 3.6), sharex="col", sharey=True, squeeze=False,
                                constrained_layout=True)
    lines = [(lab, said, suite.dot(int(lab)), {"color": suite.COLOURS[int(lab)], "edgecolor": "black", "linewidth": 0.5})
             for lab, said in LABS.items()]
    lines += [(kernel, f"{data.word('published')}, {said}", suite.PUBLISHED_DOT, suite.PUBLISHED)
              for kernel, said in KERNELS.items()]
    for (graph, name), (left, right) in zip(graphs.items(), grid):
        times, speedups = data.points(graph, "ms"), data.points(graph, "speedup")
        for y, (who, _, dot, bar) in enumerate(lines):
            if who in times:
                left.plot(times[who], y, **dot)
                left.annotate(f"{times[who]:.3g}", (times[who], y), **RIGHT)
            if who in speedups:
                right.barh(y, speedups[who], 0.7, **bar)
                right.annotate(f"{speedups[who]:.2f}", (speedups[who], y), **RIGHT)
        left.set_yticks(range(len(lines)), [said for _, said, *_ in lines])
        left.set_ylim(len(lines) - 0.5, -0.5)
        left.set_title(name)
        right.set_title(name)
    left.set_xscale("log")
    suite.plain_ticks(left.xaxis, 1)
    left.set_xlim(right=left.get_xlim()[1] * 2)  # room for the numbers
    right.set_xlim(right=right.get_xlim()[1] * 1.1)
    left.set_xlabel("ms, N = 32")
    right.set_xlabel("times as fast as a thread a row on that GPU")
    return figure


suite.drawn(draw)
