# SPDX-License-Identifier: Apache-2.0
"""A soak with the best setting of an experiment (``best_of``). Pure: which that is, others look up."""

from __future__ import annotations

from dataclasses import replace

from linewatt.campaign import (
    IRQ_AFFINITY,
    IRQBALANCE,
    MOVES_AWAY,
    RUNNING,
    Campaign,
    Setting,
    host_as_set,
    is_setting_of_hosts,
    load_of_factor,
    planning_of,
    setting_at_host,
)
from linewatt.errors import InvalidInput
from linewatt.features.soak.model import BestOf
from linewatt.hosts.facts import format_cpulist
from linewatt.tuning import ALL_CPUS, CPUS_ONLINE, switched_off


def with_best(campaign: Campaign, best: BestOf) -> Campaign:
    """The campaign with the levels of a best setting in place of what it says itself.

    Raises InvalidInput for a level that a soak, or what the file says of its hosts and load, cannot have.
    """
    setting = tuple((name, level) for name, level in best.setting or () if name not in best.by_hand)
    of_hosts = {name: level for name, level in setting if is_setting_of_hosts(name)}
    for name, level in setting:
        _check(campaign, name, level, best.result)
    together = {**campaign.settings, **of_hosts}
    if together.get(IRQBALANCE) == RUNNING and IRQ_AFFINITY in together:
        raise InvalidInput(_line(best.result, MOVES_AWAY))
    campaign = _with_load(campaign, setting, best.result)
    hosts = {
        name: host_as_set(spec, of_hosts.items(), campaign.server_host)
        for name, spec in campaign.hosts.items()
    }
    return replace(
        campaign,
        feature_values={**campaign.feature_values, "best_of": best},
        hosts=hosts,
        settings=together,
    )


def _with_load(campaign: Campaign, setting: Setting, result: str) -> Campaign:
    """With the levels of factors of loads that features bring. Raises InvalidInput."""
    for load in dict.fromkeys(load_of_factor(name) for name, _ in setting):
        try:
            campaign = campaign if load is None else planning_of(load).with_setting(campaign, setting)
        except InvalidInput as error:
            raise InvalidInput(_line(result, str(error))) from error
    return campaign


def _check(campaign: Campaign, name: str, level: str, result: str) -> None:
    """Check a level that is not of a load. Raises InvalidInput."""
    if load_of_factor(name) is not None:
        return
    if not is_setting_of_hosts(name):
        raise InvalidInput(_line(result, f"{name}={level} is of tests, and a soak sets it in none"))
    existing = campaign.settings.get(name)
    if existing is not None and existing != level:
        text = f"{name}={level}, and settings have {existing}; take {name} out of settings"
        raise InvalidInput(_line(result, text))
    for spec in campaign.hosts.values() if name == CPUS_ONLINE and level != ALL_CPUS else ():
        if not setting_at_host([(name, level)], spec.name, campaign.server_host):
            continue
        if spec.lab is not None and spec.cpus:
            raise InvalidInput(_line(result, f"{name}={level} would take CPUs from the machine of a lab"))
        if spec.cpus and len(switched_off(level, spec.cpus)) == len(spec.cpus):
            existing = format_cpulist(spec.cpus)
            text = f"{name}={level} takes all CPUs of {spec.name} ({existing}) offline"
            raise InvalidInput(_line(result, text))
        if off := switched_off(level, {*(spec.app_cpus or ()), *(spec.irq_cpus or ())}):
            text = f"{name}={level} switches CPU {off[0]} off, and {spec.name} names it"
            raise InvalidInput(_line(result, text))


def _line(result: str, text: str) -> str:
    return f"best_of: {result}: {text}"
