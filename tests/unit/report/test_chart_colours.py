# SPDX-License-Identifier: Apache-2.0
"""Colours that stand beside each other in charts differ in lightness: on grey paper, and to every eye."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from linewatt import report
from linewatt.report.charts import specs
from linewatt.report.trials.charts.heat_map import STEPS
from linewatt.report.trials.charts.paired_bars import PARTS, SIDES

LEAST = 10.0
"""CIE L* by which neighbours differ: four to five just noticeable differences"""
LEAST_OF_STEPS = 5.0
"""of steps of a heat map, which have their numbers in them"""
# What an eye without M cones sees of linear sRGB. Source: Machado, Oliveira, Fernandes 2009, severity 1.0
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
ENDS = (specs.RECEIVER, specs.SENDER)
NEIGHBOURS: Mapping[str, Sequence[tuple[str, str]]] = {
    # a share of 0 is not drawn, so that any two may touch
    "shares of a CPU": list(itertools.combinations(specs.SHARE_COLOURS.values(), 2)),
    "app and IRQ CPUs": [(PARTS["App CPU"], PARTS["IRQ CPU"])],
    "generated and received": [(SIDES["generated"], SIDES["received"])],
    "receiver and sender": [ENDS],
}


@cache
def style() -> str:
    return (Path(report.__file__).parent / "style.css").read_text(encoding="utf-8")


def in_scheme(scheme: str) -> dict[str, str]:
    """The colours of style.css in a scheme, by their names."""
    light, _, rest = style().partition("@media screen and (prefers-color-scheme: dark)")
    dark = rest.partition("* { box-sizing")[0]
    found = dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]{6});", light if scheme == "light" else dark))
    assert len(found) > 30, f"{scheme}: style.css is written otherwise"
    return found


def parts(colour: str) -> tuple[str, str]:
    """Name and fallback of ``var(--name, #fallback)``."""
    found = re.fullmatch(r"var\((--[a-z0-9-]+), (#[0-9a-f]{6})\)", colour)
    assert found, colour
    return found[1], found[2]


def linear(colour: str) -> list[float]:
    values = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def lightness(colour: str, eye: str = "normal") -> float:
    """CIE L* of an sRGB colour, 0 (black) to 100 (white)."""
    seen = linear(colour)
    if eye == "deuteranopia":
        seen = [
            min(1.0, max(0.0, sum(a * b for a, b in zip(row, seen, strict=True)))) for row in DEUTERANOPIA
        ]
    luminance = 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]
    cube = luminance ** (1 / 3) if luminance > (6 / 29) ** 3 else luminance * (29 / 6) ** 2 / 3 + 4 / 29
    return 116 * cube - 16


def apart(one: str, other: str, eye: str) -> float:
    return abs(lightness(one, eye) - lightness(other, eye))


eyes = pytest.mark.parametrize("eye", ["normal", "deuteranopia"])
schemes = pytest.mark.parametrize("scheme", ["light", "dark"])


def test_lightness_is_that_of_cie() -> None:
    assert lightness("#ffffff") == pytest.approx(100, abs=0.01)
    assert lightness("#000000") == pytest.approx(0, abs=0.01)
    assert lightness("#777777") == pytest.approx(50.03, abs=0.05)
    assert lightness("#777777", "deuteranopia") == pytest.approx(50.03, abs=0.05), "grey is seen as it is"
    assert apart("#e66100", "#d4a017", "normal") > apart("#c64600", "#1a5fb4", "normal")


@eyes
@schemes
@pytest.mark.parametrize("chart", NEIGHBOURS)
def test_neighbouring_colours_differ_in_lightness(chart: str, scheme: str, eye: str) -> None:
    shown = in_scheme(scheme)
    for one, other in NEIGHBOURS[chart]:
        names = parts(one)[0], parts(other)[0]
        assert apart(shown[names[0]], shown[names[1]], eye) >= LEAST, names


@eyes
@schemes
def test_steps_of_a_heat_map_go_one_way_in_lightness(scheme: str, eye: str) -> None:
    shown = in_scheme(scheme)
    steps = [lightness(shown[f"--heat-{step}"], eye) for step in range(1, len(STEPS) + 1)]
    by = [after - before for before, after in itertools.pairwise(steps)]
    assert all(step <= -LEAST_OF_STEPS for step in by) or all(step >= LEAST_OF_STEPS for step in by), steps


def test_charts_fall_back_to_the_colours_of_the_light_page() -> None:
    light = in_scheme("light")
    used = [*specs.LINES, *specs.SHARE_COLOURS.values(), specs.MUTED]
    assert dict(map(parts, used)) == {parts(one)[0]: light[parts(one)[0]] for one in used}
    for step, (ground, ink) in enumerate(STEPS, start=1):
        assert (ground, ink) == (light[f"--heat-{step}"], light[f"--heat-ink-{step}"])


@schemes
def test_lines_stand_out_from_their_ground(scheme: str) -> None:
    shown = in_scheme(scheme)
    ground = sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(shown["--ground"]), strict=True))
    for colour in (*specs.LINES, specs.MUTED):
        own = sum(
            a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(shown[parts(colour)[0]]), strict=True)
        )
        low, high = sorted((ground, own))
        assert (high + 0.05) / (low + 0.05) >= 3, colour
