"""What figures drawn by matplotlib share: colours, the numbers that `rows` computed, the lines that say where they come from.

A figure is an executable file of this folder, NAME.py or NAME.gp (those share suite.gp). NAME.py defines `draw(data)`,
which returns a matplotlib figure, and ends with `suite.drawn(draw)`. Its numbers are computed by `rows series NAME`
(common/rows/series.c); it computes nothing but where things stand on the page. gnuplot draws what has one or two panels.
"""

import os
import re
import sys
import tempfile
import textwrap

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({
    "font.size": 8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "suite",  # names inside an SVG are random otherwise
})

import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)

WIDTH = 7.0  # of a figure, inches: a page's text width

# A lab has one colour and one marker in all figures, gnuplot's included: looks.tsv says which.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "looks.tsv"), encoding="utf-8") as _stream:
    _looks = [line.split() for line in _stream if not line.startswith("#")]
LABS = [int(lab) for lab, *_ in _looks]
COLOURS = {int(lab): colour for lab, colour, *_ in _looks}
MARKERS = {int(lab): marker for lab, _, marker, _ in _looks}
PUBLISHED = {"color": "white", "edgecolor": "black", "hatch": "xxxx", "linewidth": 0.5}  # bars of published figures
VENDOR_DOT = {"marker": "+", "color": "black", "markersize": 7, "linestyle": "none"}
PUBLISHED_DOT = {"marker": "d", "color": "black", "markerfacecolor": "none", "markeredgewidth": 0.8, "markersize": 5,
                 "linestyle": "none", "zorder": 3}
VENDOR_WINS = "#ececec"  # the ground of where a vendor's library is ahead


def dot(lab):
    """How a lab's points are drawn: arguments of Axes.plot. Earlier labs lie on top, as their markers are slimmer."""
    return {"marker": MARKERS[lab], "color": COLOURS[lab], "markeredgecolor": "black", "markeredgewidth": 0.3,
            "markersize": 8 if lab == 99 else 5, "linestyle": "none", "zorder": 2.5 - lab / 100,
            "label": f"lab {lab}"}


def side(lab):
    """-1 or 1, alternating along the ladder: where a lab's point goes that would hide its neighbour's."""
    return -1 if LABS.index(lab) % 2 else 1


def plain_ticks(axis, *digits):
    """Ticks of a logarithmic axis at these first digits (1, 2, 5), written as plain numbers."""
    axis.set_major_locator(matplotlib.ticker.LogLocator(subs=digits, numticks=99))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def legend(figure, *axes, **style):
    """One legend above the whole figure, of what is drawn in `axes`; each label once."""
    once = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            once.setdefault(label, handle)
    style = {"ncol": min(len(once), 10), "columnspacing": 1.2, "handletextpad": 0.3, **style}
    figure.legend(once.values(), once, loc="lower center", bbox_to_anchor=(0.5, 1), **style)


def number_clips(path):
    """Names the clip paths of an SVG by their order. Matplotlib names some of them by an address of memory."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for number, name in enumerate(re.findall(r'<clipPath id="(\w+)"', text), 1):
        text = text.replace(f'"{name}"', f'"clip{number}"').replace(f"#{name})", f"#clip{number})")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def save(figure, stem, origin):
    """Writes stem.svg and stem.png, with `origin` in small print below. The same figure gives the same bytes."""
    if origin:
        figure.text(0.01, -0.01, origin, fontsize=5, color="#555555", va="top")
    for suffix, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        handle, path = tempfile.mkstemp(dir=os.path.dirname(stem), suffix="." + suffix)
        os.close(handle)
        try:
            figure.savefig(path, bbox_inches="tight", metadata=metadata)
            if suffix == "svg":
                number_clips(path)
            os.chmod(path, 0o644)
            os.replace(path, f"{stem}.{suffix}")
        except BaseException:
            os.unlink(path)
            raise


def lines(text):
    """The text, in which \\n begins a new line."""
    return text.replace("\\n", "\n")


class Data:
    """The numbers of a figure, as `rows series NAME` prints them: common/rows/series.c says what its lines hold."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as stream:
            self.lines = [line.rstrip("\n").split("\t") for line in stream]

    def _of(self, kind, *cells):
        return [line[1 + len(cells):] for line in self.lines
                if line[0] == kind and line[1:1 + len(cells)] == [str(cell) for cell in cells]]

    def panels(self, kind="point"):
        """The names of the panels that have such lines, in order."""
        return list(dict.fromkeys(line[1] for line in self.lines if line[0] == kind))

    def series(self, panel):
        """The names of the lines of a panel, in order."""
        return list(dict.fromkeys(line[2] for line in self.lines if line[0] == "point" and line[1] == str(panel)))

    def graphs(self, panel):
        """{dataset: what it is called}, in the order of the rows."""
        return dict(self._of("graph", panel))

    def points(self, panel, series):
        """{name: number} of a line."""
        return {name: float(value) for name, value in self._of("point", panel, series)}

    def mean(self, panel, series):
        """(geometric mean of a line, how many are above 1, of how many), or None."""
        found = self._of("mean", panel, series)
        return (float(found[0][0]), int(found[0][1]), int(found[0][2])) if found else None

    def word(self, name):
        """What a legend or a title says; "" where there is nothing to say."""
        return lines((self._of("word", name) or [[""]])[0][0])

    def origin(self):
        return "\n".join(textwrap.fill(text, 200) for text, in self._of("origin"))


def drawn(draw):
    """Makes the figure of the calling file out of its numbers: NAME.py NAME.tsv FIGURES. Exit status: 0 made, 2 usage,
    4 it cannot be written."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    if len(sys.argv) != 3:
        sys.exit(_say(f"usage: {name}.py {name}.tsv FIGURES", 2))
    try:
        data = Data(sys.argv[1])
        figure = draw(data)
        save(figure, os.path.join(sys.argv[2], name), data.origin())
        plt.close(figure)
    except OSError as error:
        sys.exit(_say(f"{name}: {error}", 4))


def _say(text, status):
    print(text, file=sys.stderr)
    return status
