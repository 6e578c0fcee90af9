# SPDX-License-Identifier: Apache-2.0
"""The metrics of a case, each declared once (docs/architecture.md says what an entry gives)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from linewatt.analysis.metrics import formulas, unit
from linewatt.analysis.metrics.metric import Metric, Response, Value, note_missing
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import CpuShares, EndResult, Role, Trial, is_request_response

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary


def _recorded(name: str) -> Callable[[Trial], Value]:
    """A field of the trial itself."""

    def read(trial: Trial) -> Value:
        return getattr(trial, name), None

    return read


def _target(trial: Trial) -> Value:
    why = "target not recorded" if trial.case.load_level is not None else "not at a load level"
    return trial.target_bps, why


def _target_deviation(trial: Trial) -> Value:
    target_bps, why = _target(trial)
    if target_bps is None or trial.throughput_bps is None:
        return None, why if target_bps is None else "throughput not recorded"
    if target_bps <= 0:
        return None, "nothing is sent at active idle"
    return trial.throughput_bps / target_bps - 1, None


def _line_rate_ratio(trial: Trial) -> Value:
    if is_request_response(trial.case.test):
        return None, "one message at a time is under way, which no line limits"
    if trial.line_goodput_bps is None or trial.throughput_bps is None:
        return None, "the line rate between the hosts is not known"
    return trial.throughput_bps / trial.line_goodput_bps, None


def _udp_only(name: str) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        value = getattr(trial, name)
        return value, "TCP has no datagrams to count" if trial.case.is_tcp else None

    return read


def _latency(percentile: str) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        return trial.latency_s.get(percentile), None

    return read


def _retransmits(trial: Trial) -> Value:
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


def _line_packets_per_s(trial: Trial) -> Value:
    """What the line carries of datagrams as large as those that arrived."""
    packets, why = packets_per_s(trial)
    if trial.line_goodput_bps is None:
        return None, "the line rate between the hosts is not known"
    if packets is None or not trial.throughput_bps:
        return None, why or "nothing arrived"
    return trial.line_goodput_bps * packets / trial.throughput_bps, None


def _cpu_cores(role: Role) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None:
            return None, f"the {role} was not recorded"
        return end.cpu_cores, _why(end, "cpu_cores", "CPU use")

    return read


def _why(end: EndResult, name: str, what: str) -> str:
    return f"{end.host}: {end.reasons.get(name, f'{what} not recorded')}"


def _counted_per_s(role: Role, counter: str) -> Callable[[Trial], Value]:
    """How often a second a counter of an end counted in the window."""

    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None or trial.window is None or trial.window.seconds <= 0:
            return None, f"the {role} was not recorded" if end is None else "window not recorded"
        counted = end.counters.get(counter)
        value = None if counted is None else counted / trial.window.seconds
        return value, _why(end, counter, counter.replace("host.", "").replace("_", " "))

    return read


def _efficiency(role: Role) -> Callable[[Trial], Value]:
    cores_of = _cpu_cores(role)

    def read(trial: Trial) -> Value:
        cores, why = cores_of(trial)
        value = formulas.efficiency_bps_per_core(trial.throughput_bps, cores)
        return value, why if cores is None else _unusable(trial, cores)

    return read


def _unusable(trial: Trial, cores: float) -> str:
    """Why nothing can be derived from a throughput and CPU use that are there, or from a missing rate."""
    if trial.throughput_bps is None:
        return "throughput not recorded"
    return (
        f"throughput {trial.throughput_bps:g} bit/s and CPU use {cores:g} cores must both be greater than 0"
    )


def _packet_efficiency(role: Role) -> Callable[[Trial], Value]:
    cores_of = _cpu_cores(role)

    def read(trial: Trial) -> Value:
        (cores, why_cores), (packets, why) = cores_of(trial), packets_per_s(trial)
        value = formulas.efficiency_bps_per_core(packets, cores)
        return value, why if packets is None else why_cores if cores is None else "nothing arrived"

    return read


def _efficiency_at_3ghz(trial: Trial) -> Value:
    efficiency, why = _efficiency("receiver")(trial)
    if efficiency is None or trial.receiver is None:
        return None, why
    value = formulas.at_3ghz(efficiency, trial.receiver.base_frequency_hz)
    return value, _why(trial.receiver, "base_frequency_hz", "base frequency")


def _cores_per_bps(role: Role) -> Callable[[Trial], Value]:
    def read(trial: Trial) -> Value:
        end = trial.end(role)
        if end is None:
            return None, f"the {role} was not recorded"
        cores, why = app_and_irq_cores(end)
        if cores is None:
            return None, why
        return formulas.cpu_cores_per_bps(cores, trial.throughput_bps), _unusable(trial, cores)

    return read


def app_and_irq_cores(end: EndResult) -> Value:
    """What the application CPUs and the IRQ CPUs of one end used together, in cores; or why it is unknown.

    A CPU that is in both roles counts once; when the two sets overlap only in part the shares, which are
    means over a set, cannot be told apart.
    """
    if end.app_cpu is None:
        return None, _why(end, "app_cpu", "app CPU shares")
    if end.irq_cpu is None:
        return None, _why(end, "irq_cpu", "irq CPU shares")
    app, irq = set(end.app_cpu.cpus), set(end.irq_cpu.cpus)
    if end.app_cpu.unnumbered or end.irq_cpu.unnumbered:  # a table that tells them apart says so
        return busy_cores(end.app_cpu) + busy_cores(end.irq_cpu), None
    if app >= irq:
        return busy_cores(end.app_cpu), None
    if app < irq:
        return busy_cores(end.irq_cpu), None
    if app & irq:
        both = ", ".join(map(str, sorted(app & irq)))
        return None, f"{end.host}: CPUs {both} have both roles, so app and IRQ use cannot be added"
    return busy_cores(end.app_cpu) + busy_cores(end.irq_cpu), None


def busy_cores(shares: CpuShares) -> float:
    """What the CPUs of a role used."""
    return (len(set(shares.cpus)) + shares.unnumbered) * shares.busy_ratio


PARTS: tuple[Literal["app"], Literal["irq"]] = ("app", "irq")
"""roles of CPUs at an end: those of the load, those of its interrupts"""


def role_shares(trial: Trial, role: Role, part: Literal["app", "irq"]) -> tuple[CpuShares | None, str | None]:
    """How the CPUs of a role spent a trial, or why that is not known."""
    end = trial.end(role)
    if end is None:
        return None, f"the {role} was not recorded"
    return end.app_cpu if part == "app" else end.irq_cpu, _why(end, f"{part}_cpu", f"{part} CPU shares")


def shares_of(
    trials: Sequence[Trial], role: Role, part: Literal["app", "irq"], name: str, reasons: dict[str, str]
) -> list[CpuShares]:
    """How the CPUs of a role spent each trial that knows; why others do not goes under ``name``."""
    shares = [role_shares(trial, role, part) for trial in trials]
    note_missing(name, shares, reasons)
    return [one for one, _ in shares if one is not None]


def _scaling_factor(case: CaseSummary, single: CaseSummary) -> Value:
    name = "efficiency_receiver_bps_per_core"
    factor = formulas.scaling_factor(_mean(case.values[name]), _mean(single.values[name]))
    return factor, "the receiver's efficiency of this case or of its 1-instance case is missing"


def _throughput_scaling(case: CaseSummary, single: CaseSummary) -> Value:
    rates = _mean(case.throughput_bps), _mean(single.throughput_bps)
    scaling = formulas.throughput_scaling(*rates, case.case.instances)
    return scaling, "the throughput of this case or of its 1-instance case is missing"


def _mean(value: Estimate | None) -> float | None:
    return None if value is None else value.mean


_LATENCY = (
    "Of a message one way: half its round trip, as the load takes it, over its whole run. p99: 99 % of "
    "the messages took at most so long. With several instances the largest of theirs; the mean is of trials."
)

_PLACES: tuple[tuple[Role, str], ...] = (("receiver", "remote"), ("sender", "local"))
_CPU = (
    "Σ over all CPUs of the host of (100 − idle − iowait − steal %). 100 % is one full core; two half-loaded "
    "cores count as one. A core is what the system counts as a CPU: with two threads a core, one of these; "
    "in a guest, a virtual one. Which it is stands below the table, and as core_is in JSON."
)
_COUNTED = (
    "A second, over all CPUs of the machine that the host runs on (/proc/stat), of whatever ran there. Hosts "
    "of a lab share one machine, and both ends show what it did for both."
)
_EFFICIENCY = (
    "Throughput ÷ cores of CPU used, in Mbps/core. The receiver’s is the headline: the receiver usually "
    "decides."
)

METRICS: tuple[Metric, ...] = (
    Metric(
        "throughput_bps",
        "Throughput",
        "Throughput",
        unit.RATE,
        _recorded("throughput_bps"),
        figure="throughput",
        show_sd=True,
        show_ci=True,
        response=Response("throughput_bps", "Throughput", "faster", "slower", group="throughput"),
        meaning="Payload bits a second that the receiver got in the steady window (goodput), summed over the "
        "instances. 1 Gbps is 10⁹ bit/s.",
    ),
    Metric(
        "line_rate_ratio",
        "Part of the line's goodput",
        "Of line\nrate",
        unit.PERCENT_1,
        _line_rate_ratio,
        figure="throughput",
        remark="throughput ÷ the most payload that fits between the headers of the line (docs/networks.md)",
    ),
    Metric(
        "offered_bps",
        "Offered",
        "Offered",
        unit.RATE,
        _recorded("offered_bps"),
        loads="udp",
        figure="throughput",
        meaning="Payload bits a second that the sender sent in the same window (UDP).",
    ),
    Metric(
        "lost_ratio",
        "Loss",
        "Loss",
        (unit.PERCENT,),
        _udp_only("lost_ratio"),
        loads="udp",
        figure="throughput",
        response=Response(
            "lost_ratio",
            "Loss",
            "more loss",
            "less loss",
            higher_is_better=False,
            relative=False,
            group="loss",
        ),
        meaning="Lost datagrams ÷ (lost + received) in the window (UDP).",
    ),
    Metric(
        "packets_per_s",
        "Received packets",
        "Received",
        unit.PACKETS,
        packets_per_s,
        figure="throughput",
        loads="udp",
        rank=3,
    ),
    *(
        Metric(
            f"latency_{percentile.replace('.', '_')}_s",
            f"Latency {percentile}",
            f"Latency\n{percentile}",
            unit.LATENCY,
            _latency(percentile),
            loads="request-response",
            show_ci=percentile in ("p50", "p99"),
            response=Response(
                f"latency_{percentile}_s",
                f"Latency {percentile}",
                "more latency",
                "less latency",
                higher_is_better=False,
                group="latency",
            )
            if percentile in ("p50", "p99")
            else None,
            term="Latency",
            meaning=_LATENCY if percentile == "p50" else "",
        )
        for percentile in ("p50", "p99", "p99.9", "max")
    ),
    *(
        Metric(
            f"{role}_cpu_cores",
            f"CPU {role} ({place})",
            f"CPU\n{role}\n({place})",
            (unit.CPU_PERCENT,),
            _cpu_cores(role),
            figure="cpu",
            role=role,
            term="CPU receiver (remote), CPU sender (local)",
            meaning=_CPU if role == "receiver" else "",
        )
        for role, place in _PLACES
    ),
    *(
        Metric(
            f"efficiency_{role}_bps_per_core",
            f"Efficiency {role} ({place})",
            f"Effic.\n{role}",
            unit.PER_CORE,
            _efficiency(role),
            figure="cpu",
            role=role,
            show_ci=True,
            response=Response(
                f"efficiency_{role}_bps_per_core",
                f"Efficiency of the {role}",
                "more efficient",
                "less efficient",
                group="efficiency",
            ),
            term="Efficiency",
            meaning=_EFFICIENCY if role == "receiver" else "",
        )
        for role, place in _PLACES
    ),
    *(
        Metric(
            f"efficiency_{role}_packets_per_core_s",
            f"Packets per core, {role} ({place})",
            f"Packets\nper core\n{role}",
            unit.PACKETS_PER_CORE,
            _packet_efficiency(role),
            loads="udp",
            tabled=role == "receiver",
            only_recorded=True,
            figure="cpu",
            role=role,
            rank=2,
            term="Packets per core",
            meaning="Datagrams that arrived a second ÷ cores of CPU used (UDP)."
            if role == "receiver"
            else "",
        )
        for role, place in _PLACES
    ),
    Metric(
        "efficiency_at_3ghz_bps_per_core",
        "Efficiency receiver at 3 GHz (rough)",
        "At 3 GHz\n(rough)",
        unit.PER_CORE,
        _efficiency_at_3ghz,
        figure="cpu",
        role="receiver",
        remark="efficiency × 3 GHz ÷ base frequency: only for rough comparison across CPUs",
        term="Efficiency at 3 GHz (rough)",
        meaning="Efficiency × 3 GHz ÷ base frequency. Only for rough comparison across CPUs: cores differ in "
        "more than their clock.",
        rank=4,
    ),
    Metric(
        "scaling_factor",
        "Scaling factor",
        "Scaling\nfactor",
        unit.RATIO,
        scaled=_scaling_factor,
        key="scaling_factor_ratio",
        figure="cpu",
        role="receiver",
        meaning="The receiver’s efficiency with N instances ÷ its efficiency with 1. It is a ratio of "
        "efficiencies, not of throughputs.",
    ),
    Metric(
        "throughput_scaling",
        "Throughput scaling",
        "Tput\nscaling",
        unit.RATIO,
        scaled=_throughput_scaling,
        key="throughput_scaling_ratio",
        figure="throughput",
        meaning="T(N) ÷ (N · T(1)): 1.00 is perfectly linear growth with the number of instances.",
        rank=2,
    ),
    Metric(
        "receiver_cpu_cores_per_bps",
        "CPU per throughput, receiver",
        "CPU /\ntput",
        unit.COST,
        _cores_per_bps("receiver"),
        figure="cpu",
        role="receiver",
        term="CPU per throughput",
        meaning="CPU % of the application CPUs and the IRQ CPUs ÷ throughput. Smaller is better.",
        rank=3,
    ),
    Metric(
        "retransmits",
        "Retransmits per trial",
        "Retrans-\nmits",
        unit.COUNT,
        _retransmits,
        key="retransmits_per_trial",
        loads="tcp",
        term="Retransmits",
        meaning="TCP segments sent again, over all instances, a trial.",
        rank=1,
    ),
    *(
        Metric(
            f"{role}_{counted}_per_s",
            f"{title}, machine of the {role}",
            f"{short}\n{role}'s\nmachine",
            (unit.PER_S,),
            _counted_per_s(role, f"host.{counted}"),
            only_recorded=True,
            rank=5,
            term="Interrupts, context switches",
            meaning=_COUNTED if role == "receiver" and counted == "interrupts" else "",
        )
        for counted, title, short in (
            ("interrupts", "Interrupts", "Intr."),
            ("context_switches", "Context switches", "Ctxt\nswitches"),
        )
        for role, _ in _PLACES
    ),
    Metric(
        "line_packets_per_s",
        "What the line carries",
        "Line",
        unit.PACKETS,
        _line_packets_per_s,
        loads="udp",
        tabled=False,
        only_recorded=True,
    ),
    Metric("target_bps", "Target", "Target", unit.RATE, _target, tabled=False),
    Metric("target_deviation_ratio", "Off target", "Off\ntarget", unit.OFF, _target_deviation, tabled=False),
    Metric(
        "sender_cpu_cores_per_bps",
        "CPU per throughput, sender",
        "CPU /\ntput",
        unit.COST,
        _cores_per_bps("sender"),
        tabled=False,
    ),
    Metric(
        "out_of_order_packets",
        "Out of order per trial",
        "Out of\norder",
        unit.COUNT,
        _udp_only("out_of_order_packets"),
        key="out_of_order_packets_per_trial",
        loads="udp",
        tabled=False,
    ),
)
"""In the order of the columns of a table; behind them those that only JSON and CSV have"""

BY_NAME = {metric.name: metric for metric in METRICS}
