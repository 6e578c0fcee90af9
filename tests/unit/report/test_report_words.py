# SPDX-License-Identifier: Apache-2.0
"""Sentences: caveats, progress; and the environment side by side."""

from __future__ import annotations

from tests.report_factories import (
    FACTS,
    demo_trials,
    failed,
    host,
    hosts_of,
    renumbered,
    result,
    scaling_trials,
)

from linewatt.model import Case
from linewatt.records import Idle, IdleHost
from linewatt.report.machine.environment import FactGroup, environment_groups
from linewatt.report.trials.caveats import caveats, progress
from linewatt.report.trials.digest import digest_of
from linewatt.units import format_time_utc

TCP = Case("tcp", "h1", "h2")
LAB = {
    "h1": host("h1", lab="demo", shares_cpus_with=["h2"]),
    "h2": host("h2", lab="demo", shares_cpus_with=["h1"]),
}


def sections(*hosts: dict[str, object]) -> dict[str, FactGroup]:
    return {
        section.name: section
        for section in environment_groups(hosts_of({str(each["name"]): each for each in hosts}))
    }


def test_lab_and_shared_cpus_are_said_first() -> None:
    lab, shared = caveats(digest_of(result(demo_trials(), hosts=LAB)))
    assert lab.startswith("Lab: h1 and h2 are simulated hosts")
    assert shared.startswith("h1 and h2 share CPUs")


def test_sharing_with_a_host_that_takes_no_part_is_no_caveat() -> None:
    hosts = {"h1": host("h1", shares_cpus_with=["h9"]), "h2": host("h2")}
    assert caveats(digest_of(result(demo_trials(), hosts=hosts))) == ()


def test_an_unfinished_result_says_how_to_go_on() -> None:
    view = digest_of(result(demo_trials(), planned=20))
    assert progress(view) == "15 of 20 trials done, 5 not run"
    assert any("linewatt resume 20260101-000000-x64-scaling" in caveat for caveat in caveats(view))


def test_failures_are_said() -> None:
    view = digest_of(result(renumbered(scaling_trials((1,)), [failed(1, TCP, "gone")])))
    assert progress(view) == "3 of 4 trials done, 1 failed"
    assert caveats(view) == ("1 trial failed and is left out of every number.",)


def test_times_are_utc_and_unknown_time_is_a_dash() -> None:
    assert format_time_utc(1_767_225_600) == "2026-01-01 00:00 UTC"
    assert format_time_utc(None) == "–"


def test_only_known_values_that_disagree_differ() -> None:
    other = FACTS | {"kernel": {"release": "6.9", "cmdline": None, "hz": 1000}}
    found = sections(host("h1"), host("h2", facts=other))
    rows = {row.name: row for row in found["Kernel"].rows}
    assert rows["release"].differs
    assert rows["release"].values == ("5.14.0-427", "6.9")
    assert not rows["hz"].differs
    assert rows["cmdline"].values == ("isolcpus=0-15 quiet", "–")
    assert not rows["cmdline"].differs, "what is unknown cannot be said to differ"
    assert found["Kernel"].differing == 1


def test_what_names_a_host_is_no_difference_and_how_to_reach_it_is_left_out() -> None:
    rows = {row.name: row for row in sections(host("h1"), host("h2"))["In the campaign"].rows}
    assert rows["address"].values[0] != rows["address"].values[1]
    assert not rows["address"].differs
    assert not {"user", "key_file", "port"} & set(rows)


def test_nested_facts_are_flattened_and_unread_ones_named() -> None:
    cpu = sections(host("h1"))["CPU"]
    assert {row.name: row.values for row in cpu.rows}["mitigations.spectre_v2"] == ("Retpolines",)
    assert cpu.unread == ("mitigations.mds",)


def test_rates_and_frequencies_are_in_units_people_read() -> None:
    facts = {"nic": {"speed_bps": 1e11}, "cpu": {"base_frequency_hz": 3.2e9, "cores": 32}}
    found = sections(host("h1", facts=facts))
    assert [(row.name, row.values) for row in found["NIC"].rows] == [("speed", ("100 Gbps",))]
    assert found["CPU"].rows[0].name == "base_frequency"
    assert found["CPU"].rows[0].values == ("3.20 GHz",)


def test_lists_of_mappings_are_numbered() -> None:
    facts = {"memory": {"dimms": [{"size": "16 GiB"}, {"size": "32 GiB"}], "channels": [1, 2]}}
    rows = {row.name: row.values[0] for row in sections(host("h1", facts=facts))["Memory"].rows}
    assert rows == {"dimms.1.size": "16 GiB", "dimms.2.size": "32 GiB", "channels": "1, 2"}


def test_whatever_looks_like_a_secret_is_not_shown() -> None:
    power = {"bmc": {"password": "hunter2", "password_env": "BMC_PASSWORD"}}
    rows = {row.name: row.values for row in sections(host("h1", power=power))["In the campaign"].rows}
    assert rows["power.bmc.password"] == ("(not shown)",)
    assert rows["power.bmc.password_env"] == ("BMC_PASSWORD",)


def test_idle_is_in_percent_and_unknown_idle_says_why() -> None:
    idle = Idle(hosts={"h1": IdleHost(cpu_cores=0.021), "h2": IdleHost(reason="no mpstat")})
    every = environment_groups(hosts_of({"h1": {}, "h2": {}}), idle)
    [section] = [one for one in every if one.name.startswith("Idle")]
    assert section.rows[0].values == ("2.1 %", "– (no mpstat)")


def test_a_host_without_facts_has_dashes() -> None:
    tools = sections(host("h1"), host("h2", facts={}))["Tools"]
    assert {row.values[1] for row in tools.rows} == {"–"}
    assert tools.unread == ("ethtool",)
