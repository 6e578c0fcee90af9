# SPDX-License-Identifier: Apache-2.0
"""What all tests stand on, however they were launched and however busy the machine is."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests import again
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("any-pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-pace")  # the rest stays as it was, CI's fixed examples too

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="linewatt-cache-")  # not the one of who tests
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# What a script starts with `&` ignores it, and hands that down: Python then raises no KeyboardInterrupt, and
# bash cannot trap it (bash(1), SIGNALS). Processes that tests start begin with the default again.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = (
    *("test_network_matrix", "test_slow_meters", "test_fit_energy", "test_idle", "test_sockperf"),
    *("test_ledgers", "test_soak"),
    *("test_faults", "test_lost", "test_networks", "test_users_server", "test_lab", "test_users_fleet"),
    *("test_report_browser", "test_first_fold_browser", "test_large_page_browser", "test_matrix_browser"),
    *("test_prepare", "test_experiment", "test_slow_writes", "test_evidence", "test_network_knob"),
    *("test_campaign_bad", "test_mutants", "test_large_report", "test_wiring", "test_soak_report"),
    *("test_compare_soaks", "test_report_html", "test_store"),
    *("test_trials", "test_hosts", "test_stored"),
)
"""files whose tests begin first, so that none of them is what all wait for at the end"""
APART = (
    *("test_slow_meters", "test_soak", "test_lost", "test_experiment", "test_slow_writes", "test_storing"),
    *("test_campaign", "test_garbage", "test_evidence", "test_check", "test_ends"),
    *("test_power", "test_ipmi", "test_login", "test_bmc_lab", "test_ftp_user", "test_placement"),
)
"""files of the labs whose tests have nothing in common but a lab that any worker has"""
NICE = 10
"""of what only computes beside labs, whose heartbeats may not come late"""

TALKING = (
    *("test_batch", "test_bench_power", "test_clock", "test_command", "test_cpufreq"),
    *("test_estimate", "test_http", "test_hwmon", "test_iperf3", "test_ipmi", "test_ipmitool"),
    *("test_lab_feeder", "test_leash", "test_link", "test_modbus", "test_mpstat"),
    *("test_netcounters", "test_qdisc", "test_rapl", "test_readback", "test_redfish"),
    *("test_snmp", "test_threads", "test_users_folder", "test_users_server", "test_users_url"),
)
"""unit tests that wait for programs they start, within limits of the product: they do more than compute"""


def _waits(nodeid: str) -> bool:
    """Whether a test waits for programs it starts."""
    computes = nodeid.startswith(("tests/unit/", "tests/fuzz/"))
    return not computes or Path(nodeid.partition("::")[0]).stem in TALKING


def pytest_configure(config: pytest.Config) -> None:
    again.watch(config, _waits)


def _unit(nodeid: str) -> str:
    """What one worker runs in one piece: a file, or a test of a file of which many take long."""
    file = nodeid.partition("::")[0]
    return nodeid if file.startswith("tests/lab/") and Path(file).stem in APART else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = str if config.option.markexpr == "timed" else _unit
    return scheduling


def _evenly(*queues: Sequence[str]) -> list[str]:
    """Queues as one, so that all of them end together."""
    places = [(at / len(queue), unit) for queue in queues for at, unit in enumerate(queue)]
    return [unit for _, unit in sorted(places, key=lambda place: place[0])]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Side by side: labs, which wait for two thirds of their time, among what computes all the time."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        units.setdefault(_unit(item.nodeid), []).append(item)

    def begins(unit: str) -> int:
        name = Path(unit.partition("::")[0]).stem
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    ordered = sorted(units, key=begins)
    computing = [unit for unit in ordered if unit.startswith(("tests/unit/", "tests/fuzz/"))]
    waiting = [unit for unit in ordered if unit not in set(computing)]
    items[:] = [item for unit in _evenly(waiting, computing) for item in units[unit]]


@pytest.fixture(autouse=True, scope="module")
def _nice(request: pytest.FixtureRequest) -> Iterator[None]:
    """Beside labs, what only computes gives way; where a worker may not take that back, it does not."""
    node = request.node.nodeid
    if "PYTEST_XDIST_WORKER" not in os.environ or _waits(node) or os.geteuid() != 0:
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, min(before + NICE, 19))
    yield
    os.setpriority(os.PRIO_PROCESS, 0, before)
