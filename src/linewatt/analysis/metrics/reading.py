# SPDX-License-Identifier: Apache-2.0
"""How each metric is read from a trial, or of two cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from linewatt.analysis.metrics import cpu_shares, formulas
from linewatt.analysis.metrics.cpu_shares import missing_at, why_no_end
from linewatt.analysis.metrics.metric import Value
from linewatt.analysis.statistics.stats import Estimate
from linewatt.missing import Missing, NotRecorded
from linewatt.model import Role, Trial, is_request_response

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary


_NO_DATAGRAMS = Missing("TCP has no datagrams to count")
_NO_THROUGHPUT = NotRecorded("throughput not recorded")
_NO_WINDOW = NotRecorded("window not recorded")
_NO_LINE_RATE = Missing("the line rate between the hosts is not known")
_NOTHING_ARRIVED = Missing("nothing arrived")
_NOT_RECORDED = NotRecorded()
_NO_RETRANSMITS = Missing("UDP does not retransmit")
_NO_LOAD_LEVEL = Missing("not at a load level")
_NO_TARGET = NotRecorded("target not recorded")


def _or(value: float | None, missing: Missing) -> Value:
    return missing if value is None else value


def recorded(name: str) -> Callable[[Trial], Value]:
    """A field of the trial itself."""

    def read(trial: Trial) -> Value:
        return _or(getattr(trial, name), _NOT_RECORDED)

    return read


def target(trial: Trial) -> Value:
    if trial.case.load_level is None:
        return _or(trial.target_bps, _NO_LOAD_LEVEL)
    return _or(trial.target_bps, _NO_TARGET)


def target_deviation(trial: Trial) -> Value:
    target_bps = target(trial)
    if isinstance(target_bps, Missing):
        return target_bps
    if trial.throughput_bps is None:
        return _NO_THROUGHPUT
    if target_bps <= 0:
        return Missing("nothing is sent at active idle")
    return trial.throughput_bps / target_bps - 1


def line_rate_ratio(trial: Trial) -> Value:
    if is_request_response(trial.case.test):
        return Missing("only one message at a time is in flight, so the line is no limit")
    if trial.line_goodput_bps is None:
        return _NO_LINE_RATE
    if trial.throughput_bps is None:
        return _NO_THROUGHPUT
    return trial.throughput_bps / trial.line_goodput_bps


def udp_only(name: str) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        return _or(getattr(trial, name), _NO_DATAGRAMS if trial.case.is_tcp else _NOT_RECORDED)

    return read


def latency(percentile: str) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        return _or(trial.latency_s.get(percentile), _NOT_RECORDED)

    return read


def retransmits(trial: Trial) -> Value:
    return _or(trial.retransmits, _NOT_RECORDED if trial.case.is_tcp else _NO_RETRANSMITS)


def packets_per_s(trial: Trial) -> Value:
    """Datagrams that arrived a second."""
    if trial.case.is_tcp:
        return _NO_DATAGRAMS
    if trial.packets is None or trial.lost_packets is None:
        return NotRecorded("packets or lost packets not recorded")
    if trial.window is None or trial.window.seconds <= 0:
        return _NO_WINDOW
    # packets are received plus lost (loads/base.py)
    return (trial.packets - trial.lost_packets) / trial.window.seconds


def end_packets_per_s(role: Role) -> Callable[[Trial], Value]:
    """Datagrams that an end received, sent, or both."""

    def read(trial: Trial) -> Value:
        received = packets_per_s(trial)
        if isinstance(received, Missing) or (role == "receiver" and trial.incoming is None):
            return received
        if trial.packets is None or trial.window is None:
            return _NOT_RECORDED
        sent = trial.packets / trial.window.seconds
        if trial.incoming is None:
            return sent
        incoming = packets_per_s(trial.incoming)
        return incoming if isinstance(incoming, Missing) else sent + incoming

    return read


def line_packets_per_s(trial: Trial) -> Value:
    """What the line carries of datagrams as large as those that arrived."""
    packets = packets_per_s(trial)
    if trial.line_goodput_bps is None:
        return _NO_LINE_RATE
    if isinstance(packets, Missing):
        return packets
    return (
        trial.line_goodput_bps * packets / trial.throughput_bps if trial.throughput_bps else _NOTHING_ARRIVED
    )


def cpu_cores(role: Role) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None:
            return why_no_end(trial, role)
        return missing_at(end, "cpu_cores", "CPU use") if end.cpu_cores is None else end.cpu_cores

    return read


def counted_per_s(role: Role, counter: str) -> Callable[[Trial], Value]:
    """How often a second a counter of an end counted in the window."""

    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None:
            return why_no_end(trial, role)
        if trial.window is None or trial.window.seconds <= 0:
            return _NO_WINDOW
        counted = end.counters.get(counter)
        if counted is None:
            return missing_at(end, counter, counter.replace("host.", "").replace("_", " "))
        return counted / trial.window.seconds

    return read


def efficiency(role: Role) -> Callable[[Trial], Value]:
    cores_of = cpu_cores(role)

    def read(trial: Trial) -> Value:
        cores = cores_of(trial)
        if isinstance(cores, Missing):
            return cores
        rate_bps = trial.end_bps(role)
        value = formulas.efficiency_bps_per_core(rate_bps, cores)
        return _unusable(rate_bps, cores) if value is None else value

    return read


def _unusable(rate_bps: float | None, cores: float) -> Missing:
    """Why nothing can be derived from a throughput and CPU use that are there, or from a missing rate."""
    if rate_bps is None:
        return _NO_THROUGHPUT
    return Missing(f"throughput {rate_bps:g} bit/s and CPU use {cores:g} cores must both be greater than 0")


def packet_efficiency(role: Role) -> Callable[[Trial], Value]:
    cores_of, packets_of = cpu_cores(role), end_packets_per_s(role)

    def read(trial: Trial) -> Value:
        cores, packets = cores_of(trial), packets_of(trial)
        if isinstance(packets, Missing):
            return packets
        if isinstance(cores, Missing):
            return cores
        return _or(formulas.efficiency_bps_per_core(packets, cores), _NOTHING_ARRIVED)

    return read


def efficiency_at_3ghz(trial: Trial) -> Value:
    bps_per_core = efficiency("receiver")(trial)
    if isinstance(bps_per_core, Missing) or trial.receiver is None:
        return bps_per_core
    value = formulas.at_3ghz(bps_per_core, trial.receiver.base_frequency_hz)
    return missing_at(trial.receiver, "base_frequency_hz", "base frequency") if value is None else value


def bits_per_cycle(role: Role) -> Callable[[Trial], Value]:
    efficiency_of = efficiency(role)

    def read(trial: Trial) -> Value:
        bps_per_core = efficiency_of(trial)
        end = trial.end(role)
        if isinstance(bps_per_core, Missing) or end is None:
            return bps_per_core
        value = formulas.bits_per_cycle(bps_per_core, end.busy_frequency_hz)
        if value is None:
            return missing_at(end, "busy_frequency_hz", "the clock that its CPUs ran at")
        return value

    return read


def cores_per_bps(role: Role) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        end = trial.end(role)
        cores = why_no_end(trial, role) if end is None else cpu_shares.app_and_irq_cores(end)
        if isinstance(cores, Missing):
            return cores
        rate_bps = trial.end_bps(role)
        value = formulas.cpu_cores_per_bps(cores, rate_bps)
        return _unusable(rate_bps, cores) if value is None else value

    return read


def scaling_factor(case: CaseSummary, single: CaseSummary) -> Value:
    name = "efficiency_receiver_bps_per_core"
    factor = formulas.scaling_factor(_mean(case.values[name]), _mean(single.values[name]))
    return _or(factor, Missing("the receiver's efficiency of this case or of its 1-instance case is missing"))


def throughput_scaling(case: CaseSummary, single: CaseSummary) -> Value:
    rates = _mean(case.throughput_bps), _mean(single.throughput_bps)
    scaling = formulas.throughput_scaling(*rates, case.case.instances)
    return _or(scaling, Missing("the throughput of this case or of its 1-instance case is missing"))


def _mean(value: Estimate | None) -> float | None:
    return None if value is None else value.mean
