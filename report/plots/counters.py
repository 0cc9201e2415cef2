#!/usr/bin/python3
"""What the CPU backend counted of the labs' kernels, graph by graph: a panel a counter."""
import suite
from suite import plt

LOGARITHMIC = ["DRAM bytes over\ncompulsory", "longest warp\nover mean"]


def draw(results):
    rows = results.rows("counted.csv")
    number = suite.number
    compulsory = _compulsory_bytes(results, rows)
    counters = {
        "sectors a request\nof loads": lambda row: number(row, "ld_sectors") / number(row, "ld_requests"),
        "lanes active,\n%": lambda row: 100 * number(row, "simt_efficiency"),
        "L1 hit rate,\n%": lambda row: 100 * float(row["l1_hit_rate"]),
        LOGARITHMIC[0]: lambda row: (
            float(row["dram_read_bytes"]) + float(row["dram_write_bytes"])) / compulsory[row["dataset"], row["N"]],
        LOGARITHMIC[1]: lambda row: number(row, "warp_imbalance"),
    }
    graphs = {N: list(dict.fromkeys(row["dataset"] for row in rows if row["N"] == N))
              for N in sorted({row["N"] for row in rows}, key=int)}
    called = suite.names(rows)
    labs = sorted({int(row["lab"]) for row in rows})
    figure, axes = plt.subplots(len(counters), len(graphs), figsize=(suite.WIDTH, 1.15 * len(counters) + 0.6),
                                sharex="col", sharey="row", squeeze=False, constrained_layout=True,
                                gridspec_kw={"width_ratios": [len(of) + 1 for of in graphs.values()]})
    for column, (N, names) in enumerate(graphs.items()):
        for ax, (title, count) in zip(axes[:, column], counters.items()):
            for i, lab in enumerate(labs):
                own = [row for row in rows if row["N"] == N and int(row["lab"]) == lab]
                ax.plot([names.index(row["dataset"]) + 0.16 * (i - (len(labs) - 1) / 2) for row in own],
                        [count(row) for row in own], **{**suite.dot(lab), "markersize": 4})
            if title in LOGARITHMIC:
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter("{x:g}")
                ax.axhline(1, color="black", linewidth=0.8)
        axes[0, column].set_title(f"N = {N}", fontsize=8)
        axes[-1, column].set_xticks(range(len(names)), [called[name] for name in names], rotation=40, ha="right",
                                    fontsize=7)
    for (title, ax) in zip(counters, axes[:, 0]):
        ax.set_ylabel(title, fontsize=7)
        if title not in LOGARITHMIC:
            ax.set_ylim(0, None)
    sampled = sum(float(row["sampled"]) < 1 for row in rows)
    results.note(f"counted, not measured; {sampled} of {len(rows)} counts are of a sample of the blocks; compulsory: "
                 "A, B and C once, as spmm.csv has it")
    figure.suptitle("counted by the CPU backend", fontsize=8)
    suite.legend(figure, axes[0, 0])
    return figure


def _compulsory_bytes(results, rows):
    """{(dataset, N): bytes of all inputs and the output, once}, as the program worked them out for its timed rows."""
    timed = results.peek("spmm.csv", lab="1", dataset=sorted({row["dataset"] for row in rows}))
    return {(row["dataset"], row["N"]): suite.number(row, "compulsory_gbs") * suite.time_of(row) * 1e6
            for row in timed}


suite.main(draw, "make predictions")
