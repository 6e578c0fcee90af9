# SPDX-License-Identifier: Apache-2.0
"""``linewatt plan`` and ``linewatt schema`` as commands."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import inline

EXAMPLES = Path(__file__).parents[3] / "examples"
CAMPAIGNS = sorted(path for path in EXAMPLES.glob("*.yaml") if not path.name.startswith("inventory"))

THOUSAND_CASES = {
    "name": "thousand",
    "hosts": {
        name: {"address": f"192.0.2.{i}", "data": "eth0", "app_cpus": "0-63", "irq_cpus": "64-127"}
        for i, name in enumerate("abcdef", start=1)
    },
    "pairs": "all",
    "directions": ["forward", "reverse"],
    "tests": ["tcp", "udp-1500"],
    "families": ["ipv4", "ipv6"],
    "instances": [1, 2, 4, 8, 16],
    "trials": 10,
}


def written(folder: Path, campaign: dict[str, Any]) -> str:
    path = folder / "campaign.yaml"
    path.write_text(json.dumps(campaign))
    return str(path)


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_every_example_plans(path: Path) -> None:
    done = inline.run("plan", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{path.stem}: ")


def notes_of_energy(path: Path) -> list[str]:
    return [line for line in inline.run("plan", str(path)).stdout.splitlines() if "note: energy of" in line]


def test_a_plan_says_from_which_energies_on_each_meter_can_tell_them() -> None:
    of_bmc, of_wall = notes_of_energy(EXAMPLES / "energy.yaml")
    assert "energy of gen: bmc tells its step when it is asked: at 70 to 270 kpps" in of_bmc
    assert "from no less than 15.0 µJ on, and a bit from 927 pJ on" in of_bmc, "three steps over 200 kpps"
    assert "by 3.1 W (SD) at most, all for each W of it" in of_bmc
    assert "2.00 µJ a packet, which is expected, takes a step of 0.13 W or finer" in of_bmc
    assert "energy of dut: wall in steps of 0.1 W" in of_wall
    assert "from no less than 1.50 µJ on, and a bit from 92.7 pJ on" in of_wall
    assert "2.00 µJ a packet, which is expected, can be told" in of_wall
    assert of_wall.endswith("more slowly than every 7.5 s the window tells nothing")


@pytest.mark.parametrize(
    ("order", "trials", "is_told"),
    [
        ("sequential", 10, True),
        ("interleaved", 1, True),
        ("interleaved", 10, False),
        ("mirrored", 2, False),
        ("random", 1, False),
    ],
)
def test_a_campaign_for_an_energy_fit_in_sorted_order_is_asked_for_a_random_one(
    tmp_path: Path, order: str, trials: int, *, is_told: bool
) -> None:
    entries = [f"{{test: udp-{size}, rate: {rate}M}}" for size in (512, 1500) for rate in (100, 900)]
    keys = f"order: {order}\ntests: [{', '.join(entries)}]\n"
    example = (EXAMPLES / "energy.yaml").read_text()
    sweep = example[example.index("energy:\n") : example.index("trials: 10")]
    said = energy_plan(tmp_path, f"{sweep}trials: 10\n", f"{keys}trials: {trials}\n")
    assert ("trials run in the order of their traffic" in said) is is_told
    assert ("use order: random" in said) is is_told


def energy_plan(tmp_path: Path, old: str = "", new: str = "") -> str:
    path = tmp_path / "energy.yaml"
    path.write_text((EXAMPLES / "energy.yaml").read_text().replace(old or "?", new))
    done = inline.run("plan", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_an_energy_that_no_meter_of_the_campaign_can_tell_is_said_to_be_one(tmp_path: Path) -> None:
    said = energy_plan(tmp_path, "packet_nj: 2000", "packet_nj: 1000")
    assert (
        "1.00 µJ a packet, which is expected, cannot: it takes a step of 0.067 W or finer, or packet" in said
    )
    assert "which is expected" not in energy_plan(tmp_path, "packet_nj: 2000", "#")


def test_a_meter_whose_refresh_is_named_has_no_word_of_slower_ones(tmp_path: Path) -> None:
    of_bmc, of_wall = notes_of_energy(EXAMPLES / "energy.yaml")
    assert all("more slowly than every 7.5 s" in one for one in (of_bmc, of_wall))
    said = energy_plan(tmp_path, "provenance: measured,", "provenance: measured, refresh_s: 1,")
    assert said.count("more slowly than every 7.5 s") == 1


def test_tests_that_are_listed_have_the_same_note_and_a_size_at_one_rate_none(tmp_path: Path) -> None:
    lines = (EXAMPLES / "energy.yaml").read_text().splitlines()
    of_sweep = ("energy:", "  sizes:", "  rates:", "  idle_share:", "  packet_nj:")
    rest = "\n".join(line for line in lines if not line.startswith(of_sweep))
    sweep = [("udp-60", 18), ("udp-512", 470), ("udp-1500", 1472)]
    rates = [
        f"{{test: {name}, rate: {size * 8 * kpps / 1e3}M}}" for name, size in sweep for kpps in (70, 270)
    ]
    path = tmp_path / "tests.yaml"
    path.write_text(f"{rest}\ntests: [{', '.join(rates)}]\n")
    (_, of_wall) = notes_of_energy(path)
    assert (
        "at 70 to 270 kpps 'linewatt fit energy' tells what a packet costs from no less than 1.5" in of_wall
    )
    assert "more slowly" not in of_wall
    path.write_text(f"{rest}\ntests: [{', '.join(rates[1:])}]\n")
    assert notes_of_energy(path) == []


def test_a_sweep_runs_in_random_order_with_idle_between(tmp_path: Path) -> None:
    said = energy_plan(tmp_path)
    assert said.startswith("energy: 9 cases × 10 trials = 90, random order with seed ")
    assert (
        "idle: 31 windows of 30 s before and after the trials of each setting and 29 in between, after every "
        "3 trials, 21 % of loads and idle; with the time until the hosts are quiet 20 min 40 s in all"
    ) in said
    assert "4 in between, after every 22 trials" in energy_plan(tmp_path, "20%", "3.5%")
    longer = energy_plan(tmp_path, "seconds: 30", "seconds: 300")
    assert "windows of 77 s" in longer, "a fifth of one trial of 307 s and one window"
    assert "89 in between, after each trial, 20 % of loads and idle" in longer


def test_there_are_examples() -> None:
    assert {path.stem for path in CAMPAIGNS} >= {"two-hosts", "matrix", "demo"}


def test_plan_shows_cases_hosts_changes_notes_and_time() -> None:
    text = inline.run("plan", str(EXAMPLES / "two-hosts.yaml")).stdout
    assert "26 cases × 10 trials = 260, interleaved" in text
    assert "about 4 h 47 min" in text
    assert "host dut: perf@192.0.2.10 port 22, data enp1s0f0np0, app CPUs 0-7, IRQ CPUs 8-15" in text
    assert "change dut: irq_affinity enp1s0f0np0 = 8-15" in text
    assert "change dut: sysctl net.core.rmem_max = 16777216" in text
    assert "note: gen: 16 instances on 8 CPUs (0-7), so that they share" in text


def test_trials_are_listed_with_their_cpus_and_ports() -> None:
    lines = inline.run("plan", str(EXAMPLES / "demo.yaml"), "--trials").stdout.splitlines()
    assert lines[2].split()[:4] == ["trial", "round", "repetition", "case"]
    rows = [line for line in lines if line.split()[:1] and line.split()[0].isdigit()]
    assert len(rows) == 15
    assert rows[2].split()[-3:] == ["0-3", "0-3", "5201-5204"]


def test_columns_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    text = inline.run("plan", str(EXAMPLES / "two-hosts.yaml")).stdout
    assert "network" not in text
    file = written(tmp_path, {**THOUSAND_CASES, "streams": [1, 8], "instances": 1, "trials": 1})
    assert {"direction", "family", "streams"} <= set(inline.run("plan", file).stdout.splitlines()[2].split())


def test_json_plan_has_a_version_the_hosts_and_every_trial() -> None:
    plan = json.loads(inline.run("plan", str(EXAMPLES / "demo.yaml"), "--json").stdout)
    assert plan["schema_version"] == 1
    assert plan["campaign"] == "demo"
    assert plan["hosts"]["gen"]["app_cpus"] == list(range(8))
    assert len(plan["trials"]) == 15
    assert plan["duration_s"] == pytest.approx(2 + 15 * 7.6)
    assert plan["cases"][0]["rate_bps"] == 3.5e9


def test_random_order_without_a_seed_draws_one_and_says_which(tmp_path: Path) -> None:
    file = written(tmp_path, {**THOUSAND_CASES, "order": "random", "trials": 1})
    seeds = {json.loads(inline.run("plan", file, "--json").stdout)["seed"] for _ in range(2)}
    assert len(seeds) == 2
    assert "random order with seed " in inline.run("plan", file).stdout


def test_hosts_of_the_command_line_are_those_of_the_plan(tmp_path: Path) -> None:
    inventory = tmp_path / "mine.ini"
    inventory.write_text(
        "one ansible_host=198.51.100.1\ntwo ansible_host=198.51.100.2\n[all:vars]\nlinewatt_data=eth7\n"
    )
    text = inline.run("plan", str(EXAMPLES / "demo.yaml"), "--hosts", str(inventory)).stdout
    assert "one → two" in text
    assert "host two: 198.51.100.2 port 22, data eth7" in text


def test_output_that_is_no_terminal_has_no_escapes_and_no_cut_lines() -> None:
    text = inline.run("plan", str(EXAMPLES / "two-hosts.yaml")).stdout
    assert "\x1b" not in text
    assert "…" not in text


def test_schema_is_one_json_document() -> None:
    done = inline.run("schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def cpu_s(*arguments: str) -> tuple[float, str]:
    """CPU time of a whole process, Python's start included, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-c", "from linewatt.cli import program; program()", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime), done.stdout


