# SPDX-License-Identifier: Apache-2.0
"""What limits a case: published findings come out of published figures, and each planted limit is named."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.report_factories import end, renumbered, result, shares, trial

from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.flags.case import limit_flags
from linewatt.analysis.limits.limit_text import NAMES
from linewatt.analysis.limits.paths import lost_ratio
from linewatt.analysis.limits.ranking import candidates
from linewatt.analysis.limits.verdict import Limit, verdict
from linewatt.delimited import read_table
from linewatt.features.tables.imported import import_table
from linewatt.findings.limits import TIE_RATIO
from linewatt.model import Case, CpuShares, EndResult, Flag, InstanceResult, Role, TcpState, Trial
from linewatt.report.printing import html
from linewatt.report.trials import terminal
from linewatt.report.trials.answer.limits import MOST_NAMED, limit_notes, limit_words
from linewatt.report.trials.digest import case_rows, digest_document, digest_of

GIVEN = ("usr", "sys", "irq", "soft", "idle")
PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "published"


def vxlan_rows() -> dict[tuple[str, str, str], Limit]:
    """The limits of the published rows, each with the one end that it has."""
    with (PUBLISHED / "vxlan.csv").open(newline="") as file:
        return {
            (row["kernel"].partition("-")[0], row["test"], row["direction"]): verdict([_published(row)])
            for row in csv.DictReader(file)
        }


def _published(row: dict[str, str]) -> Trial:
    role: Role = "receiver" if row["direction"] == "receive" else "sender"
    bps = float(row["published_throughput"]) * {"Gbps": 1e9, "Mbps": 1e6}[row["published_unit"]]
    case = Case(row["test"], "gen", "dut", network="vxlan")
    known = EndResult("dut", role, None, _shares(row, "app"), _shares(row, "irq"), None, None)
    rate = {"throughput_bps" if role == "receiver" else "offered_bps": bps}
    return replace(Trial(1, 1, case, case.key, "done", 0.0), **{role: known}, **rate)  # type: ignore[arg-type]


def _shares(row: dict[str, str], part: str) -> CpuShares:
    ratio = {f"{name}_ratio": float(row[f"{part}_{name}"]) / 100 for name in GIVEN}
    return CpuShares(cpus=(), unnumbered=1, other_ratio=0.0, **ratio)


@pytest.mark.parametrize(
    ("row", "kind", "says"),
    [
        (
            ("6.9.0", "tcp", "receive"),
            "receiver-irq-cpu",
            "the receiver's IRQ CPU (99.9 % busy, 99.9 % soft)",
        ),
        (
            ("5.14.0", "tcp", "receive"),
            "receiver-irq-cpu",
            "the receiver's IRQ CPU (100.0 % busy, 100.0 % soft)",
        ),
        (
            ("6.9.0", "udp-1500", "receive"),
            "receiver-irq-cpu",
            "the receiver's IRQ CPU (100.0 % busy, 99.9 % soft)",
        ),
        (
            ("6.9.0", "udp-60", "receive"),
            "receiver-app-cpu",
            "the receiver's app CPU (100.0 % busy, 85.0 % sys)",
        ),
        (("6.9.0", "udp-1500", "send"), "sender-app-cpu", "the sender's app CPU (99.9 % busy, 95.7 % sys)"),
        (("6.9.0", "udp-60", "send"), "sender-app-cpu", "the sender's app CPU (99.9 % busy, 93.4 % sys)"),
    ],
)
def test_the_published_limits_of_vxlan_are_found(row: tuple[str, str, str], kind: str, says: str) -> None:
    found = vxlan_rows()[row]
    assert found.kinds == (kind,)
    assert found.words == says


def test_where_the_other_end_is_unknown_nothing_is_ruled_out() -> None:
    found = vxlan_rows()["6.9.0", "tcp", "send"]
    assert found.kinds == ("not-found",)
    assert found.lead == "No limit found"
    assert "not known: the line rate, the receiver's IRQ CPU, the receiver's app CPU" in found.evidence
    assert "busiest: the sender's app CPU, 56.7 %" in found.evidence


def test_the_published_matrix_names_both_full_cpus_of_the_slow_receiver() -> None:
    table, _ = read_table((PUBLISHED / "arm_vs_intel_all.csv").read_bytes(), "t")
    by_case = {
        (one.case.test, *one.case.hosts): one.limit for one in summarise(import_table(table, "t", 0.0).trials)
    }
    assert set(by_case["tcp", "netdev19", "arm"].kinds) == {"receiver-app-cpu", "receiver-irq-cpu"}
    assert "sender-app-cpu" in by_case["udp-1500", "netdev89", "arm"].kinds
    assert by_case["tcp", "netdev89", "netdev19"].kinds == ("not-found",)


def loaded(test: str = "tcp", at: int = 1, case: Case | None = None, **busy: float) -> Trial:
    """A trial whose roles are busy to what is named, the others to a half."""
    level = {"sender_app": 0.5, "sender_irq": 0.5, "receiver_app": 0.5, "receiver_irq": 0.5} | busy
    case = case or Case(test, "a", "b")
    ends = {
        role: end(
            host,
            role,  # type: ignore[arg-type]
            1.0,
            0,
            0,
            app_cpu=shares(level[f"{role}_app"]),
            irq_cpu=shares(level[f"{role}_irq"], cpus=(1,), soft=level[f"{role}_irq"]),
        )
        for role, host in (("sender", "a"), ("receiver", "b"))
    }
    return replace(trial(at, case, 10e9, 1.0, line_goodput_bps=40e9), **ends)  # type: ignore[arg-type]


def busy_at(kind: str, busy: float) -> Trial:
    """A trial of which one role, by its kind of limit, is busy to ``busy``."""
    roles: dict[str, Any] = {kind.removesuffix("-cpu").replace("-", "_"): busy}
    return loaded(**roles)


def summary(*trials: Trial) -> CaseSummary:
    (found,) = summarise(trials)
    return found


def changed(one: Trial, role: Role, **changes: Any) -> Trial:
    """A trial with other figures at one end."""
    return replace(one, **{role: replace(getattr(one, role), **changes)})


@pytest.mark.parametrize("kind", ["sender-app-cpu", "sender-irq-cpu", "receiver-app-cpu", "receiver-irq-cpu"])
def test_a_full_cpu_of_either_end_is_named(kind: str) -> None:
    found = verdict([busy_at(kind, 0.999)])
    assert found.kinds == (kind,)
    assert found.margin.startswith("the next is the ")


def test_a_case_with_headroom_names_nothing_and_says_what_is_nearest() -> None:
    found = verdict([loaded(receiver_app=0.89)])
    assert found.kinds == ("not-found",)
    assert found.evidence == (
        "busiest: the receiver's app CPU, 89.0 %; 25.0 % of the goodput that the line can carry"
    )
    assert found.margin == "nearest is the receiver's app CPU, 89.0 %; from 90 % on it is named"


def test_two_within_two_percent_are_named_together_and_a_third_is_not() -> None:
    near = replace(loaded(receiver_irq=0.999, sender_app=0.95), line_goodput_bps=10.1e9)
    found = verdict([near])
    assert found.kinds == ("receiver-irq-cpu", "line-rate")
    assert found.what == "the receiver's IRQ CPU and the line rate"
    assert found.margin == "the next is the sender's app CPU, 95.0 %"


def test_what_is_full_in_some_trials_alone_is_not_the_limit() -> None:
    found = verdict(
        [loaded(receiver_irq=0.99), loaded(at=2, receiver_irq=0.7), loaded(at=3, receiver_irq=0.99)]
    )
    assert found.kinds == ("not-found",)
    assert "the receiver's IRQ CPU full in 2 of 3 trials" in found.evidence
    assert found.margin == (
        "nearest is the receiver's IRQ CPU, 89.3 %: 90 % or more in 2 of 3 trials, named as the limit only "
        "if in all"
    )


def test_more_than_the_line_can_carry_is_an_error_and_never_the_limit() -> None:
    found = summary(replace(loaded(), line_goodput_bps=8e9))
    assert found.limit.kinds == ("not-found",)
    assert [flag.code for flag in found.case_flags] == ["above-line-rate"]
    assert (
        "up to 125.0 % of the payload rate that the line can carry (8.00 Gbps)"
        in found.case_flags[0].evidence
    )
    a_little = summary(replace(loaded(), line_goodput_bps=9.99e9))
    assert a_little.limit.kinds == ("line-rate",)
    assert a_little.case_flags == ()


def test_a_shaper_is_named_as_such() -> None:
    found = verdict([replace(loaded(), line_goodput_bps=10e9, line_kind="shaper", line_host="a")])
    assert found.kinds == ("shaper",)
    assert found.lead == "Limited by the shaper of the line"


def paced(rate_bps: float, **busy: Any) -> Trial:
    return loaded(case=Case("tcp", "a", "b", rate_bps=rate_bps), **busy)


def test_a_line_beside_netem_is_not_the_limit_and_the_sentence_says_what_is_added() -> None:
    full = replace(loaded(), line_goodput_bps=10e9)
    added = Flag("netem", "a", "netem is in the way of what its data interface sends: netem delay 10ms", "")
    assert verdict([full]).kinds == ("line-rate",)
    found = verdict([replace(full, flags=(added,))])
    assert found.kinds == ("not-found",)
    assert found.evidence.startswith("netem delays or loses what a sends; ")
    slow = replace(loaded(sender_app=1.0), flags=(added, replace(added, where="b")))
    assert verdict([slow]).evidence.endswith("; netem delays or loses what a and b send")


def test_a_line_that_is_full_now_and_then_is_told_unless_netem_is_before_it() -> None:
    added = Flag("netem", "a", "netem is in the way of what its data interface sends: netem delay 10ms", "")
    trials = [replace(loaded(), line_goodput_bps=10e9), loaded(at=2)]
    told = "the line rate full in 1 of 2 trials"
    assert told in verdict(trials).evidence
    assert told not in verdict([replace(one, flags=(added,)) for one in trials]).evidence
    full_cpu = [loaded(receiver_irq=0.99), loaded(at=2)]
    behind = verdict([replace(one, flags=(added,)) for one in full_cpu]).evidence
    assert "the receiver's IRQ CPU full in 1 of 2 trials" in behind


def test_a_paced_load_that_got_what_it_asked_for_is_limited_by_that_alone() -> None:
    found = summary(paced(10.1e9, receiver_irq=0.999))
    assert found.limit.kinds == ("paced",)
    assert found.limit.evidence == "99.0 % of 10.1 Gbps arrived"
    assert found.case_flags == ()


def test_a_paced_load_that_did_not_is_limited_by_what_is_full() -> None:
    found = summary(paced(14e9, sender_app=0.998))
    assert found.limit.kinds == ("sender-app-cpu",)
    assert found.limit.evidence.endswith("only 71.4 % of the 14.0 Gbps asked for arrived")
    assert "rate-not-reached" in {flag.code for flag in found.case_flags}
    headroom = summary(paced(14e9))
    assert headroom.limit.kinds == ("not-found",)
    assert headroom.limit.evidence.startswith("only 71.4 % of the 14.0 Gbps asked for arrived")
    assert "no limit found" in headroom.case_flags[0].evidence


def test_a_rate_that_is_exceeded_limits_nothing_and_is_said() -> None:
    found = summary(paced(10e9 / 1.36, receiver_irq=0.999))
    assert found.limit.kinds == ("receiver-irq-cpu",)
    assert found.limit.evidence.endswith("; 136.0 % of the 7.35 Gbps asked for arrived")
    (flag,) = [flag for flag in found.case_flags if flag.code == "rate-exceeded"]
    assert flag.evidence == "10.0 Gbps with a requested 7.35 Gbps (136.0 %)"


def test_one_full_cpu_of_eight_does_not_hide_in_their_mean() -> None:
    eight = tuple(range(8))
    found = verdict(
        [
            changed(
                loaded(),
                "receiver",
                irq_cpu=shares(0.31, cpus=eight, soft=0.31),
                hottest_irq=shares(1.0, cpus=(5,), soft=0.99),
            )
        ]
    )
    assert found.kinds == ("receiver-irq-cpu",)
    assert found.what == "one of the receiver's 8 IRQ CPUs"
    assert found.evidence == (
        "CPU 5 100.0 % busy, 99.0 % soft, all 8 31.0 %, one queue or flows that share a hash (RSS)"
    )


@pytest.mark.parametrize(
    ("counted", "named"),
    [
        ({"irq.data": 9e5, "irq.cpu9": 3.0}, True),
        ({"irq.data": 9e5, "irq.cpu9": 0.0, "softnet.cpu9.received_rps": 5e4}, True),
        ({"irq.data": 9e5, "irq.cpu9": 0.0, "softnet.cpu9.processed": 9e6, "softnet.processed": 9e6}, False),
        ({"softnet.cpu9.processed": 1e6, "softnet.processed": 9e6}, True),
        ({"softnet.cpu9.processed": 1e4, "softnet.processed": 9e6}, False),
        ({}, False),
    ],
    ids=[
        "its interrupts",
        "by RPS",
        "of another interface",
        "its packets",
        "hardly any packets",
        "not known",
    ],
)
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_full_cpu_of_neither_role_that_takes_the_packets_is_named(
    role: Role, counted: dict[str, float], named: bool
) -> None:
    full = shares(0.99, cpus=(9,), soft=0.98)
    found = verdict([changed(loaded(), role, hottest=full, counters=counted)])
    assert found.kinds == ((f"{role}-cpu",) if named else ("not-found",))
    if named:
        assert found.words == (
            f"a CPU of the {role} (99.0 % busy, 98.0 % soft; CPU 9, which has neither role)"
        )


@pytest.mark.parametrize(("busy", "soft"), [(0.99, 0.1), (0.4, 0.4)], ids=["work of others", "room"])
def test_a_cpu_of_neither_role_is_named_only_where_interrupts_fill_it(busy: float, soft: float) -> None:
    beside = shares(busy, cpus=(9,), soft=soft)
    taking = {"irq.data": 9e5, "irq.cpu9": 3.0}
    found = verdict([changed(loaded(), "receiver", hottest=beside, counters=taking)])
    assert found.kinds == ("not-found",)


def test_where_single_cpus_are_not_known_it_is_said() -> None:
    found = verdict([changed(loaded(), "receiver", irq_cpu=shares(0.31, cpus=tuple(range(8))))])
    assert found.kinds == ("not-found",)
    assert "single ones of the receiver's 8 CPUs" in found.evidence


def test_a_cpu_that_a_hypervisor_takes_is_full_and_says_why() -> None:
    stolen = replace(shares(1.0), sys_ratio=0.6, usr_ratio=0.1, steal_ratio=0.3, other_ratio=0.3)
    found = verdict([changed(loaded(), "receiver", app_cpu=stolen)])
    assert found.kinds == ("receiver-app-cpu",)
    assert "30.0 % of its time taken by a hypervisor" in found.evidence


def test_what_a_hypervisor_takes_is_told_over_all_trials_as_the_use_is() -> None:
    taken = replace(shares(1.0), sys_ratio=0.6, usr_ratio=0.1, steal_ratio=0.3, other_ratio=0.3)
    trials = [changed(loaded(), "receiver", app_cpu=one) for one in (taken, shares(1.0))]
    found = verdict(trials)
    assert found.evidence.count("taken by a hypervisor") == 1
    assert "15.0 % of its time taken by a hypervisor" in found.evidence


def test_what_runs_niced_gives_way_to_the_load_and_fills_no_cpu() -> None:
    niced = replace(shares(1.0), sys_ratio=0.4, usr_ratio=0.1, other_ratio=0.5)
    assert verdict([changed(loaded(), "receiver", app_cpu=niced)]).kinds == ("not-found",)


def test_virtual_machines_of_the_host_give_way_to_nobody_and_fill_its_cpus() -> None:
    full = CpuShares((1,), 0.0, 0.05, 0.0, 0.45, 0.0, 0.5, guest_ratio=0.5)
    found = verdict([changed(loaded(), "receiver", irq_cpu=full)])
    assert found.kinds == ("receiver-irq-cpu",)
    assert (
        "100.0 % busy, 45.0 % soft; 50.0 % of its time taken by virtual machines of the host" in found.words
    )


def test_a_slowed_cpu_and_an_exhausted_softirq_budget_are_evidence_beside_it() -> None:
    hot = Flag("cpu-throttled", "b", "CPU 1: its core 3 times", "cool it")
    one = changed(loaded(receiver_irq=0.99), "receiver", counters={"softnet.time_squeeze": 12.0})
    found = verdict([replace(one, flags=(hot,))])
    assert "softirq ran out of its budget (time_squeeze)" in found.evidence
    assert "slowed for heat (cpu-throttled)" in found.evidence


def test_a_full_cpu_that_others_use_says_so() -> None:
    both_ends = Flag("foreign-load", "a, b", "others used 0.60 cores in the window", "find them")
    found = verdict([replace(loaded(receiver_app=0.99), flags=(both_ends,))])
    assert found.kinds == ("receiver-app-cpu",)
    assert "others use it, too (foreign-load)" in found.evidence


def test_a_cpu_for_processes_and_interrupts_is_named_by_what_it_does_most() -> None:
    both = shares(0.99, cpus=(1,), soft=0.8)
    found = verdict([changed(loaded(), "receiver", app_cpu=both, irq_cpu=both)])
    assert found.kinds == ("receiver-irq-cpu", "receiver-app-cpu")
    assert found.what == "the receiver's app and IRQ CPUs"


def test_an_unpinned_load_is_limited_by_its_one_thread() -> None:
    one = changed(loaded(), "sender", app_cpu=None)
    busy = InstanceResult(0, 5201, None, None, 0.0, 0.0, 10e9, 10e9, sender_cpu_cores=0.99)
    found = verdict([replace(one, instances=(busy,))])
    assert found.kinds == ("sender-app-cpu",)


def with_tcp(one: Trial, **times: Any) -> Trial:
    state = TcpState(streams=1, busy_s=10.0, **times)
    return replace(one, instances=(InstanceResult(0, 5201, "0", "0", 0.0, 0.0, 10e9, 10e9, tcp=state),))


@pytest.mark.parametrize(
    ("field", "kind"), [("rwnd_limited_s", "receive-window"), ("sndbuf_limited_s", "send-buffer")]
)
def test_tcp_that_waits_for_a_buffer_is_limited_by_it_unless_something_slow_explains_it(
    field: str, kind: str
) -> None:
    waiting = with_tcp(loaded(), **{field: 9.7})
    assert verdict([waiting]).kinds == (kind,)
    assert "97.0 % of the time that connections had data to send" in verdict([waiting]).evidence
    slow = with_tcp(loaded(receiver_app=0.99), **{field: 9.7})
    assert verdict([slow]).kinds == ("receiver-app-cpu",)
    assert verdict([with_tcp(loaded(), **{field: 4.8})]).kinds == (kind,), "seen under BBR, which paces"
    assert verdict([with_tcp(loaded(), **{field: 3.0})]).kinds == ("not-found",)


def test_congestion_windows_that_would_carry_more_are_evidence_for_a_buffer() -> None:
    wide = verdict([with_tcp(loaded(), rwnd_limited_s=9.7, cwnd_bytes=2_000_000, rtt_s=1e-3)])
    assert "the congestion windows would carry more" in wide.evidence
    narrow = verdict([with_tcp(loaded(), rwnd_limited_s=9.7, cwnd_bytes=1_250_000, rtt_s=1e-3)])
    assert "would carry more" not in narrow.evidence


FULL_BUFFER = {
    "sndbuf_limited_s": 1.7,
    "cwnd_bytes": 2_500_000,
    "rtt_s": 1e-3,
    "send_buffer_bytes": 1_300_000,
}
"""of a stream of 10 Gbit/s, which has 1.25 MB on its way; named by how long it waited it would not be"""


def test_a_send_buffer_that_data_on_its_way_fills_limits_though_the_kernel_counted_little_waiting() -> None:
    found = verdict([with_tcp(loaded(), **FULL_BUFFER)])
    assert found.kinds == ("send-buffer",)
    assert found.clauses[0] == "filled to 96.2 % by data on its way (throughput × RTT)"
    assert "filled to 100.0 %" in verdict([with_tcp(loaded(), **FULL_BUFFER | {"rtt_s": 1.2e-3})]).clauses[0]
    slow = with_tcp(loaded(receiver_app=0.99), **FULL_BUFFER)
    assert verdict([slow]).kinds == ("receiver-app-cpu",)
    other_windows = with_tcp(loaded(), sndbuf_limited_s=1.7)
    assert verdict([with_tcp(loaded(), **FULL_BUFFER), other_windows]).kinds == ("not-found",)


@pytest.mark.parametrize(
    "other",
    [
        {"sndbuf_limited_s": 0.1},
        {"cwnd_bytes": 1_250_000},
        {"send_buffer_bytes": 2_500_000},
        {"send_buffer_bytes": None},
        {"rtt_s": None},
    ],
)
def test_a_send_buffer_is_not_named_without_waiting_or_room_in_the_windows_or_with_room_in_it(
    other: dict[str, float | None],
) -> None:
    assert verdict([with_tcp(loaded(), **FULL_BUFFER | other)]).kinds == ("not-found",)


def test_a_send_buffer_that_two_measures_name_is_named_once_by_the_one_that_holds_in_all_trials() -> None:
    by_both = with_tcp(loaded(), **FULL_BUFFER | {"sndbuf_limited_s": 6.0})
    for_fill = verdict([by_both, with_tcp(loaded(), **FULL_BUFFER)])
    assert [one.unit for one in for_fill.named] == ["B"]
    for_time = verdict([by_both, with_tcp(loaded(), sndbuf_limited_s=6.0)])
    assert [(one.kind, one.unit) for one in for_time.named] == [("send-buffer", "s")]


busy = st.floats(min_value=0, max_value=1)


@given(st.lists(st.tuples(busy, busy, busy, busy, st.floats(0.5, 4)), min_size=1, max_size=4))
def test_what_is_named_is_full_in_every_trial_and_nothing_known_is_clearly_fuller(
    drawn: list[tuple[float, ...]],
) -> None:
    trials = [
        replace(
            loaded(at=at, sender_app=one[0], sender_irq=one[1], receiver_app=one[2], receiver_irq=one[3]),
            line_goodput_bps=one[4] * 10e9,
        )
        for at, one in enumerate(drawn, start=1)
    ]
    found = verdict(trials)
    assert found == verdict(trials)
    for one in found.named:
        assert one.full_in == len(trials)
        assert not one.ruled_out
    least = min((min(1, one.share) for one in found.named), default=1.0)
    for one in found.ranked:
        if one.holds:
            assert found.found, "something is full in every trial"
            assert min(1, one.share) <= least + TIE_RATIO + 1e-9
    assert found.found == bool(found.named)
    assert found.evidence
    assert found.margin


def test_a_slot_that_carries_less_than_the_line_is_named() -> None:
    found = verdict([changed(loaded(), "receiver", pcie_goodput_bps=10.2e9)])
    assert found.kinds == ("receiver-pcie",)
    assert found.evidence == "98.0 %: 10.0 Gbps of 10.2 Gbps"


def test_udp_that_is_lost_names_both_ends_what_arrives_first() -> None:
    found = verdict([loaded("udp-1500", sender_app=0.999, receiver_irq=0.96)])
    assert found.kinds == ("receiver-irq-cpu", "sender-app-cpu")
    assert found.evidence.endswith("12.5 % of what was sent did not arrive")


def test_of_limits_at_both_ends_the_first_screen_says_how_full_each_host_is() -> None:
    words = limit_words(summary(loaded("udp-1500", receiver_irq=0.94, sender_app=0.999)))
    assert words == "limited by the receiver's IRQ CPU and the sender's app CPU (b, 94.0 %; a, 99.9 %)"


def test_udp_that_all_arrives_is_never_limited_by_its_receiver() -> None:
    whole = replace(loaded("udp-1500", sender_app=0.999, receiver_irq=0.999), lost_ratio=0.0, lost_packets=0)
    assert verdict([whole]).kinds == ("sender-app-cpu",)
    spared = replace(loaded("udp-1500", receiver_irq=0.999), lost_ratio=0.0, lost_packets=0)
    assert verdict([spared]).kinds == ("not-found",)
    assert "a UDP sender does not wait for the receiver" in verdict([spared]).evidence


def test_loss_that_no_full_cpu_of_the_receiver_explains_says_so() -> None:
    found = verdict([loaded("udp-1500", sender_app=0.999)])
    assert found.kinds == ("sender-app-cpu",)
    assert found.evidence.endswith("did not arrive, though no CPU of the receiver is full")


def test_what_is_not_known_of_the_receiver_is_never_called_not_full() -> None:
    lossy = loaded("udp-1500", sender_app=0.999)
    blind = changed(lossy, "receiver", app_cpu=None, irq_cpu=None)
    assert verdict([blind]).evidence.endswith("12.5 % of what was sent did not arrive")
    no_line = verdict([replace(lossy, line_goodput_bps=None)])
    assert no_line.evidence.endswith("though no CPU of the receiver is full")
    dark = replace(changed(blind, "sender", app_cpu=None, irq_cpu=None), line_goodput_bps=10e9)
    assert verdict([dark]).evidence.endswith("12.5 % of what was sent did not arrive")


def test_candidates_of_a_trial_have_shares_of_their_capacities() -> None:
    found = {one.kind: one for one in candidates(paced(14e9))}
    assert found["paced"].share == pytest.approx(10 / 14)
    assert found["line-rate"].share == pytest.approx(0.25)
    assert not any(one.ruled_out for one in found.values())
    assert lost_ratio(loaded("udp-1500")) == 0.125
    spared = replace(loaded("udp-1500"), lost_ratio=0.005)
    assert {one.end for one in candidates(spared) if one.ruled_out} == {"receiver"}
    lossy = replace(loaded("udp-1500"), lost_ratio=0.02)
    assert not any(one.ruled_out for one in candidates(lossy))


def test_a_rate_is_missed_below_98_percent_and_a_line_exceeded_above_half_a_percent() -> None:
    def told(one: Trial) -> list[str]:
        return [flag.code for flag in limit_flags(one.case, [one], verdict([one]))]

    assert told(paced(10e9 / 0.981)) == []
    assert told(paced(10e9 / 0.97)) == ["rate-not-reached"]
    assert told(paced(10e9 / 1.019)) == []
    assert told(paced(10e9 / 1.36)) == ["rate-exceeded"]
    sent = replace(paced(10e9, test="udp-1500"), offered_bps=13.6e9)
    assert "rate-exceeded" in told(sent)  # what was lost on the way was sent all the same
    assert told(replace(loaded(), line_goodput_bps=10e9 / 1.004)) == []
    assert told(replace(loaded(), line_goodput_bps=10e9 / 1.006)) == ["above-line-rate"]


@pytest.mark.parametrize(
    ("role", "counter", "kind"),
    [
        ("receiver", "nstat.UdpRcvbufErrors", "receiver-socket-buffer"),
        ("receiver", "softnet.dropped", "receiver-backlog"),
        ("receiver", "nic.rx_missed_errors", "receiver-ring"),
        ("sender", "qdisc.dropped", "sender-queue"),
    ],
)
def test_the_queue_that_dropped_what_was_lost_is_named_unless_a_full_cpu_explains_it(
    role: Role, counter: str, kind: str
) -> None:
    one = loaded("udp-1500")
    assert one.lost_packets is not None
    lossy = changed(one, role, counters={counter: 0.9 * one.lost_packets})
    assert verdict([lossy]).kinds == (kind,)
    elsewhere = changed(one, role, counters={counter: 0.1 * one.lost_packets})
    assert verdict([elsewhere]).kinds == ("not-found",)
    if role == "receiver":
        busy = changed(
            loaded("udp-1500", receiver_app=0.99), role, counters={counter: 0.9 * one.lost_packets}
        )
        assert verdict([busy]).kinds == ("receiver-app-cpu",)


def test_a_full_sender_before_a_receiver_with_room_is_a_limit_of_the_test_bed() -> None:
    found = summary(loaded(sender_app=0.995))
    (flag,) = found.case_flags
    assert flag.code == "test-bed-is-the-limit"
    assert flag.where == "a"
    assert flag.evidence.startswith("a is the limit, not b: sender's app CPU 99.5 % busy")
    assert summary(loaded(sender_app=0.995, receiver_irq=0.93)).case_flags == ()
    assert summary(loaded(receiver_irq=0.99)).case_flags == ()


def test_a_case_without_any_cpu_says_so_in_few_words() -> None:
    blind = replace(loaded(), line_goodput_bps=None)
    ends: tuple[Role, ...] = ("sender", "receiver")
    for role in ends:
        blind = changed(blind, role, app_cpu=None, irq_cpu=None)
    assert verdict([blind]).words == "no limit found (not known: the line rate, the CPUs of both ends)"


def test_a_case_without_numbers_says_that_nothing_is_known() -> None:
    nothing = CaseSummary(Case("tcp", "a", "b"), 0, 1)
    assert nothing.limit.words == "limit not known (no trial has a throughput)"


def test_cases_with_one_limit_share_a_line_that_stays_short() -> None:
    trials = []
    for at in range(MOST_NAMED + 3):
        one = loaded(receiver_irq=0.999)
        trials.append(replace(one, case=replace(one.case, sender=f"h{at}")))
    (group,) = digest_of(result(renumbered(trials))).groups
    (note,) = limit_notes(group)
    assert note.lead == "Limited by the receiver's IRQ CPU"
    assert note.sentence.count("99.9 % soft") == 1, "that of the first stands for all"
    assert note.sentence.count(" → b") == MOST_NAMED
    assert note.sentence.endswith("; and 3 more cases")


def test_limits_that_were_found_stand_before_those_that_were_not() -> None:
    idle = [replace(loaded(), case=Case("tcp", sender, "b")) for sender in ("x", "y")]
    (group,) = digest_of(result(renumbered(idle, [loaded(receiver_irq=0.999)]))).groups
    assert [note.lead for note in limit_notes(group)] == [
        "Limited by the receiver's IRQ CPU",
        "No limit found",
    ]


def test_json_and_csv_say_what_limits_each_case() -> None:
    view = digest_of(result([loaded(receiver_irq=0.999)]))
    case = digest_document(view)["cases"][0]
    assert case["limited_by"] == "the receiver's IRQ CPU (99.9 % busy, 99.9 % soft)"
    assert case["limited_by_kinds"] == "receiver-irq-cpu"
    assert case_rows(view)[0]["limited_by"] == case["limited_by"]
    first, *rest = case["limit"]["candidates"]
    assert (first["kind"], first["named"], first["trials_full"]) == ("receiver-irq-cpu", True, 1)
    assert not any(one["named"] for one in rest)
    assert all(one["otherwise"] and one["source"] for one in case["limit"]["candidates"])


def test_terminal_json_flags_and_report_name_the_same_limit() -> None:
    cases = {
        "receiver-irq-cpu": loaded(receiver_irq=0.999),
        "sender-app-cpu": loaded(sender_app=0.999),
        "line-rate": replace(loaded(), line_goodput_bps=10.02e9),
        "not-found": loaded(),
    }
    ends = [
        {"the": "the ", "owner": f"{end}'s", "its": f"{end}'s", "end": end}
        for end in ("the sender", "the receiver")
    ]
    names = {name.format(**end) for name in NAMES.values() for end in ends}
    for kind, one in cases.items():
        view = digest_of(result(renumbered([one, replace(one, repetition=2)])))
        (found,) = (summary.limit for summary in view.summaries)
        assert found.kind == kind
        written = Console(file=StringIO(), width=300, force_terminal=False)
        written.print(terminal.show_trials(view))
        assert isinstance(written.file, StringIO)
        shown = unescape(re.sub(r"\s+", " ", html.render_html(view)))
        document = digest_document(view)["cases"][0]
        assert list(document["limit"]["kinds"]) == document["limited_by_kinds"].split() == [kind]
        assert document["limited_by"] == found.words
        for text in (written.file.getvalue(), shown):
            assert f"{found.lead}" in text
            others = [name for name in names if name not in found.what]
            assert not any(f"Limited by {name}" in text for name in others)
        told = {flag.code for flag in view.summaries[0].case_flags}
        assert told == ({"test-bed-is-the-limit"} if kind == "sender-app-cpu" else set())


def test_a_slot_of_no_capacity_limits_nothing() -> None:
    """A stored result may say 0; it is no share of anything."""
    assert verdict([changed(loaded(), "receiver", pcie_goodput_bps=0.0)]).candidate("receiver-pcie") is None


def test_a_test_bed_that_limits_in_two_places_is_told_with_both() -> None:
    found = summary(loaded(sender_app=0.99, sender_irq=0.985, receiver_app=0.6))
    (flag,) = [flag for flag in found.case_flags if flag.code == "test-bed-is-the-limit"]
    assert flag.evidence == (
        "a is the limit, not b: sender's app CPU 99.0 % busy, 89.1 % sys; sender's IRQ CPU 98.5 % busy, "
        "98.5 % soft; busiest at the receiver: the receiver's app CPU, 60.0 %"
    )
