#!/usr/bin/python3
"""Labs 1 to 3, from a thread a row to a warp a row, beside the published pair of kernels (E1.1)."""
import suite
from suite import plt

GRAPHS = ["arxiv", "collab"]
LABS = {1: "lab 1, a thread a row", 2: "lab 2, a warp a row", 3: "lab 3, A in shared memory"}
KERNELS = {"ref": "as lab 1", "opt1": "as lab 3"}  # of the published
RIGHT = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}  # of a point, its number


def draw(results):
    rows = results.rows("spmm.csv", dataset=GRAPHS, lab=list(LABS), N=32, **suite.PLAIN)
    times = suite.times(rows)
    published = results.published("E1.1")
    theirs = {kernel: {row["matrix"]: row["value"] * 1e3 for row in published if row["setting"] == kernel}
              for kernel in KERNELS}
    figure, grid = plt.subplots(len(GRAPHS), 2, figsize=(suite.WIDTH, 3.6), sharex="col", sharey=True,
                                constrained_layout=True)
    for (graph, name), (left, right) in zip(suite.names(rows).items(), grid):
        lines = [(said, times[lab].get(graph), times[1].get(graph), suite.dot(lab),
                  {"color": suite.COLOURS[lab], "edgecolor": "black", "linewidth": 0.5})
                 for lab, said in LABS.items()]
        lines += [(f"{suite.published_on(published)}, {said}", theirs[kernel][graph], theirs["ref"][graph],
                   suite.PUBLISHED_DOT, suite.PUBLISHED) for kernel, said in KERNELS.items()]
        for y, (_, time, first, dot, bar) in enumerate(lines):
            if time:
                left.plot(time, y, **dot)
                left.annotate(f"{time:.3g}", (time, y), **RIGHT)
            if time and first:
                right.barh(y, first / time, 0.7, **bar)
                right.annotate(f"{first / time:.2f}", (first / time, y), **RIGHT)
        left.set_yticks(range(len(lines)), [said for said, *_ in lines])
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


suite.main(draw)
