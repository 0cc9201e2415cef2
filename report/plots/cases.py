"""What several figures of settings and speedups do alike."""
import suite

# In which order lab 10 takes the rows: its setting SWIZZLE.
ORDERS = {"0": "as they come", "1": "by length", "4096": "in windows of 4096"}


def said(mean):
    """A geometric mean of Data.mean, and in how many it is ahead."""
    return f"{mean[0]:.2f}, {mean[1]} of {mean[2]}"


def line(lab, **more):
    """How a lab's line is drawn: arguments of Axes.plot."""
    return {**suite.dot(lab), "linestyle": "-", "linewidth": 1, "markersize": 4, **more}


def mark_behind(ax, label):
    """On a vertical axis of speedups: the line of 1, and below it the ground that says who is ahead there."""
    low, high = ax.get_ylim()
    low, high = min(low, 0.9), max(high, 1.1)
    ax.axhspan(low, 1, color=suite.VENDOR_WINS, zorder=0, linewidth=0, label=label)
    ax.axhline(1, color="black", linewidth=0.8)
    ax.set_ylim(low, high)


def legend_beside(ax, title):
    """The legend of `ax` on its right."""
    ax.legend(title=title, alignment="left", fontsize=6.5, title_fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def rnn_places(names):
    """Where rnn.lstm-2048-0.9 and the others stand: ({name: x}, (ticks, labels))."""
    def parts(name):
        cell, size, zeros = name.removeprefix("rnn.").split("-")
        return cell != "rnn", cell, int(size), zeros

    groups, place, ticks = {}, {}, []
    for name in sorted(names, key=parts):
        _, cell, size, _ = parts(name)
        groups.setdefault((cell, size), []).append(name)
    for i, ((cell, size), members) in enumerate(groups.items()):
        for k, name in enumerate(members):
            place[name] = 4 * i + k
        ticks.append((4 * i + (len(members) - 1) / 2, f"{size // 1024}k\n{cell.upper()}"))
    return place, tuple(zip(*ticks))


def rnn_panel(ax, data, panel, place, over, rival, published):
    """On `ax`, the speedups of a panel of `data` at the places of rnn_places, over what `over` says, of a `rival`; and
    lines of what was published."""
    N = panel.split()[1]
    for lab in map(int, data.series(panel)):
        speedup = data.points(panel, lab)
        ax.plot([place[name] for name in speedup], list(speedup.values()),
                **{**suite.dot(lab), "label": f"lab {lab}: {said(data.mean(panel, lab))}"})
    for value in published:
        ax.axhline(value, color="black", linewidth=0.8, linestyle=(0, (6, 3)), zorder=1,
                   label=f"{data.word('published')}: {value:g}")
    ax.set_yscale("log")
    suite.plain_ticks(ax.yaxis, 1, 2, 5)
    mark_behind(ax, f"{rival} ahead")
    ax.set_ylabel(f"speedup over\n{over}", fontsize=7)
    ax.grid(False, axis="x")
    legend_beside(ax, f"N = {N}: geomean, ahead")


def rnn_axis(ax, labels):
    """The horizontal axis of a column of such panels, at the lowest."""
    ax.set_xticks(*labels, fontsize=7)
    ax.set_xlabel("hidden size and cell; of each from left to right 70, 80 and 90 % zeros")
