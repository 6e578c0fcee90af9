# SPDX-License-Identifier: Apache-2.0
"""Matrices of hosts: a table a test, heat maps with a value in each cell, and networks side by side."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.report_factories import end, powered, renumbered, result, scaling_trials, shares, trial

from linewatt.analysis.cases.detail import detail_blocks
from linewatt.analysis.cases.matrix import fullest_matrix, pair_matrices_of
from linewatt.analysis.cases.summary import summarise
from linewatt.model import Case, EndResult, PowerResult, Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import render_svg
from linewatt.report.printing import html
from linewatt.report.series import TestGroup
from linewatt.report.table import Table
from linewatt.report.trials.charts.cases import figures as case_figures
from linewatt.report.trials.charts.heat_map import STEPS, grid, heat_figures, heat_maps, panel_columns
from linewatt.report.trials.charts.paired_bars import MOST_PANELS, paired_figures
from linewatt.report.trials.digest import Digest, digest_of
from linewatt.report.trials.settings.matrix import NO_TRIAL, matrix_table, pair_cases
from linewatt.report.trials.terminal import show_trials
from linewatt.units import MISSING

HOSTS = ("arm", "x19", "x89")
STYLE = Path(html.__file__).parents[1] / "style.css"


def pair_trials(
    hosts: Sequence[str] = HOSTS,
    networks: Iterable[str] = ("bare",),
    *,
    without: Iterable[tuple[str, str]] = (),
    trials: int = 2,
    **case: Any,
) -> tuple[Trial, ...]:
    """Every ordered pair at 10, 11, 12 … Gbps, half of it through any network but the bare one."""
    made = []
    for network in networks:
        for at, (sender, receiver) in enumerate(itertools.permutations(hosts, 2)):
            if (sender, receiver) in without:
                continue
            one = replace(Case("tcp", sender, receiver, network=network), **case)
            bps = (10e9 + at * 1e9) * (1.0 if network == "bare" else 0.5)
            for repetition in range(1, trials + 1):
                part = 1 + 0.02 * (repetition - 1)
                done = trial(1, one, bps * part, 1.5, repetition=repetition)
                done = replace(
                    done,
                    offered_bps=bps * part / (0.9 if one.test != "tcp" else 1.0),
                    sender=_end(sender, "sender"),
                    receiver=_end(receiver, "receiver"),
                )
                made.append(done)
    return renumbered(made)


def _end(host: str, role: Any) -> Any:
    return end(host, role, 1.5, 0, 0, app_cpu=shares(0.5), irq_cpu=shares(0.9, cpus=(1,), soft=0.9))


def view_of(trials: Sequence[Trial]) -> Digest:
    return digest_of(result(trials))


def test_two_hosts_make_no_matrix_and_three_pairs_do() -> None:
    assert pair_matrices_of(summarise(pair_trials(HOSTS[:2]))) == ()
    (one,) = pair_matrices_of(
        summarise(pair_trials(without=[("arm", "x19"), ("arm", "x89"), ("x19", "x89")]))
    )
    assert len(one.cells) == 3


def test_a_matrix_holds_cases_that_differ_in_hosts_only() -> None:
    found = pair_matrices_of(summarise(pair_trials(networks=("bare", "vxlan"))), ("x89", "nobody", "arm"))
    assert [one.case.network for one in found] == ["bare", "vxlan"]
    for one in found:
        assert one.hosts == ("x89", "arm", "x19")
        assert len(one.cells) == 6
        assert one.missing == ()
        assert all(cell.case.hosts == pair for pair, cell in one.cells.items())


def test_pairs_that_were_not_run_are_named() -> None:
    (one,) = pair_matrices_of(summarise(pair_trials(without=[("x19", "arm")])))
    assert one.missing == (("x19", "arm"),)


def tables(groups: Sequence[TestGroup]) -> list[Table]:
    return [matrix_table(cases) for cases in pair_cases(groups)]


def test_of_several_instance_counts_the_largest_is_drawn() -> None:
    trials = renumbered(pair_trials(), pair_trials(instances=4))
    found = pair_matrices_of(summarise(trials))
    assert [one.case.instances for one in found] == [1, 4]
    assert [one.case.instances for one in fullest_matrix(found)] == [4]


def test_a_table_has_every_pair_and_a_dash_with_a_reason_for_one_that_was_not_run() -> None:
    (table,) = tables(view_of(pair_trials(without=[("x19", "arm")])).groups)
    assert len(table.rows) == 6
    (lacking,) = (row for row in table.rows if row.cells[-1].text == "none")
    assert lacking.keys[0].text == "x19 → arm"
    assert {(cell.text, cell.reason) for cell in lacking.cells[:-1]} == {(MISSING, NO_TRIAL)}
    titles = [head.title for head in table.heads]
    assert titles[:3] == ["Throughput", "CPU receiver (remote)", "CPU sender (local)"]
    assert table.rows[1].cells[0].sd is not None


def test_labels_say_what_matrices_of_a_test_differ_in() -> None:
    trials = renumbered(
        pair_trials(networks=("bare", "vxlan")),
        pair_trials(direction="reverse"),
        pair_trials(family="ipv6", instances=4),
    )
    (table,) = tables(view_of(trials).groups)
    assert [group.label for group in table.groups] == [
        "forward, IPv4, bare, 1 instance",
        "forward, IPv4, vxlan, 1 instance",
        "reverse, IPv4, bare, 1 instance",
        "forward, IPv6, bare, 4 instances",
    ]
    (alone,) = tables(view_of(pair_trials()).groups)
    assert alone.groups[0].label == ""


def test_watts_in_the_table_are_marked_unless_measured() -> None:
    plain = [replace(one, case=replace(one.case, sender=s)) for s in "abc" for one in scaling_trials((1,), 1)]
    (table,) = tables(view_of(renumbered(powered(plain, provenance="simulated"))).groups)
    at = [head.title for head in table.heads].index("Power, receiver")
    cells = [row.cells[at] for row in table.rows if row.keys[0].text.endswith("→ h2")]
    assert [cell.mark for cell in cells] == ["sim"] * 3
    assert table.said("legend") != ()


def test_a_heat_map_prints_every_value_and_colours_it_from_zero() -> None:
    maps = heat_maps(pair_cases(view_of(pair_trials(without=[("x19", "arm")])).groups))
    throughput, *costs = maps
    assert throughput.unit == "Gbps"
    assert [(cost.name, cost.unit) for cost in costs] == [
        ("receiver_cpu_cores_per_bps-tcp", "% per Gbps"),
        ("sender_cpu_cores_per_bps-tcp", "% per Gbps"),
    ]
    cells = {(cell.sender, cell.receiver): cell for cell in throughput.cells}
    assert len(cells) == 6
    assert (cells["arm", "x19"].text, cells["x89", "x19"].text) == ("10.1", "15.2")
    assert cells["x89", "x19"].step == len(STEPS) - 1
    assert cells["arm", "x19"].step == int(len(STEPS) * 10.1 / 15.15)
    assert (cells["x19", "arm"].text, cells["x19", "arm"].step) == (MISSING, None)
    assert cells["x19", "arm"].reason == NO_TRIAL
    row = grid(throughput).rows[throughput.matrix.hosts.index("arm")]
    assert [cell.text for cell in row.cells] == ["", "10.1", "11.1"]


def test_watts_above_idle_per_throughput_have_a_map_where_all_are_of_one_scope() -> None:
    trials = powered(pair_trials(trials=2), provenance="simulated", ends=("receiver", "sender"))
    maps = {one.name: one for one in heat_maps(pair_cases(view_of(trials).groups))}
    for role in ("receiver", "sender"):
        found = maps[f"{role}_dynamic_w_per_bps-tcp"]
        assert found.title == f"TCP: power above idle per throughput at the {role}, PSU DC out (simulated)"
        assert found.unit == "W/Gbps"
        assert len([cell for cell in found.cells if cell.step is not None]) == 6
    other_scope = [
        replace(one, receiver=replace(one.receiver, power=_wall(one.receiver)))
        if one.case.receiver == "arm" and one.receiver
        else one
        for one in trials
    ]
    mixed = {one.name for one in heat_maps(pair_cases(view_of(other_scope).groups))}
    assert "receiver_dynamic_w_per_bps-tcp" not in mixed
    assert "sender_dynamic_w_per_bps-tcp" in mixed


def _wall(one: EndResult) -> tuple[PowerResult, ...]:
    return tuple(replace(power, scope="wall") for power in one.power if power.scope != "cpu")


def test_the_best_cell_of_each_map_is_outlined() -> None:
    maps = heat_maps(pair_cases(view_of(pair_trials(networks=("bare", "vxlan"))).groups))
    best = {(one.name, one.label): [cell.text for cell in one.cells if cell.best] for one in maps}
    for one in maps:
        values = sorted((float(cell.text) for cell in one.cells), reverse=one.name.startswith("throughput"))
        assert set(map(float, best[one.name, one.label])) == {values[0]}
    figure = heat_figures(maps)[0]
    assert "Outlined: the best of each map." in figure.caption
    assert render_svg(figure.spec).count('stroke="currentColor" stroke-width="3"') == sum(
        cell.best for one in maps for cell in one.cells if one.name == maps[0].name
    )


def test_no_cell_is_the_best_where_all_have_the_same_figure() -> None:
    trials = [replace(one, throughput_bps=94e9) for one in pair_trials(trials=1)]
    throughput = heat_maps(pair_cases(view_of(trials).groups))[0]
    assert not any(cell.best for cell in throughput.cells)
    assert "Outlined" not in heat_figures([throughput])[0].caption


def test_nearly_equal_values_have_one_colour() -> None:
    trials = [replace(one, throughput_bps=94e9 + one.number * 1e6) for one in pair_trials(trials=1)]
    throughput = heat_maps(pair_cases(view_of(trials).groups))[0]
    assert {cell.step for cell in throughput.cells} == {len(STEPS) - 1}


def test_maps_of_one_test_share_their_scale_and_figure() -> None:
    maps = heat_maps(pair_cases(view_of(pair_trials(networks=("bare", "vxlan"))).groups))
    bare, vxlan = (one for one in maps if one.name.startswith("throughput"))
    assert (bare.label, vxlan.label) == ("bare", "vxlan")
    assert max(cell.step or 0 for cell in bare.cells) == len(STEPS) - 1
    assert max(cell.step or 0 for cell in vxlan.cells) <= len(STEPS) // 2
    figures = heat_figures(maps)
    assert len(figures) == 3
    assert "vxlan: arm → x19 5.05" in figures[0].description
    assert figures[0].wide


def test_cpu_that_nobody_measured_draws_no_map_of_it() -> None:
    bare = [replace(one, sender=None, receiver=None) for one in pair_trials()]
    maps = heat_maps(pair_cases(view_of(bare).groups))
    assert [one.name for one in maps] == ["throughput_bps-tcp"]


def test_a_chart_has_the_values_and_the_missing_pair_as_text() -> None:
    figure = heat_figures(heat_maps(pair_cases(view_of(pair_trials(without=[("x19", "arm")])).groups)))[0]
    svg = render_svg(figure.spec)
    texts = re.findall(r">([^<>]+)</text>", svg)
    assert {"10.1", "15.2", MISSING, "arm", "x89", "Sender", "Receiver"} <= set(texts)
    assert "var(--heat-7, #0d3468)" in svg
    assert "stroke-dasharray" in svg
    assert "Dashed, –: no trial of this pair is on record." in figure.caption


def _palettes() -> list[list[tuple[str, str]]]:
    found = re.findall(r"--heat-\d: (#\w{6}); --heat-ink-\d: (#\w{6});", STYLE.read_text())
    return [found[: len(STEPS)], found[len(STEPS) :]]


def _luminance(colour: str) -> float:
    """Relative luminance. Source: WCAG 2.1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("scheme", "rising"), [(0, False), (1, True)], ids=["light", "dark"])
