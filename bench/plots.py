"""Charts as PNG and SVG, with a background. The same figures give the same files."""

# matplotlib's types leave the parameters of most methods open.
# pyright: reportUnknownMemberType=false

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hivelore.core.values import replace

INK = "#767676"
"""A grey that stands out from white and from black by more than four to one."""
COLOURS = ("#b0b0b0", "#8a8a8a", "#c2a83e", "#4e9fd1", "#4a78c4", "#9673b9", "#4fa36a", "#e07b28")
"""For the series in their order; the last one is ours."""
SHARE = 0.84
"""Of the width of a group that its bars take."""
WIDTH, HEIGHT = 12.0, 4.6
DOTS = 150
IN_A_ROW = 4
"""Names of series below a picture."""
MOST = 100.0


@dataclass(frozen=True, slots=True)
class Bars:
    """A picture with a bar for each group and series; ``file`` is its name without the ending."""

    file: str
    title: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float]]
    """In percent, as many in each as there are groups. The values of the last one are written over its bars."""

    def markdown(self) -> str:
        return f"![{self.title}](results/{self.file}.svg)\n"


@dataclass(frozen=True, slots=True)
class Lines:
    """A picture with a line for each series, on logarithmic scales; ``file`` is its name without the ending."""

    file: str
    title: str
    across: str
    """What the numbers on the horizontal axis are."""
    series: Mapping[str, Sequence[tuple[float, float]]]
    """Points, from left to right. The values of the last one are written below its points."""

    def markdown(self) -> str:
        return f"![{self.title}](results/{self.file}.svg)\n"

    def joined(self, other: "Lines") -> "Lines":
        """Returns the picture with the points of another part added."""
        names = dict.fromkeys((*self.series, *other.series))
        points = {name: (*self.series.get(name, ()), *other.series.get(name, ())) for name in names}
        return replace(self, series={name: sorted(map(tuple, each)) for name, each in points.items()})


def draw(picture: Bars | Lines, folder: Path) -> None:
    """Writes ``file.svg`` and ``file.png``, without a date and with ids derived from the contents."""
    with mpl.rc_context({"svg.hashsalt": picture.file, "font.size": 10, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.subplots()
        if isinstance(picture, Bars):
            _fill(axes, picture)
        else:
            _rule(axes, picture)
        axes.set_title(picture.title, color=INK, loc="left", fontsize=11)
        axes.tick_params(which="both", colors=INK, length=0)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=min(len(picture.series), IN_A_ROW),
            frameon=False,
            labelcolor=INK,
            handlelength=1.0 if isinstance(picture, Bars) else 1.6,
            columnspacing=1.4,
        )
        figure.savefig(folder / f"{picture.file}.svg", transparent=True, metadata={"Date": None})
        figure.savefig(folder / f"{picture.file}.png", transparent=True, dpi=DOTS, metadata={"Software": None})


def _rule(axes: Axes, lines: Lines) -> None:
    colours = COLOURS[-len(lines.series) :]
    for place, (name, points) in enumerate(lines.series.items()):
        is_ours = place == len(lines.series) - 1
        axes.plot(
            [at for at, _ in points],
            [value for _, value in points],
            label=name,
            color=colours[place],
            marker="o",
            markersize=4.5,
            linewidth=2.4 if is_ours else 1.5,
        )
        for point in points if is_ours else ():
            axes.annotate(
                f"{point[1]:.3g}",
                point,
                xytext=(0, -13),
                textcoords="offset points",
                ha="center",
                color=colours[-1],
                fontsize=8,
                fontweight="bold",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(lines.across, color=INK)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g} ms")
    axes.grid(visible=True, color=INK, alpha=0.25, linewidth=0.6)


def _fill(axes: Axes, bars: Bars) -> None:
    width = SHARE / len(bars.series)
    colours = COLOURS[-len(bars.series) :]
    for place, (name, values) in enumerate(bars.series.items()):
        offset = (place - (len(bars.series) - 1) / 2) * width
        drawn = axes.bar(
            [group + offset for group in range(len(values))], values, width * 0.94, label=name, color=colours[place]
        )
        if place == len(bars.series) - 1:
            axes.bar_label(drawn, fmt="%.0f", padding=1.5, color=colours[-1], fontsize=8, fontweight="bold")
    axes.set_xticks(range(len(bars.groups)), [group.replace(", ", ",\n") for group in bars.groups])
    axes.set_ylim(0, MOST)
    axes.margins(x=0.01)
    axes.grid(visible=True, axis="y", color=INK, alpha=0.25, linewidth=0.6)
