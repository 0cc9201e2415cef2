#!/usr/bin/python3
"""How close the rule that chooses a kernel comes to an oracle: to the fastest of all settings that were tried, as
scripts/compare-choices tells, and to the fastest of all labs in the same rows. A dot a case."""
import os
import subprocess

import suite
from suite import plt
from cases import ROOT, short

COMPARE = os.path.join(ROOT, "scripts", "compare-choices")
RULE = 99
SWEEP = "spmm-graphs-sweep.csv"
SETS = {"graphs": "spmm.csv", "RNN": "spmm-rnn.csv", "sparsity": "spmm-sparsity.csv", "DLMC": "spmm-dlmc.csv",
        "like DLMC's": "spmm-dlmc-like.csv"}
GOAL = 97


def draw(results):
    lines = []
    shares = _over_settings(results)
    if shares:
        lines.append(("settings tried,\ngraphs", shares))
    for name, file in SETS.items():
        shares = _over_labs(results, file)
        if shares:
            lines.append((f"fastest lab,\n{name}", shares))
    if not lines:
        raise suite.Missing(f"no rows of lab {RULE} in {results.folder}")
    figure, ax = plt.subplots(figsize=(suite.WIDTH, 0.5 + 0.5 * len(lines)), constrained_layout=True)
    for y, (label, shares) in enumerate(lines):
        ax.plot([100 * share for share in shares.values()],
                [y + 0.05 * (i % 7 - 3) for i in range(len(shares))], **suite.dot(RULE))
        mean = 100 * suite.geomean(shares.values())
        (worst, N), least = min(shares.items(), key=lambda share: share[1])
        ax.plot([mean, mean], [y - 0.35, y + 0.35], color="black", linewidth=1.5)
        ax.text(101, y, f"{mean:.1f} % over {len(shares)}; worst {100 * least:.1f} %,\n{short(worst)}, N = {N}",
                fontsize=6.5, va="center")
    ax.axvline(GOAL, color="black", linewidth=0.8, linestyle=(0, (6, 3)))
    ax.set_yticks(range(len(lines)), [label for label, _ in lines], fontsize=7)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_xlabel(f"speed, % of the fastest; bar: geometric mean; line: the goal, {GOAL} %")
    ax.grid(False, axis="y")
    return figure


def _over_settings(results):
    """{case: share of the fastest setting's speed}; empty where the rule or the sweep has no rows."""
    try:
        results.rows("spmm.csv", lab=RULE, **suite.PLAIN)
        results.rows(SWEEP)
    except suite.Missing:
        return {}
    said = subprocess.run([COMPARE, os.path.join(results.folder, "spmm.csv"), os.path.join(results.folder, SWEEP),
                           str(RULE)], capture_output=True, text=True, check=False)
    if said.returncode:
        raise suite.Malformed(said.stderr.strip())
    shares = {}
    for line in said.stdout.splitlines():
        cell = line.split()
        if len(cell) > 4 and cell[1].startswith("N=") and cell[4].endswith("%"):
            shares[cell[0], cell[1][2:]] = float(cell[4][:-1]) / 100
    if not shares:
        raise suite.Malformed(f"compare-choices says something else than a line a case: {said.stdout!r}")
    return shares


def _over_labs(results, file):
    """{case: share of the speed of the fastest lab, each with its own settings}."""
    try:
        rows = results.rows(file, lab=suite.LABS, **suite.PLAIN)
    except suite.Missing:
        return {}
    shares = {}
    for N in sorted({row["N"] for row in rows}, key=int):
        times = suite.times([row for row in rows if row["N"] == N])
        for name, ms in times.get(RULE, {}).items():
            shares[name, N] = min(of[name] for of in times.values() if name in of) / ms
    return shares


suite.main(draw)