def test_a_plan_of_a_thousand_cases_costs_little_more_than_its_start(tmp_path: Path) -> None:
    """Side by side, so that a slow machine changes nothing; seconds are in the bench."""
    few = written(tmp_path, {**THOUSAND_CASES, "pairs": ["a -> b"], "instances": [1], "trials": 1})
    start_s, _ = cpu_s("plan", few)
    taken_s, text = cpu_s("plan", written(tmp_path, THOUSAND_CASES))
    assert "1200 cases × 10 trials = 12000" in text
    assert taken_s < 3 * start_s


def test_load_levels_are_shown_with_their_part_of_the_maximum(tmp_path: Path) -> None:
    file = tmp_path / "levels.yaml"
    file.write_text(
        "name: n\nhosts:\n  a: {address: 192.0.2.1, data: eth1}\n  b: {address: 192.0.2.2, data: eth1}\n"
        "tests: [tcp]\nload_levels: [50, 0]\n"
    )
    done = inline.run("plan", str(file))
    assert done.returncode == 0
    assert "50 % of maximum" in done.stdout
    assert "active idle" in done.stdout


def rows_of_cpus(text: str) -> list[list[str]]:
    """The table of CPUs: its head and rows, each as its cells."""
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("host ") and "process CPUs" in line)
    table = lines[begin : lines.index("", begin)]
    return [re.split(" {2,}", line.strip()) for line in (table[0], *table[2:])]


