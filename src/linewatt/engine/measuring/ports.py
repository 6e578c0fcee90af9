# SPDX-License-Identifier: Apache-2.0
"""What each of several data ports carried in the window, and whether it was its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linewatt.engine.live.trial_run import TrialRun
from linewatt.model import EndResult, InstanceResult, PortResult, Role, Trial

LEAST = 0.5
"""of a port's payload that its interface must have counted: all its instances go one way, and readings at the
window's edges may miss a part"""


def port_results(
    run: TrialRun, instances: Sequence[InstanceResult], ends: Mapping[Role, EndResult]
) -> tuple[PortResult, ...]:
    """Those that instances used; none where the hosts have one."""
    case = run.planned.case
    ports = []
    for number, port in zip(case.ports_used, run.data_ports, strict=False):
        of_port = [instance for instance in instances if instance.data_port == number]
        sends, receives = port.interfaces[case.sender], port.interfaces[case.receiver]
        ports.append(
            PortResult(
                sender_interface=sends,
                receiver_interface=receives,
                instances=len(of_port),
                throughput_bps=sum(instance.throughput_bps for instance in of_port),
                offered_bps=sum(instance.offered_bps for instance in of_port),
                line_goodput_bps=port.line.goodput_bps if port.line else None,
                sent_bytes=ends["sender"].counters.get(f"nic.{sends}.tx_bytes"),
                received_bytes=ends["receiver"].counters.get(f"nic.{receives}.rx_bytes"),
            )
        )
    return tuple(ports) if any(instance.data_port is not None for instance in instances) else ()


def left_its_port(trial: Trial) -> str | None:
    """Why a trial is none: what arrived of a port's instances did not go through that port.

    What a sender offered beside it may have been dropped before the port: by a queueing discipline.
    """
    if trial.window is None:
        return None
    for data_port in trial.data_ports:
        payload = data_port.throughput_bps * trial.window.seconds / 8
        for host, interface, counted in (
            (trial.case.sender, data_port.sender_interface, data_port.sent_bytes),
            (trial.case.receiver, data_port.receiver_interface, data_port.received_bytes),
        ):
            if counted is not None and counted < LEAST * payload:
                return (
                    f"{host}: data port {interface} carried {counted / 1e6:,.1f} MB in the window, and "
                    f"{payload / 1e6:,.1f} MB of its instances arrived: the rest went by another port; look "
                    "at routes (ip route get) and ARP (arp_ignore), which are no longer what they were when "
                    "the run began"
                )
    return None
