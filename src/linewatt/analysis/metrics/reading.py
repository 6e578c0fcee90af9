# SPDX-License-Identifier: Apache-2.0
"""How each metric is read from a trial, or of two cases; or why it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from linewatt.analysis.metrics import cpu_shares, formulas
from linewatt.analysis.metrics.cpu_shares import no_end, why_missing
from linewatt.analysis.metrics.metric import Value
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Role, Trial, is_request_response

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary


def recorded(name: str) -> Callable[[Trial], Value]:
    """A field of the trial itself."""

    def read(trial: Trial) -> Value:
        return getattr(trial, name), None

    return read


def target(trial: Trial) -> Value:
    why = "target not recorded" if trial.case.load_level is not None else "not at a load level"
    return trial.target_bps, why


def target_deviation(trial: Trial) -> Value:
    target_bps, why = target(trial)
    if target_bps is None or trial.throughput_bps is None:
        return None, why if target_bps is None else "throughput not recorded"
    if target_bps <= 0:
        return None, "nothing is sent at active idle"
    return trial.throughput_bps / target_bps - 1, None


def line_rate_ratio(trial: Trial) -> Value:
    if is_request_response(trial.case.test):
        return None, "one message at a time is under way, which no line limits"
    if trial.line_goodput_bps is None:
        return None, "the line rate between the hosts is not known"
    if trial.throughput_bps is None:
        return None, "throughput not recorded"
    return trial.throughput_bps / trial.line_goodput_bps, None


def udp_only(name: str) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        value = getattr(trial, name)
        return value, "TCP has no datagrams to count" if trial.case.is_tcp else None

    return read


def latency(percentile: str) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        return trial.latency_s.get(percentile), None

    return read


def retransmits(trial: Trial) -> Value:
    return trial.retransmits, None if trial.case.is_tcp else "UDP does not retransmit"


def packets_per_s(trial: Trial) -> Value:
    """Datagrams that arrived a second."""
    if trial.case.is_tcp:
        return None, "TCP has no datagrams to count"
    if trial.packets is None or trial.lost_packets is None:
        return None, "packets or lost packets not recorded"
    if trial.window is None or trial.window.seconds <= 0:
        return None, "window not recorded"
    # packets are received plus lost (loads/base.py)
    return (trial.packets - trial.lost_packets) / trial.window.seconds, None


def ends_packets_per_s(trial: Trial) -> Value:
    """What figures of its ends are for: in a ring with what the sender received itself."""
    packets, why = packets_per_s(trial)
    if packets is None or trial.incoming is None:
        return packets, why
    more, why = packets_per_s(trial.incoming)
    return None if more is None else packets + more, why


def line_packets_per_s(trial: Trial) -> Value:
    """What the line carries of datagrams as large as those that arrived."""
    packets, why = packets_per_s(trial)
    if trial.line_goodput_bps is None:
        return None, "the line rate between the hosts is not known"
    if packets is None or not trial.throughput_bps:
        return None, why or "nothing arrived"
    return trial.line_goodput_bps * packets / trial.throughput_bps, None


def cpu_cores(role: Role) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None:
            return None, no_end(trial, role)
        return end.cpu_cores, why_missing(end, "cpu_cores", "CPU use")

    return read


def counted_per_s(role: Role, counter: str) -> Callable[[Trial], Value]:
    """How often a second a counter of an end counted in the window."""

    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None or trial.window is None or trial.window.seconds <= 0:
            return None, no_end(trial, role) if end is None else "window not recorded"
        counted = end.counters.get(counter)
        value = None if counted is None else counted / trial.window.seconds
        return value, why_missing(end, counter, counter.replace("host.", "").replace("_", " "))

    return read


def efficiency(role: Role) -> Callable[[Trial], Value]:
    cores_of = cpu_cores(role)

    def read(trial: Trial) -> Value:
        cores, why = cores_of(trial)
        value = formulas.efficiency_bps_per_core(trial.ends_bps, cores)
        return value, why if cores is None else _unusable(trial, cores)

    return read


def _unusable(trial: Trial, cores: float) -> str:
    """Why nothing can be derived from a throughput and CPU use that are there, or from a missing rate."""
    if trial.ends_bps is None:
        return "throughput not recorded"
    return f"throughput {trial.ends_bps:g} bit/s and CPU use {cores:g} cores must both be greater than 0"


def packet_efficiency(role: Role) -> Callable[[Trial], Value]:
    cores_of = cpu_cores(role)

    def read(trial: Trial) -> Value:
        (cores, why_cores), (packets, why) = cores_of(trial), ends_packets_per_s(trial)
        value = formulas.efficiency_bps_per_core(packets, cores)
        return value, why if packets is None else why_cores if cores is None else "nothing arrived"

    return read


def efficiency_at_3ghz(trial: Trial) -> Value:
    bps_per_core, why = efficiency("receiver")(trial)
    if bps_per_core is None or trial.receiver is None:
        return None, why
    value = formulas.at_3ghz(bps_per_core, trial.receiver.base_frequency_hz)
    return value, why_missing(trial.receiver, "base_frequency_hz", "base frequency")


def bits_per_cycle(role: Role) -> Callable[[Trial], Value]:
    efficiency_of = efficiency(role)

    def read(trial: Trial) -> Value:
        bps_per_core, why = efficiency_of(trial)
        end = trial.end(role)
        if bps_per_core is None or end is None:
            return None, why
        value = formulas.bits_per_cycle(bps_per_core, end.busy_frequency_hz)
        return value, why_missing(end, "busy_frequency_hz", "the clock that its CPUs ran at")

    return read


def cores_per_bps(role: Role) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None:
            return None, no_end(trial, role)
        cores, why = cpu_shares.app_and_irq_cores(end)
        if cores is None:
            return None, why
        return formulas.cpu_cores_per_bps(cores, trial.ends_bps), _unusable(trial, cores)

    return read


def scaling_factor(case: CaseSummary, single: CaseSummary) -> Value:
    name = "efficiency_receiver_bps_per_core"
    factor = formulas.scaling_factor(_mean(case.values[name]), _mean(single.values[name]))
    return factor, "the receiver's efficiency of this case or of its 1-instance case is missing"


def throughput_scaling(case: CaseSummary, single: CaseSummary) -> Value:
    rates = _mean(case.throughput_bps), _mean(single.throughput_bps)
    scaling = formulas.throughput_scaling(*rates, case.case.instances)
    return scaling, "the throughput of this case or of its 1-instance case is missing"


def _mean(value: Estimate | None) -> float | None:
    return None if value is None else value.mean
