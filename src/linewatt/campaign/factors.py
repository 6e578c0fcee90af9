# SPDX-License-Identifier: Apache-2.0
"""The factors of a campaign: what each may be set to, and what a level does to a case and its hosts. Pure.

Most are settings of the hosts (``tuning/factors.py``). The load's own are ``zerocopy`` and
``<load>.<option>``, also of loads that features bring; ``placement`` is where processes and interrupts go.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from linewatt.campaign.campaign import PLACEMENT_FACTOR
from linewatt.campaign.design import Setting as Setting
from linewatt.campaign.entries.networks import BARE_NETWORK
from linewatt.campaign.feature_load import load_of_factor, planning_of
from linewatt.campaign.messages import suggest
from linewatt.core.feature import feature_load_of
from linewatt.errors import InvalidInput
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.loads import load_of_prefix
from linewatt.model import Case
from linewatt.placement import POLICIES
from linewatt.sizes import ETHERNET_BYTES, FULL, frame_bytes
from linewatt.tuning import ALL_CPUS, CPUS_ONLINE, Change, factor_named, switched_off

ZEROCOPY_FACTOR = "zerocopy"
PINNED = "pinned"
NETWORK = "network"
IRQ_AFFINITY, IRQBALANCE, RUNNING = "irq_affinity", "irqbalance", "running"
BY_CPU = (IRQ_AFFINITY, "rps", "xps")
"""factors whose levels name CPUs"""
MOVES_AWAY = (
    "a running irqbalance moves the interrupts that irq_affinity puts on CPUs; write stopped, or take "
    "irq_affinity out"
)


def is_setting_of_hosts(name: str) -> bool:
    """Whether a factor is a setting of hosts."""
    return (
        name not in (PLACEMENT_FACTOR, ZEROCOPY_FACTOR)
        and load_of_prefix(name) is None
        and load_of_factor(name) is None
    )


def check(name: str, text: str) -> str:
    """A level in its one spelling. Raises InvalidInput: no such factor, no such level."""
    if name == PLACEMENT_FACTOR:
        return _one_of(name, text, (PINNED, *POLICIES))
    if name == ZEROCOPY_FACTOR:
        return _one_of(name, text, ("on", "off"))
    if load_option := load_of_prefix(name):
        return load_option[0].option(load_option[1], text)
    if load := load_of_factor(name):
        return planning_of(load).check_factor(name, text)
    return factor_named(name).check(text.strip())


def _one_of(name: str, text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise InvalidInput(f"{name} must be one of {', '.join(choices)}; {suggest(text, choices)}")
    return text


def setting_of_hosts(case: Case) -> Setting:
    """What of a case is set on its hosts, network included: what idle power may depend on."""
    network = () if case.network == BARE_NETWORK else ((NETWORK, case.network),)
    return network + tuple((name, level) for name, level in case.factors if is_setting_of_hosts(name))


def host_as_set(spec: HostSpec, setting: Iterable[tuple[str, str]], server: str | None = None) -> HostSpec:
    """A host with the CPUs that a setting leaves online there; ``server`` as for :func:`setting_at_host`."""
    level = dict(setting_at_host(setting, spec.name, server)).get(CPUS_ONLINE, ALL_CPUS)
    if level == ALL_CPUS:
        return spec
    online_cpus = parse_cpulist(level)
    return replace(
        spec, cpus=online_cpus if spec.cpus is None else tuple(cpu for cpu in spec.cpus if cpu in online_cpus)
    )


def setting_at_host(setting: Iterable[tuple[str, str]], host: str, server: str | None) -> Setting:
    """The levels that a host shows: which CPUs are online is the server's alone where clients use it.

    What its clients can do is to stay the same; ``server``: the host of a server that linewatt starts.
    """
    return tuple(
        factor_level for factor_level in setting if factor_level[0] != CPUS_ONLINE or server in (None, host)
    )


def is_of_clients_too(case: Case, name: str) -> bool:
    """Whether an effect of a factor is that of a server and its clients at once."""
    if (
        feature_load_of(case.test) is None
        or not is_setting_of_hosts(name)
        or not setting_at_host([(name, "")], "", "server")
    ):
        return False
    try:
        return bool(factor_named(name))
    except InvalidInput:  # a label, which hands set where they like
        return False


def contradiction(setting: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Levels that cannot be together, and why; ``None``: all can."""
    levels = dict(setting)
    level = levels.get(CPUS_ONLINE, ALL_CPUS)
    for name in BY_CPU:
        named = levels.get(name, "off")
        if named[:1].isdigit() and (off := switched_off(level, parse_cpulist(named))):
            return (
                f"{name}={named} with {CPUS_ONLINE}={level}",
                f"CPU {format_cpulist(off)} is offline then",
            )
    return None


def impossible(case: Case, name: str, level: str) -> str | None:
    """Why a case cannot have a level."""
    if name == ZEROCOPY_FACTOR and level == "on" and not case.is_tcp:
        return "sending without copying is for TCP"
    frame = frame_bytes(case.test)
    if name == "mtu" and frame is not None and case.test != FULL and frame > ETHERNET_BYTES + int(level):
        return f"its packets have {frame - ETHERNET_BYTES} bytes"
    load_option = load_of_prefix(name)
    return load_option[0].without_option(load_option[1], case.test) if load_option else None


def applied(case: Case, setting: Setting) -> Case:
    """The case with the levels of a setting."""
    levels = dict(setting)
    zerocopy = levels.get(ZEROCOPY_FACTOR)
    if zerocopy is not None and case.is_tcp:
        case = replace(case, zerocopy=zerocopy == "on")
    return replace(case, factors=setting)


def changes(
    setting: Iterable[tuple[str, str]], host: HostSpec, labels: Container[str] = ()
) -> Iterator[Change]:
    """What a host is changed in to show the levels of a setting; ``labels`` are not linewatt's to set.

    Raises InvalidInput.
    """
    for name, level in setting:
        if is_setting_of_hosts(name) and name not in labels:
            yield from factor_named(name).changes(level, host)


def load_options(case: Case) -> tuple[tuple[str, str], ...]:
    """The options of the load that a case's factors name."""
    return tuple(
        (load_option[1], level) for name, level in case.factors if (load_option := load_of_prefix(name))
    )
