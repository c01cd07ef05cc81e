"""Figures made up for tests, and what is on them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from roofctl.plots.figure import PlotOptions
from roofctl.roofline.model import Bandwidth, KernelPoints, Peak, Point, Roofline

PEAK = 1.04544e12


BANDWIDTHS = {"l1": 3.345408e13, "l2": 1.0281e13, "hbm": 4.814304e12}


HBM_RIDGE = PEAK / (4.814304e12 / 32)


HBM_ONLY = PlotOptions(levels=("hbm",))


def h200(basis="theoretical", scale=1.0, without=(), absent=None):
    bandwidths = tuple(Bandwidth(level, b * scale, basis) for level, b in BANDWIDTHS.items() if level not in without)
    return Roofline("NVIDIA H200", Peak(PEAK * scale, basis), bandwidths, absent or {})


def kernel(name="triad", instructions=16_252_928.0, seconds=181.6e-6, transactions=None, caveat="", **more):
    counts = {"l1": 25_165_824, "l2": 25_165_824, "hbm": 24_627_064} if transactions is None else transactions
    points = tuple(Point(lv, n, instructions / n, instructions / seconds, caveat) for lv, n in counts.items())
    return KernelPoints(name, more.pop("short_name", name), points, **more)


def spread(count, seed=1, levels=("l1", "l2", "hbm"), twins=True):
    """Synthetic kernels under their roofs; with twins two of three nearly repeat the one before."""
    rng = random.Random(seed)  # noqa: S311  no secret here
    kernels = []
    for i in range(count):
        if twins and i % 3 and kernels:
            before = kernels[-1]
            wobble = 1.0 if i % 7 == 0 else 10 ** rng.uniform(-0.03, 0.03)
            points = tuple(
                replace(p, intensity=p.intensity * wobble, per_second=p.per_second * wobble**0.5) for p in before.points
            )
            kernels.append(KernelPoints(f"k{i}", f"k{i}", points, time_share=0.2 / (i + 1)))
            continue
        l1 = 10 ** rng.uniform(-0.9, 1.2)
        intensity = {"l1": l1, "l2": l1 * 3, "hbm": l1 * 10 ** rng.uniform(0.5, 1.5)}
        rate = min(h200().attainable(lv, x) for lv, x in intensity.items()) * 10 ** rng.uniform(-1.3, -0.05)
        points = tuple(Point(lv, 1e6, intensity[lv], rate) for lv in levels)
        kernels.append(KernelPoints(f"k{i}", f"k{i}", points, time_share=0.2 / (i + 1)))
    return kernels


def lines(figure: Figure, gid: str) -> list[Line2D]:
    return [line for line in figure.axes[0].get_lines() if (line.get_gid() or "").startswith(gid)]


def texts(figure: Figure, gid: str) -> list[str]:
    return [t.get_text() for t in artists(figure, gid)]


def artists(figure: Figure, gid: str) -> list[Text]:
    return [t for t in (*figure.texts, *figure.axes[0].texts) if (t.get_gid() or "").startswith(gid)]


def legend_texts(figure: Figure) -> list[str]:
    legend = figure.axes[0].get_legend()
    return [t.get_text() for t in legend.get_texts()] if legend else []


def names(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir()]


def boxes(figure: Figure, gid: str):
    return [Text.get_window_extent(t) for t in artists(figure, gid)]


def overlapping(one, other) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1
