# SPDX-License-Identifier: Apache-2.0
"""Tick aliasing: mpstat shows less than the load says it used. Figures: one CPU, HZ=250, tick accounting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.findings.cpu import TOLERANCE_CORES, TOLERANCE_RATIO
from linewatt.model import CpuShares, EndResult, Flag
from linewatt.sensors.cpu_check import check

cores = st.floats(0, 64)


def end(mpstat: float | None, load: float | None, app: CpuShares | None = None) -> EndResult:
    return EndResult("dut", "receiver", mpstat, app, None, load, None)


def codes(flags: list[Flag]) -> list[str]:
    return [flag.code for flag in flags]


@pytest.mark.parametrize(
    ("load", "mpstat_cores", "load_cores", "disagree"),
    [
        ("udp at 1 Gbit/s", 0.010, 0.281, True),
        ("udp at 1 Gbit/s with a pacing timer of 317 us", 0.269, 0.269, False),
        ("tcp at 5 Gbit/s", 0.003, 0.057, True),
        ("udp unlimited", 0.998, 0.999, False),
    ],
)
def test_measured_cases_of_tick_aliasing_are_told_from_sound_ones(
    load: str, mpstat_cores: float, load_cores: float, disagree: bool
) -> None:
    flags = check(end(mpstat_cores, load_cores), paced=False, tick_accounting=True)
    assert ("cpu-accounting-disagrees" in codes(flags)) == disagree, load


def test_a_disagreement_shows_both_figures_and_what_to_do() -> None:
    (flag,) = check(end(0.010, 0.281), paced=False, tick_accounting=None)
    assert flag.where == "dut"
    assert "0.281" in flag.evidence
    assert "0.010" in flag.evidence
    assert "--pacing-timer" in flag.advice
    assert "CONFIG_VIRT_CPU_ACCOUNTING_GEN" in flag.advice


@given(cores, cores)
def test_a_host_that_shows_at_least_what_the_load_used_is_never_flagged(load: float, more: float) -> None:
    assert check(end(load + more, load), paced=False, tick_accounting=True) == []


@given(cores, st.floats(1.01, 10))
def test_hidden_cpu_beyond_both_tolerances_is_always_flagged(load: float, factor: float) -> None:
    hidden = factor * max(TOLERANCE_CORES, TOLERANCE_RATIO * load)
    assert codes(check(end(load - hidden, load), paced=False, tick_accounting=False)) == [
        "cpu-accounting-disagrees"
    ]


@pytest.mark.parametrize(("mpstat", "load"), [(None, 0.3), (0.3, None), (None, None)])
def test_without_both_figures_there_is_nothing_to_compare(mpstat: float | None, load: float | None) -> None:
    assert check(end(mpstat, load), paced=False, tick_accounting=True, dedicated=True) == []


@pytest.mark.parametrize("load", [0.3, 0.9], ids=["it agrees", "it disagrees"])
def test_ticks_that_were_checked_are_not_warned_of(load: float) -> None:
    assert "tick-accounting" not in codes(check(end(0.3, load), paced=True, tick_accounting=True))


@pytest.mark.parametrize(
    ("paced", "ticks", "flagged"),
    [(True, True, True), (True, False, False), (True, None, False), (False, True, False)],
)
def test_a_paced_load_that_nothing_can_check_under_ticks_is_told(
    paced: bool, ticks: bool | None, flagged: bool
) -> None:
    flags = check(end(0.3, None), paced=paced, tick_accounting=ticks)
    assert codes(flags) == (["tick-accounting"] if flagged else [])
    assert all("the load's own CPU use is missing" in flag.evidence for flag in flags)


def test_a_role_whose_host_is_not_covered_is_told_under_ticks() -> None:
    (flag,) = check(end(None, 0.3, shares(0.1, 0.1)), paced=True, tick_accounting=True)
    assert flag.code == "tick-accounting"
    assert "that of the whole host is missing" in flag.evidence


def test_where_no_cpu_figure_is_shown_ticks_make_none_doubtful() -> None:
    assert check(end(None, 0.3), paced=True, tick_accounting=True) == []


def shares(usr: float, sys: float, cpus: tuple[int, ...] = (0,)) -> CpuShares:
    return CpuShares(cpus, usr, sys, 0.0, 0.0, 1 - usr - sys, 0.0)


def test_a_stranger_on_a_dedicated_app_cpu_is_found() -> None:
    crowded = end(1.0, 0.3, shares(0.5, 0.4))
    (flag,) = check(crowded, paced=False, tick_accounting=False, dedicated=True)
    assert flag.code == "cpu-accounting-disagrees"
    assert "0.900 cores of usr and sys" in flag.evidence
    assert "another process" in flag.advice
    assert check(crowded, paced=False, tick_accounting=False) == []


@pytest.mark.parametrize(
    ("mpstat", "load", "app"),
    [
        (1.9, 1.6, shares(0.2, 0.65, (0, 1))),
        (0.934, 0.86, shares(0.02, 0.47)),
        (0.254, 0.105, shares(0.04, 0.143)),
    ],
    ids=["exact", "ticks, softirq work in the load's figure", "ticks, little load, sensors beside it"],
)
def test_the_load_alone_on_its_app_cpus_is_no_stranger(mpstat: float, load: float, app: CpuShares) -> None:
    assert check(end(mpstat, load, app), paced=False, tick_accounting=True, dedicated=True) == []


@given(st.floats(0, 1), st.floats(0, 1))
def test_receive_work_that_interrupts_the_load_is_no_stranger(usr_sys: float, soft: float) -> None:
    app = CpuShares((0,), 0.0, usr_sys * (1 - soft), 0.0, soft, (1 - usr_sys) * (1 - soft), 0.0)
    without_softirq = end(1.0, app.sys_ratio, app)
    assert check(without_softirq, paced=False, tick_accounting=False, dedicated=True) == []
