# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linewatt import units
from linewatt.analysis.cases.shares import mean_shares
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.flags.case import count_flags
from linewatt.analysis.metrics.cpu_shares import app_and_irq_cores
from linewatt.analysis.metrics.metric import estimates
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.statistics.stats import Estimate
from linewatt.missing import Missing
from linewatt.model import Case, CpuShares, EndResult, Flag, Role, Trial, Window

TCP = Case("tcp", "gen", "dut")
UDP = Case("udp-1500", "gen", "dut")


def shares(cpus: tuple[int, ...] = (0,), idle: float = 0.5) -> CpuShares:
    busy = 1 - idle
    return CpuShares(cpus, 0.25 * busy, 0.75 * busy, 0.0, 0.0, idle, 0.0)


def end(role: Role = "receiver", cores: float | None = 2.0, **other: object) -> EndResult:
    base = EndResult(
        host="dut" if role == "receiver" else "gen",
        role=role,
        cpu_cores=cores,
        app_cpu=shares((0,), 0.25),
        irq_cpu=shares((1,), 0.75),
        load_cpu_cores=None,
        base_frequency_hz=3.2e9,
    )
    return replace(base, **other)  # type: ignore[arg-type]


def trial(number: int = 0, case: Case = TCP, rate_bps: float | None = 20e9, **other: object) -> Trial:
    base = Trial(
        number=number,
        repetition=number,
        case=case,
        case_key=case.key,
        status="done",
        started_s=1000.0 + number,
        window=Window(1000, 1010),
        throughput_bps=rate_bps,
        offered_bps=rate_bps,
        sender=end("sender", 1.0),
        receiver=end(),
    )
    return replace(base, **other)  # type: ignore[arg-type]


def failed(number: int, case: Case = TCP, reason: str | None = "iperf3 refused") -> Trial:
    nothing = dict.fromkeys(("throughput_bps", "offered_bps", "window", "sender", "receiver"))
    return trial(number, case, status="failed", reason=reason, **nothing)


def one(*trials: Trial) -> CaseSummary:
    (summary,) = summarise(trials)
    return summary


def mean(value: Estimate | None) -> float:
    assert value is not None
    return value.mean


def test_no_trials_give_no_summaries() -> None:
    assert summarise([]) == ()


def test_throughput_is_mean_and_deviation_over_trials() -> None:
    summary = one(trial(0, rate_bps=10e9), trial(1, rate_bps=12e9), trial(2, rate_bps=14e9))
    assert summary.throughput_bps is not None
    assert summary.throughput_bps.mean == pytest.approx(12e9)
    assert summary.throughput_bps.sd == pytest.approx(2e9)
    assert summary.throughput_bps.n == 3
    assert summary.trials_done == 3


def test_one_trial_has_no_deviation() -> None:
    assert one(trial()).throughput_bps == Estimate(20e9, None, 1)


def test_a_failed_trial_is_counted_and_never_becomes_a_number() -> None:
    summary = one(trial(0), failed(1), trial(2))
    assert (summary.trials_done, summary.trials_failed) == (2, 1)
    assert summary.throughput_bps == Estimate(20e9, 0.0, 2)
    assert summary.failures == ("trial 1: iperf3 refused",)


def test_a_case_of_failures_only_has_no_numbers_and_says_why() -> None:
    summary = one(failed(0), failed(1, reason=None))
    about = {
        "case",
        "values",
        "scalings",
        "trials_done",
        "trials_failed",
        "failures",
        "flags",
        "reasons",
        "modes",
        "unresolved",
        "case_flags",
    } | {"limit", "regime", "window_s", "sent_segments"}
    measured = [field.name for field in fields(CaseSummary) if field.name not in about]
    assert all(getattr(summary, name) is None for name in measured)
    assert not any([*summary.values.values(), *summary.scalings.values()])
    of_tcp = {
        metric.name for metric in METRICS if metric.loads != "request-response" and not metric.only_recorded
    }
    assert {*measured, *of_tcp} == set(summary.reasons)
    assert summary.reasons["throughput_bps"] == "no trial of this case is done"
    assert summary.failures[1] == "trial 1: no reason recorded"


