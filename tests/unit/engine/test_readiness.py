# SPDX-License-Identifier: Apache-2.0
"""Whether hosts are ready: each check from facts, real ones and made ones, and from live answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report_factories import result, scaling_trials

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine import events
from linewatt.engine.campaign import CampaignRun
from linewatt.engine.readiness import readiness_cpu as cpu
from linewatt.engine.readiness import readiness_host as host
from linewatt.engine.readiness import readiness_net as net
from linewatt.engine.readiness.at_start import failures, wants
from linewatt.engine.readiness.readiness import (
    TITLES,
    Check,
    HostAnswer,
    Live,
    PathAnswer,
    PortAnswer,
    PowerAnswer,
    Root,
    TakenPort,
    Wants,
    check_titles,
    fixes_of_checks,
    worst_status,
)
from linewatt.engine.run import Places
from linewatt.engine.undo.leftover import Leftover
from linewatt.hosts.base import DataPort, HostSpec
from linewatt.hosts.clock import Offset
from linewatt.hosts.facts import read as facts
from linewatt.hosts.limits import Limits, Pace
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Case
from linewatt.records import NotReady
from linewatt.report.printing.screen import fitted
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import digest_of
from linewatt.tuning.base import Change
from linewatt.tuning.registry import TUNING_KNOBS

CAPTURES = Path(__file__).parents[2] / "captures" / "facts"
SPEC = HostSpec("h1", "192.0.2.1", "eth0", app_cpus=(2,), irq_cpus=(3,))
TCP = Case("tcp", "h1", "h2")
ALL_TOOLS = dict.fromkeys(("taskset", "ss", "ip", "ethtool", "ping", "numactl", "lstopo"), True)
GOOD: Mapping[str, Mapping[str, Any]] = {
    "system": {"uid": 0},
    "cpu": {
        "governor": "performance",
        "frequency_driver": "acpi-cpufreq",
        "c_states": {"POLL": "on", "C1": "on", "C6": "on"},
    },
    "cpus": {"online": [0, 1, 2, 3], "isolated": [], "allowed": [0, 1, 2, 3], "of_node": {"node0": "0-3"}},
    "kernel": {
        "tick_accounting": False,
        "hz": 1000,
        "irqbalance_running": False,
        "tuned_profile": "throughput-performance",
        "tuned_running": True,
        "command_line": "ro quiet",
    },
    "nic": {
        "mtu": 1500,
        "state": "UP",
        "kind": "physical",
        "speed_bps": 100e9,
        "duplex": "Full",
        "pci_speed": "16.0 GT/s PCIe",
        "pci_width": 16,
        "pci_max_speed": "16.0 GT/s PCIe",
        "pci_max_width": 16,
    },
    "tools": {
        "iperf3": "iperf 3.18 (cJSON 1.7.15)",
        "mpstat": "sysstat version 12.6.1",
        "bash": "GNU bash, version 5.2.15(1)-release",
    },
}
ROOT = Root(True)
LIVE = Live({**ALL_TOOLS, "tuned-adm": True}, {0: 1.0, 1: 1.0, 2: 0.99, 3: 1.0}, ("eth0",))


def answer(
    *,
    knobs: set[str] | frozenset[str] = frozenset(),
    app: tuple[int, ...] = (2,),
    cases: tuple[Case, ...] = (TCP,),
    live: Live = LIVE,
    spec: HostSpec = SPEC,
    name: str = "h1",
    root: Root = ROOT,
    **sections: Any,
) -> HostAnswer:
    """A host that is well but for what is given."""
    known = {section: {**values, **sections.get(section, {})} for section, values in GOOD.items()}
    wants = Wants(replace(spec, name=name), cases, frozenset(knobs), app, needs_root=bool(knobs))
    return HostAnswer(wants, known, live, root, Offset(0.002, 0.0004))


def every(one: HostAnswer) -> list[Check]:
    peer = answer(name="h2")
    return [*host.host_checks(one, Iperf3()), *cpu.cpu_checks(one), *net.net_checks(one, [peer])]


def only(checks: Any, name: str) -> list[Check]:
    return [check for check in checks if check.name == name]


def test_a_host_that_is_well_passes_every_check() -> None:
    assert {check.status for check in every(answer())} == {"ok"}
    assert {check.name for check in every(answer())} <= TITLES.keys()
    longest_word = max((word for title in check_titles().values() for word in title.split()), key=len)
    assert len(longest_word) <= len("irqbalance"), "columns of the table are as wide as the words above them"


def test_a_host_that_tells_nothing_passes_no_check_but_the_login() -> None:
    silent = HostAnswer(Wants(SPEC, (TCP,)))
    assert {check.name for check in every(silent) if check.status == "ok"} == {"ssh"}
    assert all(check.found for check in every(silent))


# The facts each check stands on: without any one of them it must not be ok.
STANDS_ON = [
    ("tools", "tools", "iperf3"),
    ("tools", "tools", "mpstat"),
    ("tick", "kernel", "tick_accounting"),
    ("cpus", "cpus", "online"),
    ("cpus", "cpus", "isolated"),
    ("irqs", "kernel", "irqbalance_running"),
    ("tuned", "kernel", "tuned_profile"),
    ("tuned", "kernel", "tuned_running"),
    ("freq", "cpu", "governor"),
    ("sleep", "cpu", "c_states"),
    ("link", "nic", "mtu"),
    ("link", "nic", "state"),
    ("link", "nic", "speed_bps"),
    ("pcie", "nic", "pci_speed"),
    ("pcie", "nic", "pci_width"),
    ("pcie", "nic", "speed_bps"),
]


@pytest.mark.parametrize(("check", "section", "fact"), STANDS_ON)
def test_a_check_is_never_ok_without_a_fact_it_stands_on(check: str, section: str, fact: str) -> None:
    taken: dict[str, Any] = {section: {fact: None}}
    found = only(every(answer(**taken)), check)
    assert found
    assert worst_status(found) != "ok"


def test_each_warning_and_each_failure_of_a_host_that_answers_says_what_to_do() -> None:
    far = answer(name="h2", nic={"speed_bps": 25e9})
    slow = "an answer to a heartbeat took 2.0 s"
    ill = [
        answer(
            cpu={"governor": "powersave", "c_states": {"C1": "off"}},
            kernel={"tick_accounting": True, "irqbalance_running": True, "tuned_profile": "balanced"},
            nic={"pci_width": 8, "pci_speed": "32.0 GT/s PCIe", "pci_max_speed": "64.0 GT/s PCIe"},
        ),
        replace(answer(root=Root(False), live=Live(dict.fromkeys(ALL_TOOLS, False))), slow=slow),
        replace(answer(nic={"speed_bps": 10e9}), clock=Offset(100.0, 0.001)),
    ]
    checks = [
        check
        for host_answer in ill
        for check in (*every(host_answer), *net.net_checks(host_answer, [far]))
        if check.status in ("warn", "fail")
    ]
    assert {"ssh", "tools", "root", "clock", "tick", "irqs", "tuned", "freq", "sleep", "link", "pcie"} <= {
        check.name for check in checks
    }
    assert [check for check in checks if not check.advice] == []


@given(st.sets(st.sampled_from([(section, fact) for section, values in GOOD.items() for fact in values])))
def test_what_is_not_known_never_turns_a_check_to_ok(unknown: set[tuple[str, str]]) -> None:
    """Facts taken away from a host that is ill everywhere: none of its checks gets well by it."""
    ill: dict[str, Any] = {
        "cpu": {"governor": "powersave", "c_states": {"C1": "off"}},
        "cpus": {"online": [0]},
        "kernel": {"tick_accounting": True, "irqbalance_running": True, "tuned_profile": "balanced"},
        "nic": {"state": "DOWN", "pci_width": 1},
        "tools": {"iperf3": "iperf 3.1", "mpstat": "sysstat version 10.0.0"},
    }
    for section, fact in unknown:
        ill.setdefault(section, {})[fact] = None
    sick = answer(live=Live(), root=Root(None), **ill)
    assert {check.name for check in every(sick) if check.status == "ok"} <= {"ssh", "clock"}


@pytest.mark.parametrize("case", ["6.18-veth", "composed-xeon"])
def test_real_facts_are_judged(case: str) -> None:
    known = facts.parse_all((CAPTURES / case / "output").read_text())
    one = HostAnswer(Wants(replace(SPEC, app_cpus=None, irq_cpus=None), (TCP,)), known)
    found = {check.name: check for check in every(one)}
    if case == "6.18-veth":
        assert found["tick"].status == "warn"
        assert "HZ=250" in found["tick"].found
        assert found["link"].status == "warn", "10 Gbit/s here, 100 at the peer"
        assert found["pcie"].found == "eth0 is virtual (veth)"
        assert found["irqs"].status == "ok"
        assert (found["freq"].status, found["tuned"].status) == ("unknown", "unknown")
    else:
        assert found["tick"].status == "ok"
        assert found["cpus"].status == "warn"
        assert "2-13 are isolated" in found["cpus"].found
        assert found["irqs"].status == "warn"
        assert found["sleep"].found == "idle states C3, C6 are off"
        assert found["pcie"].status == "warn"
        assert "x16 at 8 GT/s carries 126 Gbps, the card could do 252 Gbps" in found["pcie"].found
        assert found["freq"].status != "ok"


def test_a_host_that_cannot_be_reached_has_one_line() -> None:
    (check,) = host.host_checks(HostAnswer(Wants(SPEC), problem="login refused"), Iperf3())
    assert (check.name, check.status, check.found) == ("ssh", "fail", "login refused")


def tools(one: HostAnswer) -> list[Check]:
    return list(host.tools(one, Iperf3()))


@pytest.mark.parametrize(
    ("fact", "text", "status", "said"),
    [
        ("iperf3", "iperf 3.1.7", "fail", "3.2 or later"),
        ("iperf3", "bash: /usr/bin/iperf3: Permission denied", "fail", "iperf3 --version prints no version"),
        ("mpstat", "sysstat version 11.4.3", "fail", "no JSON"),
        ("mpstat", "sysstat version 11.5.1", "ok", "mpstat 11.5.1"),
        ("mpstat", "no such program", "fail", "mpstat says"),
    ],
)
def test_versions(fact: str, text: str, status: str, said: str) -> None:
    found = tools(answer(tools={fact: text}))
    assert worst_status(found) == status
    assert said in " ".join(check.found for check in found)


def test_a_tool_that_is_not_installed_fails_and_one_that_could_not_be_asked_is_unknown() -> None:
    absent = answer(tools={"iperf3": None})
    missing = replace(
        absent, facts={**absent.facts, "not_known": {"tools.iperf3": "iperf3 is not installed"}}
    )
    assert tools(missing)[0] == Check("h1", "tools", "fail", "no iperf3", "apt-get or dnf install iperf3")
    assert tools(absent)[0].status == "unknown"
    why = "iperf3 is there and cannot be run: Permission denied"
    broken = replace(absent, facts={**absent.facts, "not_known": {"tools.iperf3": why}})
    advice = "mend it, or apt-get or dnf install iperf3"
    assert tools(broken)[0] == Check("h1", "tools", "fail", why, advice)


@pytest.mark.parametrize(
    ("version", "status"), [("3.15", "ok"), ("3.16", "warn"), ("3.17.1", "warn"), ("3.18", "ok")]
)
def test_paced_loads_of_some_versions_spin(version: str, status: str) -> None:
    text = {"iperf3": f"iperf {version} (cJSON 1.7.15)"}
    assert worst_status(tools(answer(tools=text, cases=(replace(TCP, rate_bps=1e9),)))) == status
    assert worst_status(tools(answer(tools=text))) == "ok", "only when it is paced"


def test_a_load_that_this_iperf3_cannot_run_is_found() -> None:
    case = replace(TCP, zerocopy=True, direction="reverse")
    (check,) = tools(answer(tools={"iperf3": "iperf 3.9"}, cases=(case,)))
    assert check.status == "fail"
    assert "zerocopy in reverse" in check.found


def test_versions_that_serve_streams_differently_are_named() -> None:
    streams = (replace(TCP, streams=8),)
    old = answer(tools={"iperf3": "iperf 3.15"}, cases=streams)
    new = answer(name="h2", tools={"iperf3": "iperf 3.16"}, cases=streams)
    (check,) = host.alike([old, new], Iperf3())
    assert (check.host, check.status) == ("h1", "warn")
    assert "h2 each in its own" in check.found
    assert list(host.alike([new, new], Iperf3())) == []
    assert list(host.alike([replace(old, wants=replace(old.wants, cases=(TCP,))), new], Iperf3())) == []


@pytest.mark.parametrize(
    ("tool", "more", "status"),
    [
        ("taskset", {}, "fail"),
        ("taskset", {"app": ()}, "warn"),
        ("ss", {}, "fail"),
        ("ethtool", {}, "warn"),
        ("ethtool", {"knobs": {"rings"}}, "fail"),
        ("lstopo", {}, "warn"),
        ("ping", {}, "warn"),
        ("numactl", {}, "ok"),
        ("numactl", {"cpus": {"of_node": {"node0": "0-1", "node1": "2-3"}}}, "warn"),
    ],
)
def test_missing_tools_by_what_they_are_for(tool: str, more: dict[str, Any], status: str) -> None:
    live = replace(LIVE, tools={**LIVE.tools, tool: False})
    assert worst_status(tools(answer(live=live, **more))) == status


def test_rights_matter_where_something_is_to_be_changed() -> None:
    assert host.root(answer(root=Root(True))).status == "ok"
    assert host.root(answer(root=Root(False))).status == "warn"
    needed = host.root(answer(root=Root(False, "sudo: a password is required"), knobs={"rps_cpus"}))
    assert needed.status == "fail"
    assert "a password is required; needed for rps_cpus" in needed.found
    assert host.root(answer(root=Root(None))).status == "unknown"


@pytest.mark.parametrize(
    ("clock", "status"),
    [
        (Offset(3.0, 0.001), "ok"),
        (Offset(0.0, 0.05), "ok"),
        (Offset(0.0, 0.051), "fail"),
        (Offset(-61.0, 0.001), "warn"),
        (None, "unknown"),
    ],
)
def test_of_a_clock_its_uncertainty_counts(clock: Offset | None, status: str) -> None:
    assert host.clock(replace(answer(), clock=clock)).status == status


def test_a_host_that_answers_slowly_is_a_warning_with_what_was_learned() -> None:
    pace = Pace(Limits())
    assert host.ssh(replace(answer(), slow=pace.said())).status == "ok"
    pace.answered(2.0)
    (check,) = only(every(replace(answer(), slow=pace.said())), "ssh")
    assert (check.status, check.found) == ("warn", pace.said())
    assert "an answer to a heartbeat took 2.0 s; its limits are now silence 4 s" in check.found


def test_a_kernel_that_counts_by_the_tick_is_a_warning_that_says_what_linewatt_does() -> None:
    check = cpu.tick(answer(kernel={"tick_accounting": True, "hz": 250}))
    assert (check.status, "HZ=250" in check.found) == ("warn", True)
    assert check.advice.startswith("nothing: ")


@pytest.mark.parametrize(
    ("app", "values", "status", "said"),
    [
        ((2,), {"isolated": [2, 3]}, "ok", "isolated CPUs 2"),
        ((1, 2), {"isolated": [2, 3]}, "warn", "also use 1"),
        ((), {"isolated": [2, 3]}, "warn", "2-3 are isolated"),
        ((2,), {"online": [0, 1]}, "fail", "CPU 2-3 is named"),
        ((2,), {"allowed": [0, 1, 3]}, "warn", "no load process would run on CPU 2"),
        ((), {"allowed": [0, 1, 3]}, "warn", "no load process would run on CPU 2"),
        ((2,), {"allowed": [0, 1], "isolated": [2]}, "ok", "isolated"),
    ],
)
def test_cpus(app: tuple[int, ...], values: dict[str, Any], status: str, said: str) -> None:
    check = cpu.cpus(answer(app=app, cpus=values))
    assert (check.status, said in check.found) == (status, True), check


@pytest.mark.parametrize(
    ("knobs", "status"),
    [
        ({"irq_affinity"}, "fail"),
        ({"irq_affinity", "irqbalance"}, "ok"),
        ({"rps_cpus"}, "warn"),
        (set(), "warn"),
    ],
)
def test_irqbalance_matters_where_interrupts_are_pinned(knobs: set[str], status: str) -> None:
    running = cpu.irqs(answer(knobs=knobs, kernel={"irqbalance_running": True}))
    assert running.status == status
    assert (running.fix is not None) == (status != "ok")
    assert cpu.irqs(answer(knobs=knobs)).status == "ok"


@pytest.mark.parametrize(
    ("profile", "installed", "status"),
    [
        ("throughput-performance", True, "ok"),
        ("network-latency", True, "ok"),
        ("network-throughput my-own", True, "ok"),
        ("balanced", True, "warn"),
        ("virtual-guest", True, "warn"),
        (None, True, "warn"),
        (None, False, "ok"),
        ("throughput-performance", None, "unknown"),
    ],
)
def test_tuned_profiles(profile: str | None, installed: bool | None, status: str) -> None:
    known = {} if installed is None else {"tuned-adm": installed}
    live = replace(LIVE, tools={**ALL_TOOLS, **known})
    check = cpu.tuned(answer(live=live, kernel={"tuned_profile": profile}))
    assert check.status == status
    assert (check.fix is not None) == (status == "warn")


def test_a_tuned_that_does_not_run_has_no_profile_in_force() -> None:
    """Its file still names the last one; what the daemon set went back when it was stopped."""
    live = replace(LIVE, tools={**ALL_TOOLS, "tuned-adm": True})
    kernel = {"tuned_profile": "throughput-performance", "tuned_running": False}
    check = cpu.tuned(answer(live=live, kernel=kernel))
    assert (check.status, check.fix) == ("ok", None)
    assert "does not run" in check.found
    wanted = cpu.tuned(answer(live=live, kernel=kernel, knobs={"tuned"}))
    assert (wanted.status, wanted.advice) == ("fail", "start it: systemctl start tuned")


@pytest.mark.parametrize(
    ("governor", "driver", "status"),
    [
        ("performance", "acpi-cpufreq", "ok"),
        ("performance", None, "ok"),
        ("powersave", "acpi-cpufreq", "fail"),
        ("powersave", "intel_cpufreq", "fail"),
        ("powersave", "cppc_cpufreq", "fail"),
        ("powersave", "intel_pstate", "warn"),
        ("powersave", "amd-pstate-epp", "warn"),
        ("powersave", None, "unknown"),
        ("schedutil", "cppc_cpufreq", "warn"),
        ("performance, powersave", "acpi-cpufreq", "fail"),
        ("performance, schedutil", "acpi-cpufreq", "warn"),
        (None, "acpi-cpufreq", "unknown"),
    ],
)
def test_governors_by_their_driver(governor: str | None, driver: str | None, status: str) -> None:
    check = cpu.freq(answer(cpu={"governor": governor, "frequency_driver": driver}))
    assert check.status == status
    assert (check.fix is not None) == (status in ("warn", "fail"))


def test_what_the_campaign_sets_itself_is_no_finding() -> None:
    ill: dict[str, Any] = {
        "cpu": {"governor": "powersave", "c_states": {"C6": "off"}},
        "kernel": {"tuned_profile": "balanced"},
    }
    one = answer(knobs={"governor", "c_states", "tuned"}, **ill)
    assert [check(one).status for check in (cpu.freq, cpu.sleep, cpu.tuned)] == ["ok", "ok", "ok"]
    two = answer(**ill)
    assert [check(two).status for check in (cpu.freq, cpu.sleep, cpu.tuned)] == ["fail", "warn", "warn"]


@pytest.mark.parametrize("option", ["idle=poll", "intel_idle.max_cstate=0", "processor.max_cstate=1"])
def test_boot_options_that_keep_cpus_awake_are_named(option: str) -> None:
    check = cpu.sleep(answer(kernel={"command_line": f"ro {option} quiet"}))
    assert (check.status, option in check.found) == ("warn", True)
    assert (
        cpu.sleep(answer(kernel={"command_line": "ro noidle=polling processor.max_cstate=19"})).status == "ok"
    )


@pytest.mark.parametrize(
    ("idle", "spec", "app", "status"),
    [
        ({2: 0.97, 3: 1.0}, SPEC, (2,), "ok"),
        ({2: 0.90, 3: 1.0}, SPEC, (2,), "warn"),
        ({2: 0.40, 3: 1.0}, SPEC, (2,), "fail"),
        ({2: 0.40, 3: 1.0}, replace(SPEC, shares_cpus_with=("h2",)), (2,), "warn"),
        ({0: 0.0, 1: 1.0}, replace(SPEC, app_cpus=None, irq_cpus=None), (), "warn"),
        ({0: 0.0, 2: 1.0, 3: 1.0}, SPEC, (2,), "ok"),
        ({2: 1.0}, SPEC, (2,), "unknown"),
        (None, SPEC, (2,), "unknown"),
        ({}, replace(SPEC, app_cpus=None, irq_cpus=None), (), "unknown"),
    ],
)
def test_other_load(idle: dict[int, float] | None, spec: HostSpec, app: tuple[int, ...], status: str) -> None:
    assert cpu.load(answer(live=replace(LIVE, idle=idle), spec=spec, app=app)).status == status


@pytest.mark.parametrize(
    ("values", "status", "said"),
    [
        ({"state": "DOWN"}, "fail", "eth0 is DOWN"),
        ({"state": "LOWERLAYERDOWN"}, "fail", "LOWERLAYERDOWN"),
        ({"state": "UNKNOWN"}, "unknown", "UNKNOWN"),
        ({"state": "UNKNOWN", "kind": "tun"}, "ok", "up at"),
        ({"duplex": "Half"}, "fail", "half duplex"),
        ({"speed_bps": 25e9}, "warn", "h2 at 100 Gbps"),
        ({"mtu": None}, "fail", "no interface eth0"),
    ],
)
def test_links(values: dict[str, Any], status: str, said: str) -> None:
    check = net.link(answer(nic=values), [answer(name="h2")])
    assert (check.status, said in check.found) == (status, True), check


@pytest.mark.parametrize(
    ("speed", "width", "gbps"),
    [
        ("2.5 GT/s PCIe", 8, 16.0),
        ("5.0 GT/s PCIe", 8, 32.0),
        ("8.0 GT/s PCIe", 8, 63.0),
        ("8 GT/s", 16, 126.0),
        ("16.0 GT/s PCIe", 16, 252.1),
        ("32.0 GT/s PCIe", 16, 504.1),
        ("64.0 GT/s PCIe", 16, 944.0),
    ],
)
def test_what_lanes_carry(speed: str, width: int, gbps: float) -> None:
    """Published figures of the PCI Express generations, one direction."""
    carried = net.lanes_bps(speed, width)
    assert carried is not None
    assert carried / 1e9 == pytest.approx(gbps, abs=0.05)


def test_lanes_of_unknown_rate_or_number_carry_nothing_known() -> None:
    assert [net.lanes_bps(*one) for one in (("Unknown", 8), (None, 8), ("7.0 GT/s", 8), ("8.0 GT/s", 0))] == [
        None
    ] * 4


def test_a_slot_too_narrow_fails_with_figures() -> None:
    check = net.pcie(answer(nic={"pci_speed": "8.0 GT/s PCIe", "pci_width": 8}))
    assert check.status == "fail"
    assert check.found == "x8 at 8 GT/s carries 63.0 Gbps, the line has 100 Gbps"
    assert "it can do x16 at 16 GT/s" in check.advice


def test_a_card_below_what_it_could_do_and_busy_neighbours_are_warnings() -> None:
    slow = net.pcie(answer(nic={"pci_speed": "8.0 GT/s PCIe"}))
    assert slow.status == "warn"
    two = replace(LIVE, card_ports=("eth0", "eth1", "eth2"))
    assert net.pcie(answer(live=two)).status == "warn", "three ports of 100 and lanes for 252"
    assert net.pcie(answer(live=replace(LIVE, card_ports=("eth0", "eth1")))).status == "ok"


def way(**values: Any) -> PathAnswer:
    full: dict[str, Any] = {"mtu": 1500, "device": "eth0", "replies": True, "full": True, **values}
    return PathAnswer("h1", "h2", "ipv4", **full)


ENDS = {"h1": answer(), "h2": answer(name="h2", nic={"mtu": 9000})}


@pytest.mark.parametrize(
    ("values", "route", "mtu"),
    [
        ({}, "ok", "ok"),
        ({"device": "eno1"}, "fail", "ok"),
        ({"device": None, "replies": False, "full": False}, "fail", "unknown"),
        ({"device": "lo"}, "fail", "ok"),
        ({"gateway": "198.18.0.254"}, "warn", "ok"),
        ({"replies": False, "full": False}, "ok", "unknown"),
        ({"replies": None, "full": None}, "ok", "unknown"),
        ({"full": False, "largest_bytes": 1400}, "ok", "fail"),
        ({"full": False}, "ok", "fail"),
        ({"full": None}, "ok", "fail"),
        ({"problem": "h2 cannot be asked"}, "unknown", "unknown"),
    ],
)
def test_ways(values: dict[str, Any], route: str, mtu: str) -> None:
    found = list(net.paths([way(**values)], ENDS))
    assert [check.status for check in found] == [route, mtu]


@pytest.mark.parametrize(
    ("neighbours", "status", "words"),
    [
        (("eth0", "eth1"), "ok", "until a run gives eth0 a route of its own"),
        (("eth1",), "fail", "data of h1 and h2 the same order"),
        ((), "fail", "data of h1 and h2 the same order"),
    ],
)
def test_only_ports_that_are_both_in_the_peers_subnet_get_routes_of_their_own(
    neighbours: tuple[str, ...], status: str, words: str
) -> None:
    wants = replace(answer().wants, spec=replace(answer().wants.spec, more_ports=(DataPort("eth1"),)))
    two = replace(answer(), wants=wants)
    check, _ = net.paths([way(device="eth1", interface="eth0", neighbours=neighbours)], {**ENDS, "h1": two})
    assert check.status == status
    assert words in check.found + (check.advice or "")


def test_a_packet_size_that_does_not_pass_is_told_with_the_one_that_does() -> None:
    _, check = net.paths([way(full=False, largest_bytes=1400)], ENDS)
    assert "packets of 1500 bytes" in check.found
    assert "1400 do (MTU there: 9000)" in check.found


@pytest.mark.parametrize(
    ("mtus", "status"),
    [({"eth0": {9000, 1500}}, "unknown"), ({"eth0": {1400}}, "ok"), ({"eth9": {9000}}, "ok")],
)
def test_a_larger_mtu_that_a_run_will_set_is_not_known_to_pass(
    mtus: dict[str, set[int]], status: str
) -> None:
    wants = replace(ENDS["h1"].wants, mtus_bytes={name: frozenset(sizes) for name, sizes in mtus.items()})
    _, check = net.paths([way()], {**ENDS, "h1": replace(ENDS["h1"], wants=wants)})
    assert check.status == status
    assert ("whether 9000 do" in check.found) is (status == "unknown")


def test_one_bad_way_is_not_hidden_by_good_ones() -> None:
    good = [replace(way(), peer=f"h{i}") for i in range(2, 9)]
    checks = list(net.paths([*good, replace(way(device="eno1"), peer="h9")], ENDS))
    route = only(checks, "route")
    assert worst_status(route) == "fail"
    assert "h9" in route[0].found
    assert route[1].found.endswith("and 5 more")


def test_ports_that_are_taken_or_closed_or_could_not_be_tried() -> None:
    well = PortAnswer("h1", "h2", 5201, "TCP")
    refused = PortAnswer("h1", "h2", 5264, "UDP", "no answer within 2 s")
    skipped = PortAnswer("h1", "h2", 5264, "TCP", "needs iperf3 at both ends", asked=False)
    taken = TakenPort("h2", 5210, "python3 (77)")

    def judge(*found: PortAnswer, taken: list[TakenPort] | None = None) -> list[Check]:
        return list(net.ports(["h2"], found, taken or [], "5201-5264"))

    assert [check.status for check in judge(well)] == ["ok"]
    assert [check.status for check in judge(well, refused)] == ["fail"]
    assert "UDP port 5264 from h1: no answer" in judge(well, refused)[0].found
    assert [check.status for check in judge(well, skipped)] == ["unknown"]
    (occupied,) = judge(well, taken=[taken])
    assert (occupied.status, occupied.found) == ("fail", "port 5210 is taken by python3 (77)")
    assert [check.status for check in judge()] == ["unknown"]


def test_sources_of_power() -> None:
    checks = list(
        host.power(
            [
                PowerAnswer("h1", "bmc", "ipmi", ("PSU1 Power In",), simulated=True),
                PowerAnswer("h2", "bmc", "ipmi", problem="no answer within 5 s"),
                PowerAnswer("h3", "rapl", "rapl"),
                PowerAnswer("h4", "rapl", "rapl", problem="its host cannot be asked", asked=False),
            ]
        )
    )
    assert [check.status for check in checks] == ["ok", "fail", "fail", "unknown"]
    assert checks[0].found == "bmc (ipmi, simulated): PSU1 Power In"


def test_what_earlier_runs_left() -> None:
    def judge(*left: Leftover) -> list[tuple[str, str]]:
        return [(check.host, check.status) for check in host.undo(["h1", "h2"], left)]

    killed = Leftover("20250101-000000-t", "h1", 2, running=False, own=False)
    assert judge() == [("h1", "ok"), ("h2", "ok")]
    assert judge(killed) == [("h1", "fail"), ("h2", "ok")]
    assert judge(replace(killed, running=True, settings=0)) == [("h1", "fail"), ("h2", "ok")]
    assert judge(replace(killed, own=True)) == [("h1", "ok"), ("h2", "ok")]


@pytest.mark.parametrize(
    ("disk", "memory", "statuses"),
    [
        (10**10, 10**10, ["ok", "ok"]),
        (10**9, 10**8 * 4, ["warn", "warn"]),
        (10**8, 10**7, ["fail", "fail"]),
        (None, None, ["unknown", "unknown"]),
    ],
)
def test_room_for_results(disk: int | None, memory: int | None, statuses: list[str]) -> None:
    assert [check.status for check in host.controller(disk, memory, "results")] == statuses


def test_fixes_are_each_made_once_and_a_profile_first() -> None:
    ill = answer(
        cpu={"governor": "powersave"}, kernel={"tuned_profile": "balanced", "irqbalance_running": True}
    )
    made = fixes_of_checks([*every(ill), *every(ill)])
    assert [(change.knob, change.target, change.value) for change in made] == [
        ("tuned", "host", "throughput-performance"),
        ("governor", "host", "performance"),
        ("irqbalance", "host", "stopped"),
    ]
    assert fixes_of_checks(every(answer())) == ()
    assert isinstance(made[0], Change)
    for change in made:
        TUNING_KNOBS[change.knob].read(change.target)
        TUNING_KNOBS[change.knob].check(change.value)


@pytest.mark.parametrize("check", [cpu.irqs, cpu.freq, cpu.tuned])
def test_no_fix_disturbs_the_network(check: Callable[[HostAnswer], Check]) -> None:
    ill = answer(
        cpu={"governor": "powersave"}, kernel={"tuned_profile": "balanced", "irqbalance_running": True}
    )
    fix = check(ill).fix
    assert fix is not None
    assert fix.knob in {"tuned", "governor", "irqbalance"}


# what a run says of it


def test_the_mtus_that_a_run_gives_an_interface_are_known(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    hosts = "  h1: {address: 192.0.2.1, data: eth0}\n  h2: {address: 192.0.2.2, data: eth0}\n"
    factors = "factors: {mtu: [1500, 9000]}"
    file.write_text(f"name: t\nhosts:\n{hosts}pairs: [h1 -> h2]\ntests: [tcp]\nplacement: none\n{factors}\n")
    campaign = load_campaign(file)
    planned = plan_campaign(campaign, 1)
    changes = {change for round_ in planned.rounds for change in round_.changes}
    of_hosts = wants(campaign, planned.cases, planned.trials, changes)
    assert [of_hosts[name].mtus_bytes for name in ("h1", "h2")] == [{"eth0": {1500, 9000}}] * 2


def failed_at_start(tmp_path: Path, **sections: Any) -> list[tuple[str, str, str]]:
    file = tmp_path / "c.yaml"
    hosts = "  h1: {address: 192.0.2.1, data: eth0}\n  h2: {address: 192.0.2.2, data: eth0}\n"
    file.write_text(f"name: t\nhosts:\n{hosts}pairs: [h1 -> h2]\ntests: [tcp]\nplacement: none\n")
    campaign = load_campaign(file)
    planned = plan_campaign(campaign, 1)
    known = {name: answer(**(sections if name == "h2" else {})).facts for name in ("h1", "h2")}
    found = failures(campaign, known, {}, list(planned.trials), planned.every_change)
    return [(one.host, one.check, one.found) for one in found]


@pytest.mark.parametrize(
    ("sections", "check", "found"),
    [
        ({"nic": {"duplex": "Half"}}, "link", "eth0 is up at 100 Gbps, half duplex"),
        (
            {"nic": {"pci_speed": "8.0 GT/s PCIe", "pci_width": 4}},
            "pcie",
            "x4 at 8 GT/s carries 31.5 Gbps, the line has 100 Gbps",
        ),
        (
            {"cpu": {"governor": "powersave"}},
            "freq",
            "governor powersave of acpi-cpufreq: powersave holds the lowest frequency",
        ),
    ],
)
def test_what_check_calls_a_failure_is_told_by_a_run(
    sections: dict[str, Any], check: str, found: str, tmp_path: Path
) -> None:
    assert failed_at_start(tmp_path, **sections) == [("h2", check, found)]


def test_a_run_on_hosts_that_are_ready_tells_nothing(tmp_path: Path) -> None:
    assert failed_at_start(tmp_path) == []
    assert failed_at_start(tmp_path, cpu={"governor": None}) == []  # not known is no failure


def test_a_run_names_a_failed_check_by_its_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "two.yaml"
    hosts = ", ".join(f"{name}: {{address: {name}.example, data: eth0}}" for name in ("h1", "h2"))
    file.write_text(f"name: two\nhosts: {{{hosts}}}\npairs: [h1 -> h2]\ntests: [tcp]\n")
    campaign = load_campaign(file)
    told: list[events.Event] = []
    run = CampaignRun(campaign, plan_campaign(campaign, 1), Places(tmp_path, tmp_path), told.append)
    check = NotReady(host="h2", check="tick", found="by the tick", advice="boot with nohz_full")
    monkeypatch.setattr("linewatt.engine.readiness.at_start.failures", lambda *_: (check,))
    assert run._not_ready(()) == (check,)
    assert told == [events.Warned("h2: not ready (CPU accounting): by the tick; boot with nohz_full")], (
        "not by its code"
    )


def test_a_host_that_was_not_ready_makes_throughput_doubtful_on_the_first_screen() -> None:
    found = {"host": "h2", "check": "link", "found": "eth0 is up at 1 Gbps, half duplex", "advice": "look"}
    screen = first_screen_of_trials(digest_of(result(scaling_trials((1,)), not_ready=[found])))
    assert screen is not None
    text = "\n".join(line for line, _ in fitted(screen, 120))
    assert "throughput: doubtful (a)" in text
    assert "Host not ready: h2: link: eth0 is up at 1 Gbps, half duplex; do: look" in text
