"""A knob of lab 5 turned through its values: the time on each graph, and the speedup over cuSPARSE's default in
the mean, beside the published one."""

import math

import suite
from suite import plt

LAB = 5


def draw(results, knob, N, experiment, kernel):
    """`knob` (SPLIT) at `N` columns, of the rows of spmm-lab5-sweep*.csv. On the left the other settings are the
    fastest of each graph, among those that every graph was measured with; on the right also those of the
    published kernel, `kernel` ({"LANES": 32}), if there are others. `experiment` (E1.3) has the published means."""
    rows = results.rows(f"spmm-lab{LAB}-sweep*.csv", lab=LAB, N=N, l2="warm", precision="fp32")
    names = suite.names(rows)
    vendor = suite.times(results.rows("spmm.csv", lab=0, N=N, dataset=list(names), **suite.PLAIN))["default"]
    swept = _common({graph: _sweep([row for row in rows if row["dataset"] == graph], knob) for graph in names})
    values = sorted({value for graph in swept for others in swept[graph].values() for value in others})
    if len(values) < 2:
        raise suite.Missing(f"no rows of lab {LAB} at N = {N} that differ in {knob} alone in {results.folder}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(suite.WIDTH, 3.2), constrained_layout=True)
    line = {**suite.dot(LAB), "label": None, "linewidth": 1, "linestyle": "-"}
    fastest = {graph: _fastest(swept[graph], {}) for graph in names}
    for graph in names:
        left.plot([values.index(value) for value in fastest[graph]], fastest[graph].values(), **line)
    left.set_yscale("log")
    suite.plain_ticks(left.yaxis, 1, 2, 5)
    left.set_ylabel("ms")
    _name_ends(left, len(values) - 1, {name: fastest[graph].get(values[-1]) for graph, name in names.items()})

    theirs = {graph: _fastest(swept[graph], kernel) for graph in names}
    curves = [(fastest, "-", _said(swept, kernel))]
    if theirs != fastest:
        curves.append((theirs, "--", ", ".join(f"{other} {value}" for other, value in kernel.items())))
    for times, look, label in curves:
        means = {values.index(value): suite.geomean([vendor[graph] / times[graph][value] for graph in names])
                 for value in values if all(value in times[graph] and graph in vendor for graph in names)}
        right.plot(means.keys(), means.values(), **{**line, "linestyle": look, "label": f"lab {LAB}, {label}"})
    published = [row for row in results.published(experiment) if row["quantity"] == "speedup"]
    means = {int(row["setting"].split("=")[1]): row["value"] for row in published}
    shown = [value for value in values if value in means]
    right.plot([values.index(value) for value in shown], [means[value] for value in shown],
               label=f"{suite.published_on(published)}, 13 graphs", **suite.PUBLISHED_DOT)
    right.set_ylim(0, 1.05 * right.dataLim.ymax)
    right.axhspan(0, 1, color=suite.VENDOR_WINS, linewidth=0, zorder=0)
    right.axhline(1, color="black", linewidth=0.8, zorder=1)
    right.set_ylabel("times as fast as cuSPARSE's default\n(grey: cuSPARSE is faster)")
    single = next(iter(names.values())) if len(names) == 1 else None
    left.set_title(single or f"{len(names)} graphs")
    right.set_title(single or f"geometric mean of {len(names)} graphs")
    for ax in (left, right):
        ax.set_xlabel(f"{knob}, N = {N}")
        ax.set_xticks(range(len(values)), [value or "whole rows" for value in values])
    suite.legend(figure, right)
    return figure


def _sweep(rows, knob):
    """{other settings: {value of the knob: ms}} of one graph, where every value was measured."""
    found = {}
    for row in rows:
        settings = {name: int(value) for name, value in (cell.split("=") for cell in row["tuning"].split())}
        value = settings.pop(knob)
        time = suite.time_of(row)
        if time:
            own = found.setdefault(tuple(settings.items()), {})
            own[value] = min(time, own.get(value, time))
    values = {value for own in found.values() for value in own}
    return {others: dict(sorted(own.items())) for others, own in found.items() if len(own) == len(values)}


def _common(swept):
    """Of {graph: sweep} what all have: a graph that was measured with more would have a lead in the mean."""
    common = set.intersection(*(set(sweep) for sweep in swept.values())) if swept else set()
    return {graph: {others: own for others, own in sweep.items() if others in common} for graph, sweep in swept.items()}


def _said(swept, names):
    """What the fastest of a graph had to choose from: "C 1, LANES 32, the fastest SPLIT"."""
    found = {name: sorted({dict(others)[name] for sweep in swept.values() for others in sweep}) for name in names}
    fixed = [f"{name} {values[0]}" for name, values in found.items() if len(values) == 1]
    free = [name for name, values in found.items() if len(values) > 1]
    return ", ".join(fixed + (["the fastest " + " and ".join(free)] if free else []))


def _fastest(sweep, wanted):
    """{value of the knob: ms} of the fastest among the other settings that hold what is `wanted`."""
    found = {}
    for others, own in sweep.items():
        if wanted.items() <= dict(others).items():
            for value, time in own.items():
                found[value] = min(time, found.get(value, time))
    return found


def _name_ends(ax, x, ends):
    """Writes names beside the right ends of lines ({name: y}, y logarithmic), and none over another."""
    names = sorted((name for name in ends if ends[name]), key=ends.get)
    places = [math.log(ends[name]) for name in names]
    low, high = (math.log(limit) for limit in ax.get_ylim())
    height = (high - low) / 21  # of a line of text
    for _ in range(100):
        for i in range(1, len(places)):
            overlap = max(0, height - (places[i] - places[i - 1]))
            places[i - 1] -= overlap / 2
            places[i] += overlap / 2
    for name, place in zip(names, places):
        ax.annotate(name, (x, ends[name]), xytext=(16, math.exp(place)), textcoords=("offset points", "data"),
                    va="center", fontsize=7, arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "grey"})