def test_colours_differ_in_lightness_alone_and_their_text_stands_out(scheme: int, rising: bool) -> None:
    palette = _palettes()[scheme]
    assert len(palette) == len(STEPS)
    grounds = [_luminance(ground) for ground, _ in palette]
    assert grounds == sorted(grounds, reverse=not rising)
    for ground, ink in palette:
        high, low = sorted((_luminance(ground), _luminance(ink)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ground, ink)


def test_the_fallback_colours_are_those_of_the_light_scheme() -> None:
    assert tuple(_palettes()[0]) == STEPS


def test_large_matrices_stand_alone_and_small_ones_side_by_side() -> None:
    assert panel_columns(3, 4) == 4
    assert panel_columns(3, 2) == 2
    assert panel_columns(16, 4) == 1


def paired(trials: Sequence[Trial]) -> tuple[Any, ...]:
    return paired_figures(detail_blocks(trials), runs_of(trials))


def values(figure: Any, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def test_generated_and_received_stand_in_pairs_with_the_networks_side_by_side() -> None:
    throughput, cost = paired(pair_trials(HOSTS[:2], ("bare", "vxlan"), test="udp-1500"))
    means = [row for row in values(throughput, "mean") if row["pair"] == "arm → x19"]
    assert [row["bar"] for row in means] == [
        "bare: generated",
        "bare: received",
        "vxlan: generated",
        "vxlan: received",
    ]
    assert [row["value"] for row in means] == pytest.approx([10.1 / 0.9, 10.1, 5.05 / 0.9, 5.05])
    assert all(row["low"] < row["value"] < row["high"] for row in means)
    assert len(values(throughput, "run")) == 2 * 2 * 2 * 2
    assert "UDP 1500" in cost.title


def test_a_bare_network_and_a_tunnel_are_both_in_the_three_charts_of_each_test() -> None:
    tests, networks = {"tcp": "TCP", "udp-1500": "UDP 1500", "udp-60": "UDP 60"}, ("bare", "vxlan")
    trials = renumbered(*(pair_trials(HOSTS[:2], networks, test=test) for test in tests))
    drawn = {figure.name: figure for figure in paired(trials)}
    roles = case_figures(view_of(trials).groups, runs_of(trials))[-1]
    assert roles.title == "Where the CPU went, by role"
    for test, network in itertools.product(tests, networks):
        for chart in ("throughput", "cost"):
            bars = [
                row
                for row in values(drawn[f"paired-{chart}-{test}"], "mean")
                if row["bar"].startswith(network)
            ]
            assert {row["pair"] for row in bars} == {"arm → x19", "x19 → arm"}
            assert len(bars) == 2 * 2
            assert all(row["low"] < row["value"] < row["high"] for row in bars)
        for pair in ("arm → x19", "x19 → arm"):
            assert (
                f"{tests[test]}, {pair}, {network}, 1 instance: Receiver: app CPU 50 %" in roles.description
            )


def test_cpu_per_throughput_is_stacked_of_app_and_irq_at_each_end() -> None:
    _, cost = paired(pair_trials(HOSTS[:2], ("bare", "vxlan"), test="udp-1500"))
    parts = [
        row for row in values(cost, "part") if row["bar"] == "bare: receiver" and row["pair"].endswith("x19")
    ]
    assert [row["part"] for row in parts] == ["App CPU", "IRQ CPU"]
    (mean,) = (
        row for row in values(cost, "mean") if row["bar"] == "bare: receiver" and row["pair"] == "arm → x19"
    )
    assert sum(row["value"] for row in parts) == pytest.approx(mean["value"])
    assert mean["value"] == pytest.approx((140 / 10 + 140 / 10.2) / 2)


def test_roles_on_the_same_cpus_are_one_bar() -> None:
    both = {"app_cpu": shares(0.5), "irq_cpu": shares(0.5)}
    trials = [
        replace(one, receiver=end(one.case.receiver, "receiver", 1.0, 0, 0, **both))
        for one in pair_trials(networks=("bare", "vxlan"))
    ]
    cost = paired(trials)[1]
    assert {row["part"] for row in values(cost, "part") if row["bar"] == "bare: receiver"} == {"same CPUs"}


def test_each_direction_has_figures_of_its_own() -> None:
    trials = renumbered(pair_trials(), pair_trials(direction="reverse"))
    assert [figure.title for figure in paired(trials)] == [
        "TCP, forward: generated and received",
        "TCP, forward: CPU per throughput at both ends",
        "TCP, reverse: generated and received",
        "TCP, reverse: CPU per throughput at both ends",
    ]


def test_one_pair_on_one_network_needs_no_figure_of_pairs() -> None:
    assert paired(pair_trials(HOSTS[:2])) == ()


def test_a_large_matrix_says_how_many_pairs_are_not_drawn() -> None:
    trials = pair_trials([f"h{n}" for n in range(5)], trials=1)
    figure = paired(trials)[0]
    assert len({row["pair"] for row in values(figure, "mean")}) == MOST_PANELS
    assert f"{20 - MOST_PANELS} more pairs in the tables." in figure.caption


def test_hostile_host_names_are_text_in_the_charts() -> None:
    trials = pair_trials(("<script>alert(1)</script>", "b", "c"))
    figures = [*heat_figures(heat_maps(pair_cases(view_of(trials).groups))), *paired(trials)]
    for figure in figures:
        assert "<script" not in render_svg(figure.spec)


def test_show_has_the_table_and_the_grid() -> None:
    out = io.StringIO()
    Console(file=out, width=400).print(show_trials(view_of(pair_trials(without=[("x19", "arm")]))))
    text = out.getvalue()
    assert "TCP: every pair of hosts" in text
    assert "none" in text
    grid = text[text.index("TCP: throughput (Gbps)") :].splitlines()
    assert grid[1].split() == ["sender", "↓", "receiver", "→", "arm", "x19", "x89"]
    assert grid[3].split() == ["arm", "10.1", "11.1"]
    assert grid[4].split() == ["x19", MISSING, "13.1"]
    assert "every pair" not in _text(pair_trials(HOSTS[:2]))


def _text(trials: Sequence[Trial]) -> str:
    out = io.StringIO()
    Console(file=out, width=400).print(show_trials(view_of(trials)))
    return out.getvalue()


def test_the_report_has_the_sections_only_where_there_is_a_matrix_or_another_network() -> None:
    matrix = html.render_html(view_of(pair_trials()))
    assert "Every pair of hosts" in matrix
    networks = html.render_html(view_of(pair_trials(HOSTS[:2], ("bare", "vxlan"))))
    assert "Networks side by side" in networks
    assert 'id="matrix"' not in html.render_html(view_of(pair_trials(HOSTS[:2])))


def test_a_report_of_sixteen_hosts_stays_of_a_size_to_send() -> None:
    trials = pair_trials([f"host{n:02d}" for n in range(16)], trials=1)
    blocks = detail_blocks(trials)
    figures = [
        *heat_figures(heat_maps(pair_cases(view_of(trials).groups))),
        *paired_figures(blocks, runs_of(trials)),
    ]
    assert sum(len(render_svg(figure.spec)) for figure in figures) < 500_000
