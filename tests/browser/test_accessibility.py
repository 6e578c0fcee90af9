# SPDX-License-Identifier: Apache-2.0
"""What axe finds in every kind of page, light and dark, wide and on a phone, with everything unfolded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from scripts.gallery.studies import read as imported
from tests import compare_factories
from tests.browser.conftest import Open, Scheme
from tests.effect_factories import experiment_result, experiment_trials
from tests.report_factories import (
    demo_trials,
    failed,
    host,
    idle_reading,
    level_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
    watts,
)
from tests.soak_result import Shape, write

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.comparison.compare import exit_finding
from linewatt.features.advice.fleet.advice import advise_fleet
from linewatt.features.advice.fleet.points import operating_points
from linewatt.features.advice.fleet.question import Question, Redundancy
from linewatt.features.advice.fleet_report.printers import page as fleet_page
from linewatt.features.advice.fleet_report.sources import choose_series, of_result
from linewatt.features.advice.psu.supplies import Supply
from linewatt.features.advice.psu.tables import certified
from linewatt.features.history import page as history_page
from linewatt.features.history.regressions import regressions
from linewatt.features.history.report import History
from linewatt.features.soak import digest as soaks
from linewatt.features.soak import page as soak_page
from linewatt.features.tables.result_kind import KIND as PUBLISHED
from linewatt.model import Case, Flag
from linewatt.placement.hwloc import parse_lstopo_xml
from linewatt.placement.policy import Wish, place_processes
from linewatt.report.comparison import page as comparison_page
from linewatt.report.machine.placement_page import Placements
from linewatt.report.printing import html
from linewatt.report.trials.digest import digest_of
from linewatt.store import read

pytestmark = pytest.mark.browser

TOPOLOGY = Path(__file__).parents[1] / "captures" / "topology" / "2.9.0-v2-devices" / "topology.xml"


def short_page(_: Path) -> str:
    """Lines, findings and the environment: axe takes about 1 ms for each element."""
    hosts = {name: host(name, lab="demo", shares_cpus_with=["h1", "h2"]) for name in ("h1", "h2")}
    return html.render_html(digest_of(result(demo_trials(1)[:2], hosts=hosts)))


def trials_page(_: Path) -> str:
    """Lines, bars, watts, levels, findings and a failed trial, few of each."""
    tcp = powered(scaling_trials((8,), 2), provenance="simulated", ends=("receiver", "sender"))
    levels = level_trials(Case("udp-1500", "h1", "h2"), provenance="simulated", met={0.5: 0.9}, trials=1)
    bad = failed(1, Case("udp-60", "h1", "h2"), "h2: no route to host")
    hosts = {name: host(name, lab="demo", shares_cpus_with=["h1", "h2"]) for name in ("h1", "h2")}
    idle = {"h2": idle_reading(watts("psu-out:PSU1", 180.0, provenance="simulated"))}
    made = renumbered(tcp, demo_trials(2), levels, (bad,))
    return html.render_html(digest_of(result(made, hosts=hosts, idle=idle)))


def matrix_page(_: Path) -> str:
    """Three hosts and two networks; half of the pairs were not run."""
    pairs = list(itertools.permutations(("altra", "netdev19", "x89"), 2))[3:]
    made = [
        replace(one, case=replace(one.case, sender=sender, receiver=receiver, network=network))
        for sender, receiver in pairs
        for network in ("bare", "vxlan")
        for one in scaling_trials((1,), 2)
    ]
    return html.render_html(digest_of(result(renumbered(made))))


def experiment_page(_: Path) -> str:
    return html.render_html(digest_of(experiment_result(experiment_trials())))


def soak_page_of(root: Path) -> str:
    shape = Shape(duration_s=420, kill_at=150, away_s=60, drops_at=220, lost_client=("c3", 330, 390))
    return soak_page.render(soaks.digest(read.load_result(write(root, shape)[0])))


def comparison(root: Path) -> str:
    """Two cases with lines over time; of one the samples of a trial are missing."""
    runs = compare_factories.runs
    case = replace(compare_factories.TCP, instances=4)
    base = compare_factories.made("base", compare_factories.numbered(runs(), runs(case, seed=2)))
    slower = compare_factories.numbered(runs(ratio=0.9, seed=3), runs(case, seed=4))
    other = compare_factories.made("other", slower, day=2)
    found = compare_factories.compared(base, other)
    with_rates = compare_factories.with_rates
    paths = with_rates(root, base, without=(12,)), with_rates(root, other)
    return comparison_page.render_comparison_page(found, exit_finding(found, ()), paths)


def history(_: Path) -> str:
    """A step with another kernel, a bad night, a doubtful result and a course that drifts."""
    stolen = Flag("cpu-stolen", "h2", "steal", "look")
    sides = []
    for day in range(1, 15):
        ratio = 0.5 if day == 4 else 1.0 if day < 8 else 0.9
        tcp = compare_factories.runs(ratio=ratio, seed=day, flags=(stolen,) if day == 12 else ())
        udp = compare_factories.runs(compare_factories.UDP, ratio=1 - 0.01 * day, seed=50 + day)
        kernel = {"release": "5.14" if day < 8 else "6.12"}
        hosts = {name: compare_factories.with_facts(name, kernel=kernel) for name in ("h1", "h2")}
        made = compare_factories.made("r", compare_factories.numbered(tcp, udp), day=day, hosts=hosts)
        sides.append(compare_factories.side(f"r{day}", made))
    found = compare_factories.courses_of_sides(sides, THROUGHPUT)
    return history_page.render(History(found, len(sides), regressions=regressions(found)))


def published(name: str, root: Path) -> str:
    """A shipped table without trials."""
    return PUBLISHED.page(imported(name, root), None)


def fleet(_: Path) -> str:
    """Servers for a target, with intervals, simulated watts, and power supplies."""
    source = of_result(
        result(renumbered(powered(scaling_trials(trials=5), provenance="simulated"))), "receiver"
    )
    chosen = choose_series(source, None)
    asked = Question(
        1e12, 0.2, Redundancy(1), 1.3, 0.15, supply=Supply(2, 400.0), table=certified("platinum")
    )
    points = operating_points(chosen.summaries, "receiver", source.findings)
    return fleet_page(advise_fleet(chosen.title, "receiver", points, asked), source)


def placement(root: Path) -> str:
    """Pictures of a machine of two nodes: one process beside its interrupts, and more than its cores."""
    topology = parse_lstopo_xml(TOPOLOGY.read_text(encoding="utf-8"))
    by_count = {count: place_processes(topology, Wish(count, nic="ens2f0np0")) for count in (1, 16)}
    usable = frozenset(topology.allowed)
    target = root.parent / "place.html"
    Placements(topology, "ens2f0np0", 1, usable, by_count).write_page(target, "topology.xml")
    return target.read_text(encoding="utf-8")


LOOKS: tuple[tuple[Scheme, int], ...] = (("light", 1400), ("dark", 390))
PAGES: Mapping[str, Callable[[Path], str]] = {
    "short": short_page,
    "trials": trials_page,
    "matrix": matrix_page,
    "experiment": experiment_page,
    "soak": soak_page_of,
    "comparison": comparison,
    "fleet": fleet,
    "history": history,
    "placement": placement,
    "published means": partial(published, "vxlan"),
    "published soak": partial(published, "opteron_soak"),
}


@cache
def axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """What axe calls serious or critical, each with the first elements that it is about."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    page.evaluate(axe())  # as a user of the page would: the page itself may run no script
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"], "axe looked at nothing"
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:4]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def violations_in_both_looks(page: Page) -> list[str]:
    """Violations in light and wide, and in dark on a phone; in both, only tables and charts may be wider."""
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found.append(f"{scheme}: {wide} px wide in a window of {width} px")
        found += [f"{scheme}, {width} px: {one}" for one in violations(page)]
    return found


@pytest.mark.parametrize(
    "name", ["short", *(pytest.param(name, marks=pytest.mark.full) for name in PAGES if name != "short")]
)
def test_axe_finds_nothing_serious(open_file: Open, tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGES[name](tmp_path / "results"), encoding="utf-8")
    assert violations_in_both_looks(open_file(path).page) == []


def test_axe_finds_what_is_there(open_file: Open, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><html lang='en'><title>x</title><main><h1>x</h1>"
        "<p style='color:#ccc;background:#fff'>pale</p></main>"
    )
    assert [one.partition(":")[0] for one in violations(open_file(bad).page)] == ["color-contrast"]
