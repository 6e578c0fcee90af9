# SPDX-License-Identifier: Apache-2.0
"""How busy the CPUs of a running trial are now, by role, from the newest record of mpstat."""

from __future__ import annotations

from typing import Any

import pytest

from linewatt.engine.events import Placed
from linewatt.engine.live import current_readings
from linewatt.engine.live.current_readings import CpuNow, cpu_now
from linewatt.engine.live.feed import Feed
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.clock import now_s
from linewatt.sensors.mpstat import MPSTAT_COLUMNS, SENSOR, MpstatConfig

RECEIVER = Placed("h1", "receiver", (2, 3), (0,))
TABLE = {
    0: {"soft": 40.0, "idle": 60.0},
    1: {"idle": 100.0},
    2: {"usr": 20.0, "sys": 70.0, "idle": 5.0, "iowait": 5.0},
    3: {"sys": 60.0, "steal": 30.0, "idle": 10.0},
}


def mpstat(table: dict[int, dict[str, float]] = TABLE, age_s: float = 0.0) -> Feed:
    """A host's mpstat that told this of its CPUs, in percent."""
    feed = Feed("h1", SENSOR, MpstatConfig())
    rows = [
        f'{{"cpu": "{cpu}", '
        + ", ".join(f'"{name}": {shares.get(name, 0.0)}' for name in MPSTAT_COLUMNS)
        + "}"
        for cpu, shares in table.items()
    ]
    for text in ('"cpu-load": [', ",\n".join(rows), "\t\t\t\t\t]"):
        feed.take(Line(now_s() - age_s, text))
    return feed


def told(feed: Feed, end: Placed = RECEIVER, **spec: Any) -> CpuNow:
    (found,) = cpu_now([end], [feed], {"h1": HostSpec("h1", "192.0.2.1", "eth0", **spec)})
    return found


def test_each_role_has_the_mean_of_its_cpus_and_the_host_their_sum() -> None:
    found = told(mpstat())
    assert (found.host, found.role, found.cpus) == ("h1", "receiver", 4)
    assert found.cpu_cores == pytest.approx(0.4 + 0.0 + 0.9 + 0.6), "waiting and stolen time is not used"
    assert found.app_busy_ratio == pytest.approx((0.9 + 0.6) / 2)
    assert found.irq_busy_ratio == pytest.approx(0.4)


def test_a_host_that_is_a_part_of_a_machine_has_its_own_cpus_only() -> None:
    found = told(mpstat(), cpus=(0, 1))
    assert found.cpus == 2
    assert found.cpu_cores == pytest.approx(0.4)


def test_cpus_that_a_host_names_for_interrupts_are_those_where_no_other_was_chosen() -> None:
    end = Placed("h1", "sender")
    assert told(mpstat(), end).irq_busy_ratio is None
    assert told(mpstat(), end, irq_cpus=(0, 1)).irq_busy_ratio == pytest.approx(0.2)


def test_a_role_without_cpus_of_its_own_and_a_cpu_that_is_not_told_have_no_number() -> None:
    assert told(mpstat(), Placed("h1", "receiver")).app_busy_ratio is None
    assert told(mpstat(), Placed("h1", "receiver", (2, 9))).app_busy_ratio is None
    found = told(mpstat(), cpus=(0, 9))
    assert found.cpu_cores is None


def test_what_mpstat_said_a_while_ago_is_not_of_now() -> None:
    found = told(mpstat(age_s=current_readings.FRESH_S + 1))
    assert (found.cpu_cores, found.app_busy_ratio, found.irq_busy_ratio) == (None, None, None)
    assert cpu_now([], [mpstat()], {}) == ()