def test_efficiency_is_throughput_per_core_at_each_end() -> None:
    summary = one(trial())
    assert mean(summary.efficiency_receiver_bps_per_core) == 10e9
    assert mean(summary.efficiency_sender_bps_per_core) == 20e9
    assert mean(summary.values["efficiency_at_3ghz_bps_per_core"]) == pytest.approx(10e9 * 3 / 3.2)


def test_bits_per_cycle_are_efficiency_by_the_clock_that_was_run_or_say_why_not() -> None:
    told = one(trial(receiver=end(busy_frequency_hz=2.5e9)))
    assert mean(told.values["efficiency_receiver_bits_per_cycle"]) == 4.0
    assert told.values["efficiency_sender_bits_per_cycle"] is None
    silent = one(trial(receiver=end(reasons={"busy_frequency_hz": "no cpufreq in this guest"})))
    assert silent.reasons["efficiency_receiver_bits_per_cycle"] == "dut: no cpufreq in this guest"


def test_a_derived_value_is_computed_in_each_trial_and_then_averaged() -> None:
    summary = one(
        trial(0, rate_bps=10e9, receiver=end(cores=1.0)), trial(1, rate_bps=10e9, receiver=end(cores=2.0))
    )
    assert mean(summary.efficiency_receiver_bps_per_core) == 7.5e9
    assert mean(summary.efficiency_receiver_bps_per_core) != 10e9 / mean(summary.values["receiver_cpu_cores"])


def test_cpu_per_throughput_counts_the_application_and_the_irq_cpu() -> None:
    summary = one(trial(rate_bps=10e9))
    assert units.percent_per_gbps(mean(summary.receiver_cpu_cores_per_bps)) == pytest.approx(100 / 10)


def test_several_cpus_of_a_role_count_each() -> None:
    both = end(app_cpu=shares((0, 1, 2, 3), 0.5), irq_cpu=shares((4, 5), 0.0))
    assert app_and_irq_cores(both) == 4.0


@pytest.mark.parametrize(
    ("app", "irq", "cores"), [((0, 1), (0, 1), 1.0), ((0, 1), (1,), 1.0), ((0,), (0, 1), 2.0)]
)
def test_a_cpu_with_both_roles_counts_once(app: tuple[int, ...], irq: tuple[int, ...], cores: float) -> None:
    both = end(app_cpu=shares(app, 0.5), irq_cpu=shares(irq, 0.5 if len(app) > 1 else 0.0))
    assert app_and_irq_cores(both) == cores


def test_roles_that_overlap_in_part_cannot_be_added_and_say_so() -> None:
    summary = one(trial(receiver=end(app_cpu=shares((0, 1)), irq_cpu=shares((1, 2)))))
    assert summary.receiver_cpu_cores_per_bps is None
    assert summary.reasons["receiver_cpu_cores_per_bps"].startswith("dut: CPUs 1 have both roles")


def test_an_unknown_base_frequency_has_its_reason() -> None:
    receiver = end(base_frequency_hz=None, reasons={"base_frequency_hz": "no cpufreq in this guest"})
    summary = one(trial(receiver=receiver))
    assert summary.values["efficiency_at_3ghz_bps_per_core"] is None
    assert summary.reasons["efficiency_at_3ghz_bps_per_core"] == "dut: no cpufreq in this guest"
    assert summary.efficiency_receiver_bps_per_core is not None


def test_a_value_that_some_trials_lack_counts_the_others_and_says_so() -> None:
    lost = end(cores=None, reasons={"cpu_cores": "mpstat ended early"})
    summary = one(trial(0), trial(1, receiver=lost), trial(2, receiver=lost))
    assert summary.values["receiver_cpu_cores"] == Estimate(2.0, None, 1)
    assert summary.reasons["receiver_cpu_cores"] == "in 2 of 3 trials: dut: mpstat ended early"


def test_an_end_that_was_not_recorded_has_a_reason() -> None:
    summary = one(trial(sender=None))
    assert summary.reasons["sender_cpu_cores"] == "the sender was not recorded"
    assert summary.reasons["sender_app"] == "the sender was not recorded"


