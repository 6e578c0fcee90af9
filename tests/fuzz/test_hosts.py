# SPDX-License-Identifier: Apache-2.0
"""Answers of hosts: facts, marks of the leash, settings, read-backs, probes, and what is made of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.fuzz.conftest import check_reason, fuzz, survived
from tests.fuzz.mutate import CAPTURES, damaged, texts

from linewatt.campaign.reading.file import load_campaign
from linewatt.campaign.reading.sites import site_of_host
from linewatt.engine.live import sockets
from linewatt.engine.live.line_rate import line_limit, pcie_goodput_bps
from linewatt.engine.live.readback import read_back
from linewatt.engine.live.session import identity
from linewatt.engine.networks import reach
from linewatt.engine.readiness import checkup_probes as probes
from linewatt.engine.readiness.checkup import Checkup
from linewatt.engine.readiness.readiness import Check
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.errors import HostError
from linewatt.features.users.folder_knob import PREFIX
from linewatt.features.users.prepare_scripts import found, found_pythons
from linewatt.features.users.totals import UserTotals
from linewatt.features.users.vsftpd_ground import parse_piece
from linewatt.features.users.worker.server_vsftpd import LogTotals
from linewatt.features.users.worker.tally import WorkerReport
from linewatt.foreign import contained, read_json
from linewatt.hosts import batch, leash
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.clock import Offset
from linewatt.hosts.facts import read as facts
from linewatt.hosts.facts.cores import core_groups
from linewatt.hosts.journal.journal import Entry
from linewatt.loads.registry import LOADS
from linewatt.model import Case
from linewatt.network.framing import BARE
from linewatt.placement.hwloc import parse_lstopo_xml
from linewatt.tuning import apply
from linewatt.tuning.base import Change

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-hosts.yaml"
SPEC = HostSpec("h1", "192.0.2.1", "eth0")
FACTS = texts("facts/*/output")


@fuzz(damaged(FACTS))
def test_facts_of_anything_can_be_stored_and_used(text: str) -> None:
    with survived("facts"):
        known = facts.parse_all(text)
        json.dumps(known, allow_nan=False).encode()
        facts.again(known)
        facts.parse_again(text, {"eth2": text})
        identity(known, "iperf3")
        core_groups(known)
    with survived("facts: placement"), contained("what it shows of its CPUs"):
        site_of_host(SPEC, known, None)
    with survived("facts: line"):
        case = Case("tcp", "h1", "h2")
        line_limit(case, {"h1": BARE, "h2": BARE}, {"h1": known, "h2": known})
        pcie_goodput_bps(case, BARE, known)


@fuzz(
    damaged(
        [
            b"linewatt-leash: pid 77\nlinewatt-leash: start 1795332394.5\nwords\n"
            b"linewatt-leash: end 1795332400.1 0\n"
        ]
    )
)
def test_marks_of_anything_are_finite_or_the_commands_own_words(text: str) -> None:
    with survived("leash"):
        marks = leash.read_marks(text)
        json.dumps([marks.started_s, marks.ended_s, marks.pid], allow_nan=False)


_OUTPUTS = {
    "irq_affinity": [b"interface eth0\nbus 0000:3b:00.0\nirq 77 0-3 eth0-TxRx-0\nirq 78 4 eth0-TxRx-1\n"],
    "rps_cpus": [b"rx-0=00000000,0000000f\nrx-1=3\n"],
    "xps_cpus": [b"tx-0=00000000,0000000f\ntx-1=3\n"],
    "rfs": [b"rx-0=4096\nrx-1=4096\n", b"entries 32768\nrx-0=4096\n"],
    "network": [
        json.loads((path.parent / "expected.json").read_bytes())["target"].encode()
        + b"\n"
        + path.read_bytes()
        for path in sorted((CAPTURES / "network").glob("*/output"))
    ],
    "nmstate": [
        b"interface:br0/bridge.port,ipv4.address interface:eth1.101/vlan.id,vlan.base-iface\n" + text
        for text in texts("nmstate/*/output")
    ],
    "users_folder": [b"absent\n", b"present\n"],
    "sysctl": [b"4096 131072 6291456\n", b"cubic\n"],
    "governor": [b"of performance powersave\npolicy0 powersave\npolicy4 performance\n"],
    "epp": [b"of performance balance_power\npolicy0 balance_power\n"],
    "cpus_online": [b"cpu0 always\ncpu1 1\ncpu2 0\n"],
    "turbo": [b"intel_pstate/no_turbo=0\n", b"cpufreq/boost=1\n"],
    "min_perf_pct": [b"100\n"],
    "c_states": [b"cpu0/cpuidle/state0 POLL 0\ncpu0/cpuidle/state1 C1 0\ncpu1/cpuidle/state1 C1 1\n"],
}
_VALUES = (
    "1",
    "on",
    "off",
    "rx=1024",
    "performance",
    "0-3",
    "none",
    "tcp4:5201=2",
    "9000",
    "cubic",
    "max",
    "",
)


_TARGETS = {
    "sysctl": "net.ipv4.tcp_rmem",
    "offload": "eth0 gro",
    "users_folder": f"/srv/{PREFIX}0123456789ab",
    **dict.fromkeys(("cpus_online", "governor", "epp", "turbo", "c_states", "tuned", "irqbalance"), "host"),
    "min_perf_pct": "host",
}


def outputs_of(name: str) -> list[bytes]:
    own = _OUTPUTS.get(name, [])
    try:
        return [*own, *texts(f"{name}/*/output")]
    except AssertionError:
        return own or [b"a=1 b=2\n", b"0 1\n"]


@pytest.mark.parametrize("name", sorted(ALL_KNOBS))
def test_a_setting_of_anything_is_a_text_that_can_be_put_back_or_a_reason(name: str) -> None:
    knob = ALL_KNOBS[name]

    @fuzz(damaged(outputs_of(name)), st.sampled_from(_VALUES))
    def check(text: str, value: str) -> None:
        before = None
        with survived(f"setting {name}: read"):
            before = apply.answer("h1", knob, "eth0", Completed((), 0, text, ""))
            json.dumps(before).encode()
        if before is None:
            return
        with survived(f"setting {name}: put back"):
            list(apply._write_and_read(knob, _entry(name, before), before))
        with survived(f"setting {name}: made"):
            wanted = apply.wanted_setting(
                knob, Change("h1", name, target_of(name, before), value, "why"), before
            )
            list(apply._write_and_read(knob, _entry(name, wanted), wanted))

    check()


def _entry(knob: str, text: str) -> Any:
    return Entry(1, "h1", knob, target_of(knob, text), text, text)


def target_of(knob: str, text: str) -> str:
    """Of a network it is what the text is about, item by item."""
    if knob in ("network", "nmstate"):
        return " ".join(json.loads(text))
    return _TARGETS.get(knob, "eth0")


class Garbage:
    """A host that answers every command with one of a few texts, in turn."""

    lost = None
    clock = Offset(0.0, 0.001)

    def __init__(self, spec: HostSpec, answers: Sequence[str]) -> None:
        self.spec = spec
        self._answers = list(answers)
        self._asked = 0

    async def run(self, argv: Sequence[str], **_: Any) -> Completed:
        self._asked += 1
        text = self._answers[self._asked % len(self._answers)]
        return Completed(tuple(argv), self._asked % 3 % 2, text, text[:2000])

    async def start(self, argv: Sequence[str], **_: Any) -> Any:
        raise HostError(f"{self.spec.name}: cannot start {argv[0]}")

    async def close(self) -> None: ...


_THREADS = b"77 78 2 500 0-3 1795332394000000 123456 3 4 5\n77 79 1 - 0 - - - - -\n"
anything = damaged(
    [
        _THREADS,
        *FACTS,
        *texts("sockets/*/output", "check/*/output", "mtu/*/output", "qdisc/*/output", "network/*/output"),
    ]
)
answers = st.lists(anything, min_size=1, max_size=5)


@fuzz(answers)
def test_a_host_that_answers_anything_is_read_back_or_says_why_not(said: list[str]) -> None:
    with survived("read-back"):
        host: Any = Garbage(SPEC, said)
        made = [("sysctl", "net.ipv4.tcp_rmem", "4096 1 2"), ("mtu", "eth0", "9000")]
        found = asyncio.run(read_back(host, [77], made, ALL_KNOBS, [5201], [77]))
        for one in (found.problem, *(setting.problem for setting in found.settings)):
            assert one is None or one.encode()


@fuzz(answers)
def test_a_batch_of_anything_is_answers_of_its_commands(said: list[str]) -> None:
    with survived("batch"):
        host: Any = Garbage(SPEC, said)
        commands = [batch.ShortCommand(("a",)), batch.ShortCommand(("b",))]
        assert len(asyncio.run(batch.run_batch(host, commands))) == 2


@fuzz(anything)
def test_probes_of_anything_are_answers(text: str) -> None:
    with survived("probes"):
        ways = [probes.Way("h1", "h2", "ipv4", "192.0.2.1", "192.0.2.2", 1500)]
        probes.parse_live(text)
        probes.parse_paths(text, ways)
        probes.parse_taken(text)
        check_reason(LOADS["iperf3"].try_problem(text, text, 0) or "none")
        reach.reached_by(text)
        sockets.parse(text)


_REPORT = b"""{"is": "report", "final": true, "report": {"worker": "h1", "start_s": 1.0, "end_s": 2.0,
"cpu_s": 0.5, "running": 3, "tally": {"users": {"0": {"received_bytes": 5, "sent_bytes": 0,
"gets": 1, "puts": 0, "checked": 0, "logins": 1, "unfinished": 0, "done_received_bytes": 5,
"done_sent_bytes": 0,
"failures": [["get", "refused", 2]]}}, "times": {}, "said": [["get", "refused", "421 busy"]]}}}"""


@fuzz(damaged([_REPORT]))
def test_a_workers_report_of_anything_is_counted_or_a_reason(text: str) -> None:
    with survived("users: report"), contained("users: what a worker says"):
        event = read_json(text, "an event")
        report = WorkerReport.from_dict(event["report"])
        UserTotals().add(report, Offset(0.0, 0.0))


@fuzz(anything)
def test_what_a_client_or_a_server_of_users_says_is_known_or_a_reason(text: str) -> None:
    done = Completed((), 0, text, text)
    with survived("users: found"):
        found("h1", done)
    with survived("users: pythons"):
        found_pythons(done)
    with survived("users: log"):
        piece = parse_piece("h1", done)
        totals = LogTotals()
        totals.take(text if piece is None else piece.text)


@fuzz(damaged(texts("topology/*/topology.xml")))
def test_a_topology_of_anything_is_a_machine_or_a_reason(text: str) -> None:
    with survived("topology"):
        parse_lstopo_xml(text)


def _checked(said: list[str]) -> tuple[Check, ...]:
    campaign, nowhere = load_campaign(EXAMPLE), Path("/nonexistent/linewatt-fuzz")

    async def connect(spec: HostSpec, *_: object) -> Any:
        return Garbage(spec, said)

    async def all_checks() -> tuple[Check, ...]:
        one = Checkup(replace(campaign, power={}), nowhere, nowhere)
        await one.open()
        return await one.checks()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linewatt.engine.live.session.connect_to_host", connect)
        return asyncio.run(all_checks())


@fuzz(st.lists(damaged([*FACTS, *FACTS, _THREADS, *texts("check/*/output")]), min_size=1, max_size=3))
def test_hosts_that_answer_anything_are_checked(said: list[str]) -> None:
    with survived("check"):
        for one in _checked(said):
            assert one.found
            one.found.encode()
