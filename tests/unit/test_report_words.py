# SPDX-License-Identifier: Apache-2.0
"""Sentences: headlines, caveats, progress; and the environment side by side."""

from __future__ import annotations

from dataclasses import replace

from tests.report_factories import FACTS, demo_trials, end, failed, host, renumbered, result, scaling_trials

from linewatt.analysis.tables.imported import REQUIRED, SHARE_COLUMNS, import_table
from linewatt.analysis.tables.table import read_table
from linewatt.model import Case, Trial
from linewatt.report.machine.environment import FactGroup, environment
from linewatt.report.trials.digest import digest
from linewatt.report.trials.words import Headline, caveats, headline, progress, when

TCP = Case("tcp", "h1", "h2")
LAB = {
    "h1": host("h1", lab="demo", shares_cpus_with=["h2"]),
    "h2": host("h2", lab="demo", shares_cpus_with=["h1"]),
}


def headlines(*trials: Trial) -> list[Headline]:
    return [headline(series) for group in digest(result(trials)).groups for series in group.series]


def sections(*hosts: dict[str, object]) -> dict[str, FactGroup]:
    return {section.name: section for section in environment({str(each["name"]): each for each in hosts})}


def test_headline_is_about_the_case_with_the_most_throughput() -> None:
    [line] = headlines(*scaling_trials((1, 2, 4)))
    assert line.title == "TCP, h1 → h2"
    assert line.value == "79.96 Gbps"
    assert line.lead.startswith("with 4 instances (± ")
    said = " ".join(line.details)
    assert "11,863 Mbps/core of receiver CPU" in said
    assert "% of one core per Gbps on its app and IRQ CPUs" in said
    assert "4 instances: 3.29 × the throughput and 0.82 × the Mbps/core of one." in said
    assert "Limited by the receiver's IRQ CPUs: all 2: 99.5 % busy, 99.5 % soft." in said


def test_headline_of_udp_says_what_was_lost() -> None:
    lines = headlines(*demo_trials())
    assert lines[1].value == "3.737 Gbps"
    assert "12.5 % of the datagrams were lost." in lines[1].details
    assert lines[2].value == "90.90 Mbps"


def test_headline_says_that_one_trial_has_no_spread() -> None:
    [line] = headlines(*scaling_trials((1,), 1))
    assert "its spread is unknown" in line.lead


def test_headline_without_cpu_says_why_the_cost_is_not_known() -> None:
    read = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    lost = replace(read, app_cpu=None, irq_cpu=None)
    [line] = headlines(*(replace(each, receiver=lost) for each in scaling_trials((1,))))
    assert "What it cost the receiver is not known: h2: mpstat ended early." in line.details


def test_headline_of_an_imported_table_says_what_the_table_has() -> None:
    """It has what the app and IRQ CPUs did, and nothing of the whole host or of runs."""
    row = "tcp,arm,gen,{},{},26.8,Gbits/sec,0.80,98.02,0.00,0.00,1.18,0.00,0.02,0.00,98.16,1.81\n"
    head = ",".join((*REQUIRED, *SHARE_COLUMNS)) + "\n"
    text = head + row.format("arm", "receiver") + row.format("gen", "sender")
    table, _ = read_table(text.encode(), "t.csv")
    view = digest(result(import_table(table, "t.csv", 1e9).trials, imported_from="t.csv"))
    line = headline(view.groups[0].series[0], "t.csv")
    assert (
        "7.35 % of one core per Gbps on the receiver’s app and IRQ CPUs; the CPU of all of it is not known: "
        "not in the imported table."
    ) in line.details
    assert not any("What it cost" in each for each in line.details)
    assert progress(view) == "1 trial in the table"
    assert line.lead == "with 1 instance (as t.csv has it; it says nothing of runs and their spread)."


def test_headline_of_failures_has_their_reason_and_no_number() -> None:
    [line] = headlines(failed(1, TCP, "h2: iperf3 is not installed"))
    assert line.value is None
    assert line.sentence == "TCP, h1 → h2: No number: trial 1: h2: iperf3 is not installed."


def test_headline_carries_the_flags_of_its_series() -> None:
    lines = headlines(*demo_trials())
    assert lines[0].flags == ("cpu-accounting-disagrees", "hosts-share-cpus")
    assert lines[1].flags == ()


def test_lab_and_shared_cpus_are_said_first() -> None:
    lab, shared = caveats(digest(result(demo_trials(), hosts=LAB)))
    assert lab.startswith("Lab result: h1 and h2 are simulated hosts")
    assert shared.startswith("h1 and h2 share CPUs")


def test_sharing_with_a_host_that_takes_no_part_is_no_caveat() -> None:
    hosts = {"h1": host("h1", shares_cpus_with=["h9"]), "h2": host("h2")}
    assert caveats(digest(result(demo_trials(), hosts=hosts))) == ()


def test_an_unfinished_result_says_how_to_go_on() -> None:
    view = digest(result(demo_trials(), planned=20))
    assert progress(view) == "15 of 20 trials done, 5 not run"
    assert any("linewatt resume 20260101-000000-x64-scaling" in caveat for caveat in caveats(view))


def test_failures_are_said() -> None:
    view = digest(result(renumbered(scaling_trials((1,)), [failed(1, TCP, "gone")])))
    assert progress(view) == "3 of 4 trials done, 1 failed"
    assert caveats(view) == ("1 trial failed and is left out of every number.",)


def test_times_are_utc_and_unknown_time_is_a_dash() -> None:
    assert when(1_767_225_600) == "2026-01-01 00:00 UTC"
    assert when(None) == "–"


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
    idle = {"h1": {"cpu_cores": 0.021, "reason": None}, "h2": {"cpu_cores": None, "reason": "no mpstat"}}
    [section] = [s for s in environment({"h1": {}, "h2": {}}, idle) if s.name.startswith("Idle")]
    assert section.rows[0].values == ("2.1 %", "– (no mpstat)")


def test_a_host_without_facts_has_dashes() -> None:
    tools = sections(host("h1"), host("h2", facts={}))["Tools"]
    assert {row.values[1] for row in tools.rows} == {"–"}
    assert tools.unread == ("ethtool",)
