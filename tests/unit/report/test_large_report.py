# SPDX-License-Identifier: Apache-2.0
"""A report of a thousand cases: what stands open, what is folded, and how large the file is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from tests.report_factories import PUBLISHED, powered, renumbered, result, trial

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.power import totals
from linewatt.model import ENDS, Case, Trial
from linewatt.report.printing import html
from linewatt.report.series import by_test, series_of
from linewatt.report.trials.digest import Digest, digest_of
from linewatt.report.trials.selection import selection
from linewatt.report.trials.settings.matrix import pair_cases

MOST_BYTES = 3_000_000


def run_twice(case: Case, bps: float, cores: float = 1.5) -> list[Trial]:
    return [replace(trial(1, case, bps * (1 + at / 100), cores), repetition=at + 1) for at in (0, 1)]


@cache
def to_one_server(clients: int = 50, networks: Sequence[str] = ("bare", "vxlan")) -> Digest:
    """50 clients, two networks and families, five numbers of instances: 1,000 cases with watts."""
    made: list[Trial] = []
    series = itertools.product(range(clients), ("ipv4", "ipv6"), networks)
    for (client, family, network), count in itertools.product(series, PUBLISHED):
        mbps, cpu_pct = PUBLISHED[count]
        case = Case("tcp", f"g{client:02d}", "h2", count, family=family, network=network)  # type: ignore[arg-type]
        made += run_twice(case, mbps * 1e6 * (1 - client / 200), cpu_pct / 100)
    return digest_of(result(powered(renumbered(made), provenance="simulated", ends=("receiver", "sender"))))


@cache
def page_of_one_server() -> str:
    return html.render_html(to_one_server())


@cache
def of_pairs(hosts: int) -> str:
    """Every pair of hosts, two tests; 1,012 cases of 23 hosts."""
    pairs = itertools.permutations([f"n{at:02d}" for at in range(hosts)], 2)
    cases = [Case(test, *pair) for pair in pairs for test in ("tcp", "udp-1500")]
    return html.render_html(digest_of(result(renumbered(*(run_twice(case, 9e9) for case in cases)))))


def section(page: str, anchor: str) -> str:
    return page.partition(f'<section id="{anchor}"')[2].partition("</section>")[0]


def opened(text: str) -> str:
    """What stands open of a section."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def test_a_page_of_a_thousand_cases_is_at_most_three_megabytes() -> None:
    assert len(page_of_one_server().encode()) <= MOST_BYTES


@pytest.mark.full
def test_so_is_one_of_a_thousand_pairs() -> None:
    assert len(of_pairs(23).encode()) <= MOST_BYTES


def test_the_ten_fastest_and_the_ten_slowest_series_stand_open_and_the_others_folded() -> None:
    table = section(page_of_one_server(), "scalability")
    assert "TCP: the ten fastest and the ten slowest of 200 series" in table
    assert "<summary>TCP: the other 180 series</summary>" in table
    labels = re.findall(r'class="series"><th[^>]*>([^<]+)<', opened(table))
    assert len(labels) == 20
    assert {name[:3] for name in labels} == {"g00", "g01", "g02", "g47", "g48", "g49"}
    assert len(re.findall(r'class="series"', table)) == 200 + 20, (
        "columns that few need are folded by themselves"
    )


def test_sections_of_details_say_that_they_have_the_extremes_only() -> None:
    for anchor in ("power", "roles", "detail"):
        assert "the ten with the most and the ten with the least throughput" in section(
            page_of_one_server(), anchor
        )
    assert "the ten with the most" not in section(page_of_one_server(), "scalability")


@pytest.mark.parametrize("hosts", [9, pytest.param(23, marks=pytest.mark.full)])
def test_pairs_of_many_hosts_are_in_a_folded_table_and_in_heat_maps(hosts: int) -> None:
    page = of_pairs(hosts)
    matrix, scalability = section(page, "matrix"), section(page, "scalability")
    assert f"<summary>TCP: every pair of hosts, {hosts * (hosts - 1)} rows</summary>" in matrix
    assert "the other" not in scalability
    assert "the ten with the most" in scalability
    quantities = ("throughput_bps", "receiver_cpu_cores_per_bps", "sender_cpu_cores_per_bps")
    assert re.findall(r'data-figure="matrix-([^"]*)"', matrix) == [
        f"{quantity}-{test}" for test in ("tcp", "udp-1500") for quantity in quantities
    ]


def chosen(cases: Sequence[Case]) -> tuple[int, int]:
    trials = renumbered(*([trial(1, case, 1e9 + at, 1.0)] for at, case in enumerate(cases)))
    found = selection(by_test(series_of(summarise(trials))))
    return sum(len(one.series) for one in found.shown), sum(len(one.series) for one in found.others)


def test_up_to_twenty_series_are_all_shown() -> None:
    cases = [Case("tcp", f"g{at:02d}", "h2") for at in range(21)]
    assert chosen(cases[:20]) == (20, 0)
    assert chosen(cases) == (20, 1)


def test_a_series_without_a_number_is_among_the_slowest() -> None:
    cases = [Case("tcp", f"g{at:02d}", "h2") for at in range(25)]
    trials = [trial(at + 1, case, 1e9 + at, 1.0) for at, case in enumerate(cases)]
    trials[12] = replace(trials[12], status="failed", throughput_bps=None, reason="no route")
    found = selection(by_test(series_of(summarise(trials))))
    assert "g12" in {one.summaries[0].case.sender for group in found.shown for one in group.series}


def test_many_hosts_to_one_are_no_matrix_and_few_are() -> None:
    def pairs(hosts: int) -> int:
        trials = [trial(at + 1, Case("tcp", f"g{at:02d}", "h2"), 1e9, 1.0) for at in range(hosts - 1)]
        return len(pair_cases(by_test(series_of(summarise(trials)))))

    assert pairs(12) == 1
    assert pairs(13) == 0


def test_totals_of_both_ends_of_ten_thousand_trials_are_kept_until_a_page_is_made() -> None:
    assert 10_000 * len(ENDS) * 2 <= totals._MOST_KEPT, "of the system, and of the CPUs"