TOPOLOGY = Path(__file__).parents[2] / "captures" / "topology" / "2.9.0-v2-devices" / "topology.xml"
WITH_TOPOLOGY = {
    "name": "cpus",
    "hosts": {
        "gen": {"address": "192.0.2.1", "data": "eth1"},
        "dut": {"address": "192.0.2.2", "data": "ens2f0np0", "topology": str(TOPOLOGY)},
    },
    "pairs": ["gen -> dut"],
    "tests": ["tcp"],
    "instances": [1, 2, 4],
    "trials": 1,
}


def test_a_plan_shows_the_cpus_of_processes_and_interrupts_by_host_and_count(tmp_path: Path) -> None:
    assert rows_of_cpus(inline.run("plan", written(tmp_path, WITH_TOPOLOGY)).stdout) == [
        ["host", "processes", "process CPUs", "interrupt CPUs"],
        ["gen", "1", "chosen at run", "chosen at run"],
        ["dut", "1", "8", "10"],
        ["gen", "2", "chosen at run", "chosen at run"],
        ["dut", "2", "8,10", "12,14"],
        ["gen", "4", "chosen at run", "chosen at run"],
        ["dut", "4", "0,2,4,6", "8,10,12,14"],
    ]


def test_hosts_with_the_same_named_cpus_share_a_row(tmp_path: Path) -> None:
    named = {
        name: {"address": f"192.0.2.{at}", "data": "eth1", "app_cpus": "0-3"} for at, name in enumerate("ab")
    }
    named["b"]["irq_cpus"] = "4-7"
    campaign = {**WITH_TOPOLOGY, "hosts": named, "pairs": ["a -> b", "b -> a"], "instances": [2]}
    assert rows_of_cpus(inline.run("plan", written(tmp_path, campaign)).stdout)[1:] == [
        ["a", "2", "0-1", "not moved"],
        ["b", "2", "0-1", "4-7"],
    ]
    named["a"]["irq_cpus"] = "4-7"
    (row,) = rows_of_cpus(inline.run("plan", written(tmp_path, campaign)).stdout)[1:]
    assert row == ["a, b", "2", "0-1", "4-7"]


