# SPDX-License-Identifier: Apache-2.0
"""The picture of hosts in a real browser: boxes lie in boxes, in both schemes, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Open, Scheme
from tests.report_factories import host, result
from tests.topology_factories import machine, placed_trial

from linewatt.model import Case
from linewatt.report.printing import html
from linewatt.report.trials.digest import digest_of

pytestmark = [pytest.mark.browser, pytest.mark.full]

LONG = "a-host-with-a-very-long-name-" * 4


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine of 512 CPUs with a busy node, and a small one with offline and isolated CPUs."""
    large = machine(packages=2, caches=16, cores=8, threads=2, numa_node=1)
    small = machine(cores=8, threads=2, numa_node=-1, isolated=[6, 7], online=list(range(12)))
    hosts = {"h1": host("h1", facts=large), LONG: host(LONG, facts=small)}
    case = Case("tcp", "h1", LONG)
    turns = [(0, 1, 6)[at % 3] for at in range(112)]
    both = placed_trial(1, case, turns, [1, 2], ran_on={0: "0,5"}, sender=list(range(128, 240)))
    path = tmp_path_factory.mktemp("topology") / "report.html"
    html.write_page(path, html.render_html(digest_of(result([both], hosts=hosts))))
    return path


@pytest.fixture(scope="module")
def opened(open_file: Open, report: Path) -> Callable[..., tuple[Page, list[str]]]:
    """The report in a scheme and at a width; opened once, for no test of this file changes it."""
    seen = open_file(report)

    def shown(scheme: Scheme = "light", width: int = 1280) -> tuple[Page, list[str]]:
        seen.look(scheme, width)
        return seen.page, seen.console

    return shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_fits_its_page_and_the_console_stays_empty(
    opened: Callable[..., tuple[Page, list[str]]], scheme: Scheme, width: int
) -> None:
    page, said = opened(scheme, width)
    assert page.locator("#topology figure.machine").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []


@pytest.mark.parametrize("width", [390, 1280])
def test_every_box_lies_within_the_box_that_it_is_part_of(
    opened: Callable[..., tuple[Page, list[str]]], width: int
) -> None:
    page, _ = opened(width=width)
    outside = page.evaluate(
        """[["core", "node"], ["cpu", "core"], ["nic", "nodes"], ["node", "nodes"], ["cache", "node"]]
        .flatMap(([inner, outer]) => [...document.querySelectorAll(`.nodes .${inner}`)].filter(e => {
            const a = e.getBoundingClientRect();
            const b = e.parentElement.closest("." + outer).getBoundingClientRect();
            return a.width < 2 || a.left < b.left - 1 || a.right > b.right + 1
                || a.top < b.top - 1 || a.bottom > b.bottom + 1;
        }).map(e => e.className))"""
    )
    assert page.locator("#topology .nodes .cpu").count() > 100
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("style", ["process", "interrupts", "free", "stray b", "offline"])
def test_signs_and_numbers_stand_out_from_their_cells(
    opened: Callable[..., tuple[Page, list[str]]], scheme: Scheme, style: str
) -> None:
    page, _ = opened(scheme)
    ratio: float = page.locator(f"#topology .nodes .{style}").first.evaluate(
        """e => {
            const parts = text => text.match(/[0-9.]+/g).map(Number);
            const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
            let ground = e;
            const clear = e => (parts(getComputedStyle(e).backgroundColor)[3] ?? 1) === 0;
            while (clear(ground)) ground = ground.parentElement;
            const pair = [light(parts(getComputedStyle(e).color)),
                          light(parts(getComputedStyle(ground).backgroundColor))].sort((a, b) => b - a);
            return (pair[0] + 0.05) / (pair[1] + 0.05);
        }"""
    )
    assert ratio >= 4.5


def test_on_paper_roles_are_told_apart_without_colour(opened: Callable[..., tuple[Page, list[str]]]) -> None:
    page, _ = opened()
    page.emulate_media(media="print")
    looks = {}
    for style, sign in (("process", "P"), ("interrupts", "I"), ("both", "B")):
        cell = page.locator(f"#topology .nodes .{style}").first
        assert sign in cell.locator("b").inner_text()
        looks[style] = cell.evaluate(
            """e => {
                const style = getComputedStyle(e);
                return [style.color, style.backgroundImage, style.borderBottomStyle];
            }"""
        )
    assert all(look[:2] == ["rgb(0, 0, 0)", "none"] for look in looks.values())
    assert len({look[2] for look in looks.values()}) == 3


def test_isolated_cpus_have_an_outline_and_offline_ones_are_struck_through(
    opened: Callable[..., tuple[Page, list[str]]],
) -> None:
    page, _ = opened()
    outline: str = page.locator("#topology .nodes .isolated").first.evaluate(
        "e => getComputedStyle(e).outlineStyle"
    )
    struck: str = page.locator("#topology .nodes .offline").first.evaluate(
        "e => getComputedStyle(e).textDecorationLine"
    )
    assert (outline, struck) == ("solid", "line-through")


def test_the_picture_is_read_out_as_a_sentence(opened: Callable[..., tuple[Page, list[str]]]) -> None:
    page, _ = opened()
    picture = page.get_by_role("img", name="512 CPUs. Processes on CPUs 128-239")
    assert picture.count() == 1
