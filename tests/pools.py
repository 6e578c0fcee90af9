# SPDX-License-Identifier: Apache-2.0
"""Which unit tests run with the labs because they start programs, and which files begin first."""

from __future__ import annotations

from pathlib import Path

BROWSER = "tests/browser"
"""tests that share a Chromium"""
LONGEST = (
    *(
        "test_network_matrix",
        "test_calibrate",
        "test_fans",
        "test_slow_meters",
        "test_users_experiment",
        "test_data_ports",
        "test_groups",
    ),
    *(
        "test_slow_hosts",
        "test_instance_search",
        "test_fit_energy",
        "test_rate_search",
        "test_idle",
        "test_frame_sizes",
    ),
    *("test_sockperf", "test_ledgers", "test_soak", "test_garbage"),
    *("test_faults", "test_lost", "test_networks", "test_users_server", "test_lab", "test_users_fleet"),
    BROWSER,
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
    *("test_live_lab", "test_short"),
)
"""files of the labs whose tests have nothing in common but a lab that any worker has"""
TALKING = (
    *("test_batch", "test_bench_power", "test_clock", "test_command", "test_cpufreq"),
    *("test_estimate", "test_http", "test_hwmon", "test_iperf3", "test_ipmi", "test_ipmitool"),
    *("test_lab_feeder", "test_leash", "test_link", "test_modbus", "test_mpstat"),
    *("test_netcounters", "test_qdisc", "test_rapl", "test_readback", "test_redfish"),
    *(
        "test_processes",
        "test_snmp",
        "test_threads",
        "test_throttling",
        "test_users_folder",
        "test_users_server",
        "test_users_url",
    ),
)
"""unit tests that wait for programs they start, within limits of the product: they do more than compute"""


def unit(nodeid: str) -> str:
    """What one worker runs in one piece: a file, one test of a slow file, or all browser tests."""
    file = nodeid.partition("::")[0]
    if file.startswith(f"{BROWSER}/"):
        return BROWSER
    return nodeid if file.startswith("tests/lab/") and Path(file).stem in APART else file


def begins(unit: str) -> int:
    """Sorts what is run in one piece."""
    name = unit if unit == BROWSER else Path(unit.partition("::")[0]).stem
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)
