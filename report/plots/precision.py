#!/usr/bin/python3
"""What fp16 brings on the RNN problems: labs 8 and 99 over cuSPARSE's best in fp16, and over the fastest lab in fp32."""
import cases
import suite
from suite import plt
from cases import rnn_axis, rnn_panel, rnn_places

LABS = [8, 21, 99]


def draw(results):
    wide = results.rows("spmm-rnn.csv", **suite.PLAIN)
    problems = list({row["dataset"]: None for row in wide})
    narrow = results.rows("spmm-fp16.csv", l2="warm", flags="", dataset=problems)
    published = [row for row in results.published("E2.4") if row["setting"] == "mixed"]
    times = {N: cases.times([row for row in narrow if int(row["N"]) == N])
             for N in sorted({int(row["N"]) for row in narrow})}
    place, labels = rnn_places({row["dataset"] for row in narrow})
    figure, axes = plt.subplots(2 * len(times), 1, figsize=(suite.WIDTH, 2.9 * len(times)), sharex=True,
                                constrained_layout=True)
    for (N, of), above, below in zip(times.items(), axes, axes[len(times):]):
        labs = [lab for lab in LABS if lab in of]
        fp32 = _fastest([row for row in wide if int(row["N"]) == N])
        rnn_panel(above, N, place, {lab: suite.ratios(of["best"], of[lab]) for lab in labs}, "cuSPARSE's best in fp16",
                  "cuSPARSE", published)
        rnn_panel(below, N, place, {lab: suite.ratios(fp32, of[lab]) for lab in labs}, "the fastest lab in fp32",
                  "the fastest lab", [])
    rnn_axis(axes[-1], labels)
    return figure


def _fastest(rows):
    """{problem: ms} of whichever lab was the fastest."""
    labs = [of for who, of in suite.times(rows).items() if isinstance(who, int)]
    return {name: min(of[name] for of in labs if name in of) for of in labs for name in of}


suite.main(draw)
