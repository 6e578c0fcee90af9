# SPDX-License-Identifier: Apache-2.0
"""The metrics of a case, each declared once (docs/architecture.md says what an entry gives)."""

from __future__ import annotations

from linewatt.analysis.metrics import reading, unit
from linewatt.analysis.metrics.metric import CaseMetric, Metric, Response
from linewatt.model import Role

_LATENCY = (
    "Half the round trip of a message, as the load reports it for its whole run. p99: 99 % of the messages "
    "took at most this long. Of several instances, the largest value counts; the mean is over trials. "
    "Closed loop: the next message is sent after the reply, so few messages meet a slow moment. It measures "
    "no latency under load."
)

_PLACES: tuple[tuple[Role, str], ...] = (("receiver", "remote"), ("sender", "local"))
_CPU = (
    "Σ over all CPUs of the host of (100 − idle − iowait − steal %). 100 % is one full core; two half-loaded "
    "cores count as one. A core is a CPU of the operating system: a physical core, a hardware thread or a "
    "virtual CPU. The kind is shown below the table, and as core_is in JSON."
)
_COUNTED = (
    "Per second, over all CPUs and processes of the machine that the host runs on (/proc/stat). Hosts of a "
    "lab share one machine, so each end's counts include the other end."
)
_EFFICIENCY = (
    "Throughput ÷ cores of CPU used, in Mbps/core. The throughput is what that end itself sent or received. "
    "The receiver’s is the main figure: the receiver usually limits throughput."
)

METRICS: tuple[CaseMetric, ...] = (
    Metric(
        "throughput_bps",
        "Throughput",
        "Throughput",
        unit.RATE,
        reading.recorded("throughput_bps"),
        figure="throughput",
        show_sd=True,
        show_ci=True,
        response=Response("throughput_bps", "Throughput", "faster", "slower", group="throughput"),
        meaning="Goodput: payload bits per second that the receiver got in the steady window, summed over "
        "the instances. 1 Gbps is 10⁹ bit/s.",
    ),
    Metric(
        "line_rate_ratio",
        "Of line",
        "Of line",
        unit.PERCENT_1,
        reading.line_rate_ratio,
        figure="throughput",
        remark="throughput ÷ the maximum payload rate of the line after headers (docs/networks.md)",
    ),
    Metric(
        "offered_bps",
        "Offered",
        "Offered",
        unit.RATE,
        reading.recorded("offered_bps"),
        loads="udp",
        figure="throughput",
        meaning="Payload bits per second that the sender sent in the same window (UDP).",
    ),
    Metric(
        "lost_ratio",
        "Loss",
        "Loss",
        (unit.PERCENT,),
        reading.udp_only("lost_ratio"),
        quantity="ratio",
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
            is_share=True,
        ),
        meaning="Lost datagrams ÷ (lost + received) in the window (UDP).",
    ),
    Metric(
        "packets_per_s",
        "Received packets",
        "Received",
        unit.PACKETS,
        reading.packets_per_s,
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
            reading.latency(percentile),
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
            reading.cpu_cores(role),
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
            reading.efficiency(role),
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
            reading.packet_efficiency(role),
            loads="udp",
            tabled=role == "receiver",
            only_recorded=True,
            figure="cpu",
            role=role,
            rank=2,
            term="Packets per core",
            meaning="Datagrams per second that the end itself sent or received ÷ cores of CPU used (UDP)."
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
        reading.efficiency_at_3ghz,
        figure="cpu",
        role="receiver",
        term="Efficiency at 3 GHz (rough)",
        meaning="Efficiency × 3 GHz ÷ base frequency. Only for rough comparison across CPUs: cores differ in "
        "more than their clock.",
        rank=4,
    ),
    *(
        Metric(
            f"efficiency_{role}_bits_per_cycle",
            f"Bits per cycle, {role} ({place})",
            f"Bits per\ncycle\n{role}",
            (unit.BITS_PER_CYCLE,),
            reading.bits_per_cycle(role),
            tabled=role == "receiver",
            column_if_known=True,
            figure="cpu",
            role=role,
            rank=4,
            term="Bits per cycle",
            meaning="Efficiency ÷ the actual clock of busy CPUs (cpufreq), equal to Gbps per core and GHz. "
            "Effects of turbo, governors and power caps on the clock cancel out."
            if role == "receiver"
            else "",
        )
        for role, place in _PLACES
    ),
    Metric(
        "scaling_factor",
        "Scaling factor",
        "Scaling\nfactor",
        unit.RATIO,
        scaled=reading.scaling_factor,
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
        scaled=reading.throughput_scaling,
        key="throughput_scaling_ratio",
        figure="throughput",
        meaning="T(N) ÷ (N · T(1)), where T(N) is the throughput of N instances: 1.00 is linear growth.",
        rank=2,
    ),
    Metric(
        "receiver_cpu_cores_per_bps",
        "CPU per throughput, receiver",
        "CPU /\ntput",
        unit.COST,
        reading.cores_per_bps("receiver"),
        figure="cpu",
        role="receiver",
        term="CPU per throughput",
        meaning="CPU % of application and IRQ CPUs together ÷ what that end itself sent or received. Smaller "
        "is better.",
        rank=3,
    ),
    Metric(
        "retransmits",
        "Retransmits per trial",
        "Retrans-\nmits",
        unit.COUNT,
        reading.retransmits,
        key="retransmits_per_trial",
        loads="tcp",
        term="Retransmits",
        meaning="TCP segments sent again per trial, over all instances.",
        rank=1,
    ),
    *(
        Metric(
            f"{role}_{counted}_per_s",
            f"{title}, machine of the {role}",
            f"{short}\n{role}'s\nmachine",
            (unit.PER_S,),
            reading.counted_per_s(role, f"host.{counted}"),
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
        "Packet rate of a full line",
        "Line",
        unit.PACKETS,
        reading.line_packets_per_s,
        loads="udp",
        tabled=False,
        only_recorded=True,
    ),
    Metric("target_bps", "Target", "Target", unit.RATE, reading.target, tabled=False),
    Metric(
        "target_deviation_ratio",
        "Off target",
        "Off\ntarget",
        unit.OFF,
        reading.target_deviation,
        quantity="signed",
        tabled=False,
    ),
    Metric(
        "sender_cpu_cores_per_bps",
        "CPU per throughput, sender",
        "CPU /\ntput",
        unit.COST,
        reading.cores_per_bps("sender"),
        tabled=False,
    ),
    Metric(
        "out_of_order_packets",
        "Out of order per trial",
        "Out of\norder",
        unit.COUNT,
        reading.udp_only("out_of_order_packets"),
        key="out_of_order_packets_per_trial",
        loads="udp",
        tabled=False,
    ),
)
"""In the order of table columns; the last ones are only in JSON and CSV"""

METRIC_BY_NAME = {metric.name: metric for metric in METRICS}