def test_zero_throughput_gives_no_efficiency() -> None:
    summary = one(trial(rate_bps=0.0))
    assert summary.throughput_bps == Estimate(0.0, None, 1)
    assert summary.efficiency_receiver_bps_per_core is None
    assert "must both be greater than 0" in summary.reasons["efficiency_receiver_bps_per_core"]
    assert summary.reasons["scaling_factor"]


def test_a_missing_throughput_is_the_reason_for_a_missing_efficiency() -> None:
    assert one(trial(rate_bps=None)).reasons["efficiency_receiver_bps_per_core"] == "throughput not recorded"


def test_datagrams_a_second_are_those_received() -> None:
    summary = one(trial(case=UDP, packets=1000, lost_packets=100, lost_ratio=0.1, out_of_order_packets=3))
    assert mean(summary.values["packets_per_s"]) == 90
    assert mean(summary.lost_ratio) == 0.1
    assert mean(summary.values["out_of_order_packets"]) == 3
    assert summary.reasons["retransmits"] == "UDP does not retransmit"


def test_tcp_has_retransmits_and_no_datagrams() -> None:
    summary = one(trial(retransmits=4))
    assert mean(summary.retransmits) == 4
    assert summary.reasons["packets_per_s"] == "TCP has no datagrams to count"


@pytest.mark.parametrize("lacking", ["packets", "lost_packets", "window"])
def test_datagrams_a_second_need_packets_losses_and_window(lacking: str) -> None:
    known: dict[str, Any] = {"packets": 1000, "lost_packets": 0}
    assert one(trial(case=UDP, **known)).values["packets_per_s"] is not None
    assert one(trial(case=UDP, **(known | {lacking: None}))).values["packets_per_s"] is None


def test_shares_are_means_over_trials() -> None:
    first = trial(0, receiver=end(app_cpu=shares((0,), 0.2)))
    second = trial(1, receiver=end(app_cpu=shares((0,), 0.4)))
    summary = one(first, second)
    assert summary.receiver_app is not None
    assert summary.receiver_app.idle_ratio == pytest.approx(0.3)
    assert summary.receiver_app.cpus == (0,)
    assert mean_shares([]) is None


def test_scaling_refers_to_the_single_instance_of_the_same_case() -> None:
    eight = replace(TCP, instances=8)
    summaries = summarise(
        [
            trial(0, eight, 94237.26e6, receiver=end(cores=9.4252)),
            trial(1, TCP, 24287.36e6, receiver=end(cores=1.6866)),
        ]
    )
    assert [summary.case.instances for summary in summaries] == [1, 8]
    assert summaries[0].scalings["scaling_factor"] == 1
    assert summaries[1].scalings["scaling_factor"] == pytest.approx(0.694, abs=1e-3)
    assert summaries[1].scalings["throughput_scaling"] == pytest.approx(0.485, abs=1e-3)


@pytest.mark.parametrize(
    "other",
    [
        replace(TCP, sender="dut", receiver="gen"),
        replace(TCP, direction="reverse"),
        replace(TCP, family="ipv6"),
        replace(TCP, network="vxlan"),
        replace(TCP, streams=8),
        replace(TCP, rate_bps=1e9),
        UDP,
    ],
)
def test_scaling_never_refers_to_another_case(other: Case) -> None:
    for single, several in ((other, replace(TCP, instances=2)), (TCP, replace(other, instances=2))):
        summaries = summarise([trial(0, single), trial(1, several)])
        (two,) = [summary for summary in summaries if summary.case.instances == 2]
        assert two.scalings["scaling_factor"] is None
        assert two.scalings["throughput_scaling"] is None
        assert "no case with 1 instance" in two.reasons["scaling_factor"]


def test_scaling_without_cpu_still_gives_throughput_scaling() -> None:
    blind = end(cores=None)
    summaries = summarise(
        [trial(0, receiver=blind), trial(1, replace(TCP, instances=2), 30e9, receiver=blind)]
    )
    assert summaries[1].scalings["throughput_scaling"] == 0.75
    assert summaries[1].scalings["scaling_factor"] is None
    assert "efficiency" in summaries[1].reasons["scaling_factor"]


