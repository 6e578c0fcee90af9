# SPDX-License-Identifier: Apache-2.0
"""What energies of a bit and of a packet a campaign's meters could show, told before it runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from linewatt.campaign.campaign import Campaign
from linewatt.energy_model import Resolution, resolution
from linewatt.findings import FEWEST_SAMPLES
from linewatt.missing import Missing
from linewatt.model import Case
from linewatt.sensors.power import PowerConfig
from linewatt.sizes import datagram_bytes, frame_bytes
from linewatt.units import format_significant, kpps_from_pps

States = list[tuple[float, float]]
"""bit/s of frames and packets/s"""
_PREFIXES = ((1e12, "pJ"), (1e9, "nJ"), (1e6, "µJ"), (1e3, "mJ"))


def energy_notes(campaign: Campaign, cases: Iterable[Case]) -> Iterator[str]:
    """Of UDP frames of several sizes at several rates: what a packet must cost for a meter to show it."""
    sweeps = _sweeps(cases)
    for host, sources in campaign.power.items():
        host_sweeps = {base_case: states for (name, base_case), states in sweeps.items() if name == host}
        answers = [
            resolution(states, campaign.fewest_trials(base_case)) for base_case, states in host_sweeps.items()
        ]
        if why := next((answer for answer in answers if isinstance(answer, Missing)), None):
            yield f"energy of {host}: 'linewatt fit energy' tells nothing: {why}"
            continue
        resolutions = [answer for answer in answers if isinstance(answer, Resolution)]
        if not resolutions:
            continue
        if _is_sorted(campaign, host_sweeps):
            yield (
                f"energy of {host}: order is {campaign.order}, so that trials run in the order of their "
                "traffic; a drift of host or meter would look like traffic, and 'linewatt fit energy' "
                "widens its intervals by that; use order: random"
            )
        worst = max(resolutions, key=lambda candidate: candidate.packet_j)
        rates = [packets for states in host_sweeps.values() for _, packets in states]
        for name, source in sources.items():
            yield f"energy of {host}: {name} {_told(campaign, worst, source.cfg, rates)}"


def _is_sorted(campaign: Campaign, sweeps: Iterable[Case]) -> bool:
    """Whether time follows traffic: what repeats in order twice or more makes them differ."""
    if campaign.order == "random":
        return False
    return campaign.order == "sequential" or min(map(campaign.fewest_trials, sweeps)) == 1


def _sweeps(cases: Iterable[Case]) -> dict[tuple[str, Case], States]:
    """What each host sends or receives, by what else the cases have in common: a fit each."""
    sweeps: dict[tuple[str, Case], dict[str, States]] = {}
    for case in cases:
        payload, frame = datagram_bytes(case.test, case.family), frame_bytes(case.test)
        if payload is None or frame is None or case.rate_bps is None or case.is_both_ways or case.is_ring:
            continue
        base_case = replace(case, test="udp-60", rate_bps=None)
        for host in case.hosts:
            packets = case.instances * case.taking_part(host) * case.rate_bps / 8 / payload
            sizes = sweeps.setdefault((host, base_case), {})
            sizes.setdefault(case.test, []).append((8 * frame * packets, packets))
    return {
        key: [state for states in sizes.values() for state in states]
        for key, sizes in sweeps.items()
        if len(sizes) > 1 and all(len(set(states)) > 1 for states in sizes.values())
    }


def _told(campaign: Campaign, worst: Resolution, cfg: PowerConfig, rates: Iterable[float]) -> str:
    """From which energies on a meter shows them, and what with an energy that somebody expects."""
    step_w, sorted_rates = step_of(cfg), sorted(rates)
    step, step_note = "tells its step when it is asked", ", all for each W of it"
    if step_w:
        step, step_note = f"in steps of {step_w:g} W", ""
    scale = step_w or 1.0
    sentence = (
        f"{step}: at {kpps_from_pps(sorted_rates[0]):.3g} to {kpps_from_pps(sorted_rates[-1]):.3g} "
        f"kpps 'linewatt fit "
        f"energy' tells what a packet costs from no less than {_joules(scale * worst.packet_j)} on, and a "
        f"bit from {_joules(scale * worst.bit_j)} on, if trials of one rate scatter by "
        f"{_watts(scale * worst.scatter_w)} (SD) at most{step_note}"
    )
    return sentence + _expected(campaign, worst, step_w) + _slow(campaign, cfg)


def _expected(campaign: Campaign, worst: Resolution, step_w: float | None) -> str:
    expected_j = None if campaign.energy is None else campaign.energy.packet_j
    if expected_j is None:
        return ""
    needed = f"a step of {_watts(expected_j / worst.packet_j)} or finer"
    packet = f"; {_joules(expected_j)} a packet, which is expected,"
    if not step_w:
        return f"{packet} takes {needed}"
    if expected_j >= worst.packet_j * step_w:
        return f"{packet} can be told"
    return f"{packet} cannot: it takes {needed}, or packet rates further apart"


def _slow(campaign: Campaign, cfg: PowerConfig) -> str:
    """What is not known of a meter before it was read, and would withhold all."""
    if campaign.energy is None or cfg.refresh_s is not None:
        return ""
    slowest_s = campaign.window_s / FEWEST_SAMPLES
    return f"; of a meter that is refreshed more slowly than every {slowest_s:.3g} s the window tells nothing"


def _joules(energy_j: float) -> str:
    """With the prefix that reads well."""
    scale, unit = next((prefix for prefix in _PREFIXES if energy_j * prefix[0] < 1000), _PREFIXES[-1])
    return f"{format_significant(scale * energy_j)} {unit}"


def _watts(power_w: float) -> str:
    return f"{format_significant(power_w, 2)} W"


def step_of(cfg: PowerConfig) -> float | None:
    """The step of a source's one channel of watts, where its settings name it."""
    named = (
        channel for value in vars(cfg).values() if isinstance(value, Mapping) for channel in value.values()
    )
    watts = [channel for channel in named if getattr(channel, "unit", None) == "W"]
    return getattr(watts[0], "step", None) if len(watts) == 1 else None
