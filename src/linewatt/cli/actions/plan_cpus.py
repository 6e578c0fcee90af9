# SPDX-License-Identifier: Apache-2.0
"""The CPUs of load processes and of interrupts in a plan: a row for hosts that have the same ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from linewatt.campaign import PLACEMENT_FACTOR, Campaign
from linewatt.campaign.planning import Plan, PlannedTrial
from linewatt.hosts.facts import format_cpulist
from linewatt.units import first_of

CHOSEN_LATER = "chosen at run"
"""on a host that linewatt has not contacted, and whose topology is in no file"""
MOST_HOSTS = 4
"""named in a row"""
_ANY = "any"
_NOT_MOVED = "not moved"
_AFFINITY = "irq_affinity"


def cpu_rows(campaign: Campaign, planned: Plan) -> list[dict[str, str]]:
    """Empty where nothing is known before contact with a host."""
    trial_of_case = {trial.case: trial for trial in planned.trials}
    steered = {change.host for change in planned.changes if change.knob == _AFFINITY}
    if _AFFINITY in campaign.factors:
        steered = set(campaign.hosts)
    hosts_of_row: dict[tuple[tuple[str, str], ...], dict[str, None]] = {}
    is_known = False
    for trial in trial_of_case.values():
        if trial.case.search == "instances" or not trial.instances:
            continue
        for host, row in _host_rows(campaign, trial, steered):
            is_known = is_known or bool(trial.app_cpus(host) or trial.irq_cpus(host))
            hosts_of_row.setdefault(tuple(row.items()), {})[host] = None
    if not is_known:
        return []
    return [
        {"host": first_of(list(hosts), MOST_HOSTS, between=", "), **dict(row)}
        for row, hosts in hosts_of_row.items()
    ]


def _host_rows(
    campaign: Campaign, trial: PlannedTrial, steered: Collection[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """The hosts of a trial, each with its row; of ``steered`` hosts a setting or factor moves interrupts."""
    case = trial.case
    policy = dict(case.factors).get(PLACEMENT_FACTOR, campaign.placement)
    for host in case.hosts:
        undecided = policy not in ("pinned", "none") and host not in campaign.topologies
        interrupts = _NOT_MOVED
        if undecided:
            interrupts = CHOSEN_LATER
        elif host in steered:
            interrupts = f"see {_AFFINITY}"
        yield (
            host,
            {
                **({PLACEMENT_FACTOR: policy} if PLACEMENT_FACTOR in campaign.factors else {}),
                "processes": str(case.instances * case.taking_part(host)),
                "process CPUs": format_cpulist(trial.app_cpus(host)) or (CHOSEN_LATER if undecided else _ANY),
                "interrupt CPUs": format_cpulist(trial.irq_cpus(host)) or interrupts,
            },
        )