def test_flags_are_counted_by_code_with_one_example() -> None:
    here, there = Flag("cpu-shared", "dut", "first", "fix"), Flag("cpu-shared", "gen", "second", "fix")
    other = Flag("loss", "dut", "1 %", "slower")
    trials = (trial(0, flags=(here, there)), trial(1, flags=(other,)), replace(failed(2), flags=(here,)))
    summary = one(*trials)
    assert summary.flags == count_flags(trials)
    assert [(item.code, item.count, item.trials) for item in summary.flags] == [
        ("cpu-shared", 3, 2),
        ("loss", 1, 1),
    ]
    assert summary.flags[0].example is here


def test_a_flag_that_changes_little_in_the_means_is_light() -> None:
    flags = (Flag("cpu-shared", "dut", "first", "fix"), Flag("loss", "dut", "1 %", "slower"))
    counts = count_flags([trial(0, flags=flags)], {"loss"})
    assert {item.code: item.is_light for item in counts} == {"cpu-shared": False, "loss": True}


def test_cases_come_by_test_then_series_then_instances() -> None:
    back = replace(TCP, sender="dut", receiver="gen")
    order = [UDP, replace(back, instances=4), replace(TCP, instances=2), back, TCP, replace(UDP, instances=2)]
    cases = [summary.case for summary in summarise([trial(n, case) for n, case in enumerate(order)])]
    assert cases == [
        back,
        replace(back, instances=4),
        TCP,
        replace(TCP, instances=2),
        UDP,
        replace(UDP, instances=2),
    ]


@settings(deadline=None)
@given(st.permutations(range(6)))
def test_figures_do_not_depend_on_the_order_of_the_trials(order: list[int]) -> None:
    rates = [10e9, 11e9, 12e9, 13e9, 14e9, 15e9]
    summary = one(*[trial(number, rate_bps=rates[number]) for number in order])
    assert summary.throughput_bps == one(*[trial(n, rate_bps=rates[n]) for n in range(6)]).throughput_bps


maybe = st.one_of(st.none(), st.floats(min_value=0, max_value=1e12))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["tcp", "udp-60"]), st.integers(1, 3), maybe, maybe, st.booleans()),
        max_size=12,
    )
)
def test_whatever_is_missing_no_figure_is_nan_or_infinite_and_every_gap_has_a_reason(
    drawn: list[tuple[str, int, float | None, float | None, bool]],
) -> None:
    trials = [
        trial(number, Case(test, "gen", "dut", instances), rate, receiver=end(cores=cores))
        if done
        else failed(number, Case(test, "gen", "dut", instances))
        for number, (test, instances, rate, cores, done) in enumerate(drawn)
    ]
    for summary in summarise(trials):
        for field in fields(CaseSummary)[4:-7]:
            value = getattr(summary, field.name)
            if value is None:
                assert summary.reasons[field.name]
            elif isinstance(value, Estimate):
                assert math.isfinite(value.mean)
                assert value.sd is None or math.isfinite(value.sd)
            elif isinstance(value, float):
                assert math.isfinite(value)
                assert value > 0


def test_a_figure_is_made_when_it_is_first_read_and_only_once() -> None:
    read: list[float | None] = []

    def throughput(trial: Trial) -> float | Missing:
        read.append(trial.throughput_bps)
        return Missing("nothing arrived") if trial.throughput_bps is None else trial.throughput_bps

    values, reasons = estimates({"rate": throughput}, [trial(0), trial(1, rate_bps=None)])
    assert not read
    assert (mean(values["rate"]), reasons["rate"]) == (20e9, "in 1 of 2 trials: nothing arrived")
    assert values.get("rate") == values["rate"]
    assert read == [20e9, None]


def test_figures_that_no_trial_recorded_and_reasons_of_known_ones_are_not_there() -> None:
    reads = {"rate": lambda trial: trial.throughput_bps, "seldom": lambda _: Missing("not counted")}
    values, reasons = estimates(reads, [trial()], only_recorded=["seldom"])
    assert [*values] == ["rate"]
    assert "seldom" not in values
    assert not reasons
    assert {**(reasons | {"rate": "other trials", "watts": "no source"})} == {
        "rate": "other trials",
        "watts": "no source",
    }