def test_placement_as_a_factor_has_a_row_for_each_level(tmp_path: Path) -> None:
    campaign = {**WITH_TOPOLOGY, "instances": [1], "factors": {"placement": ["auto", "remote", "none"]}}
    rows = rows_of_cpus(inline.run("plan", written(tmp_path, campaign)).stdout)
    assert rows == [
        ["host", "placement", "processes", "process CPUs", "interrupt CPUs"],
        ["gen", "auto", "1", "chosen at run", "chosen at run"],
        ["dut", "auto", "1", "8", "10"],
        ["gen", "remote", "1", "chosen at run", "chosen at run"],
        ["dut", "remote", "1", "0", "8"],
        ["gen, dut", "none", "1", "any", "not moved"],
    ]


def test_interrupts_that_a_setting_moves_refer_to_it(tmp_path: Path) -> None:
    hosts = {
        name: {"address": f"192.0.2.{at}", "data": "eth1", "app_cpus": "0-3"} for at, name in enumerate("ab")
    }
    campaign = {**WITH_TOPOLOGY, "hosts": hosts, "pairs": ["a -> b"], "instances": [1]}
    campaign["settings"] = {"irq_affinity": 2}
    (row,) = rows_of_cpus(inline.run("plan", written(tmp_path, campaign)).stdout)[1:]
    assert row == ["a, b", "1", "0", "see irq_affinity"]


def test_without_a_known_cpu_a_plan_has_no_table_of_cpus_and_says_when_they_are_chosen(
    tmp_path: Path,
) -> None:
    hosts = {name: {"address": f"192.0.2.{at}", "data": "eth1"} for at, name in enumerate("ab")}
    campaign = {**WITH_TOPOLOGY, "hosts": hosts, "pairs": ["a -> b"]}
    text = inline.run("plan", written(tmp_path, campaign)).stdout
    assert "interrupt CPUs" not in text
    assert (
        "interrupts of data interfaces go to CPUs that are chosen when the host has been asked"
        in " ".join(text.split())
    )
