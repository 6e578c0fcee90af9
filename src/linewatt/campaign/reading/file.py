# SPDX-License-Identifier: Apache-2.0
"""A campaign file, read and checked once, at the door; what comes out needs no further checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.campaign import factors
from linewatt.campaign.campaign import (
    Campaign,
    Group,
    Label,
    Policy,
    PowerSource,
    TestSpec,
)
from linewatt.campaign.entries.energy import (
    check_energy,
    check_idle_share,
    idle_needed_s,
    placed,
    sweep_of,
    tests_of,
)
from linewatt.campaign.entries.factors import LabelEntry
from linewatt.campaign.entries.networks import as_entry, check_network_names, network_name
from linewatt.campaign.entries.pairs import parse_pair
from linewatt.campaign.entries.rest import check_rest, check_temperatures, rest_of
from linewatt.campaign.entries.schema import (
    CAMPAIGN_FILE,
    CampaignFile,
    HostEntry,
    TestEntry,
    levels_of_factors,
    sensors_of,
    settings_of,
)
from linewatt.campaign.entries.search import check_search, instance_search_of, search_of
from linewatt.campaign.entries.trials import TrialsEntry, most_trials
from linewatt.campaign.feature_keys import values_of
from linewatt.campaign.feature_load import load_of_trials, named_load, planning_of
from linewatt.campaign.messages import find_problems, not_a_mapping, raise_first, refuse
from linewatt.campaign.planning.cases import impossible
from linewatt.campaign.planning.idle import default_s
from linewatt.campaign.reading import checks
from linewatt.campaign.reading.checks import check_meters, check_secrets
from linewatt.campaign.reading.groups import Entry, check_groups, hosts_of
from linewatt.campaign.reading.hosts import Hosts, Locator, hosts_of_file, power_of, spec_of
from linewatt.campaign.reading.named_files import (
    check_hooks,
    check_host_files,
    check_inventory,
    check_network_files,
    check_ssh_files,
    resolve_path,
)
from linewatt.campaign.reading.ways import check_used
from linewatt.core.feature import power_source_keys
from linewatt.document import MAX_KEYS, Document, read_yaml
from linewatt.hosts import HostSpec
from linewatt.network import HostNetwork
from linewatt.records import Component, Supplies

Pairs = tuple[tuple[str, str], ...]


def load_campaign(
    path: Path,
    hosts_override: Path | None = None,
    *,
    will_connect: bool = False,
    edit: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Campaign:
    """Read and check a campaign file; ``hosts_override`` is an inventory that replaces its ``hosts:``.

    ``edit`` makes what is checked of what the file says.

    With ``will_connect`` the files that SSH needs must be there, too; a plan can be made without them.
    Touches no host. Raises InvalidInput with one line, ``file:line:col: path: what, and what is right``.
    """
    document = read_yaml(path, MAX_KEYS)
    if not isinstance(document.value, dict):
        raise not_a_mapping(document.value, document.place(()), "campaign")
    value = dict(document.value)
    if hosts_override is not None:
        value["hosts"] = {}
    if edit is not None:
        value = edit(value)
    locate = Locator(document)
    entry = _entry(value, locate)
    listed = None if entry.pairs in (None, "all") else tuple(map(parse_pair, entry.pairs or ()))
    if hosts_override is None:
        refuse(check_inventory(entry.hosts, path.parent), locate)
    hosts = hosts_of_file(entry, path, hosts_override, _named(entry, listed))
    locate = Locator(document, hosts.listed, hosts.inventory)
    refuse(checks.check_all(entry.pairs == "all", hosts.entries), locate)
    request = _asked(entry, listed, hosts)
    findings = _findings(request, path.parent, will_connect=will_connect)
    refuse(((placed(entry.energy, at), text) for at, text in findings), locate)
    campaign = _campaign(request, document)
    refuse(_findings_of(campaign), locate)
    return campaign


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a file asks for, its shape checked, and what that is of the hosts that there are.

    ``used``: those that take part, by name.
    """

    entry: CampaignFile
    listed: tuple[Entry, ...] | None
    hosts: Hosts
    pairs: Pairs
    groups: tuple[Group, ...]
    tests: tuple[TestSpec, ...]
    used: Mapping[str, HostEntry]


def _entry(value: dict[str, Any], locate: Locator) -> CampaignFile:
    """Raises InvalidInput."""
    raise_first(find_problems(CAMPAIGN_FILE, value, (), locate), locate.document.file)
    entry = CAMPAIGN_FILE.model_validate(value)
    refuse(check_energy(entry), locate)
    return _with_sweep(entry)


def _asked(entry: CampaignFile, listed: tuple[Entry, ...] | None, hosts: Hosts) -> _Asked:
    everyone = entry.pairs == "all"
    pairs = _pairs(listed, tuple(hosts.entries), everyone=everyone) if entry.tests else ()
    groups = (
        tuple(pair_entry for pair_entry in listed or () if isinstance(pair_entry, Group))
        if entry.tests
        else ()
    )
    tests = tuple(_test(entry, test) for test in entry.tests)
    taking_part = _hosts_of_keys(entry).union(*pairs, *map(hosts_of, groups))
    used = {name: host for name, host in hosts.entries.items() if name in taking_part}
    return _Asked(entry, listed, hosts, pairs, groups, tests, used)


def _findings(request: _Asked, base: Path, *, will_connect: bool) -> Iterator[checks.Finding]:
    """What is wrong with it; ``base``: from where the files that it names are looked for."""
    entry, listed, hosts, tests, used = (
        request.entry,
        request.listed,
        request.hosts,
        request.tests,
        request.used,
    )
    yield from checks.check_pairs(entry, hosts.names, None if listed is None else [*map(hosts_of, listed)])
    for key in entry.written_keys:
        yield from key.load(key.problems_path)(entry, hosts.names, used)
    yield from check_groups(entry, listed or (), used, tests)
    yield from checks.check_data_ports(entry, used, request.pairs)
    yield from checks.check_hosts(used, explicit_pinning=entry.placement == "pinned")
    yield from checks.check_tests(entry, tests)
    ways = (*request.pairs, *(flow for group in request.groups for flow in group.flows))
    yield from checks.check_test_ports(tests, used, ways)
    yield from check_search(entry, tests)
    yield from checks.check_load(entry, tests)
    yield from checks.check_factors(entry)
    yield from checks.check_online(entry, used)
    yield from checks.check_irqbalance(entry)
    yield from check_network_names(entry.networks)
    yield from check_rest(entry)
    flows = [1] * len(request.pairs) + [len(group.flows) for group in request.groups]
    yield from checks.check_size(entry, tests, flows)
    yield from checks.check_sensors(entry)
    yield from _check_possible(entry, tests)
    yield from check_network_files(entry.networks, base)
    sources = [source for host in used.values() for source in host.power.values()]
    for source_key in power_source_keys():
        if any(getattr(source, source_key.key) is not None for source in sources):
            yield from source_key.load(source_key.problems_path)(entry, used, hosts.base)
    yield from check_host_files(used, hosts.base, secrets=will_connect)
    if will_connect:
        yield from check_ssh_files(used, hosts.base)
        yield from check_hooks(entry.factors)


def _findings_of(campaign: Campaign) -> Iterator[checks.Finding]:
    """What is wrong with what a file comes to."""
    yield from check_used(campaign)
    yield from check_meters(campaign)
    yield from check_secrets(campaign)
    yield from check_idle_share(campaign)
    yield from check_temperatures(campaign)


def _named(entry: CampaignFile, listed: Sequence[Entry] | None) -> set[str] | None:
    """The hosts that a file names; ``None``: all that there are."""
    if listed is None and (entry.tests or not any(key.hosts_path for key in entry.written_keys)):
        return None
    return _hosts_of_keys(entry).union(*map(hosts_of, listed or ()))


def _hosts_of_keys(entry: CampaignFile) -> set[str]:
    """The hosts that keys of features have take part."""
    return {name for key in entry.written_keys if key.hosts_path for name in key.load(key.hosts_path)(entry)}


def _pairs(listed: Sequence[Entry] | None, names: tuple[str, ...], *, everyone: bool) -> Pairs:
    if listed is not None:
        return tuple(pair_entry for pair_entry in listed if not isinstance(pair_entry, Group))
    if everyone:
        return tuple(itertools.permutations(names, 2))
    return ((names[0], names[1]),) if len(names) == 2 else ()


def _test(entry: CampaignFile, test: str | TestEntry) -> TestSpec:
    """The test with what it leaves out taken from the campaign; ``rate: null`` is a value, not left out."""
    test_entry = test if isinstance(test, TestEntry) else TestEntry.model_validate({"test": test})
    zerocopy = entry.zerocopy if test_entry.zerocopy is None else test_entry.zerocopy
    return TestSpec(
        test=test_entry.test,
        instances=test_entry.instances or entry.instances,
        streams=test_entry.streams or entry.streams,
        rate_bps=test_entry.rate if "rate" in test_entry.model_fields_set else entry.rate,
        zerocopy=zerocopy and test_entry.test == "tcp",
        data=test_entry.data,
    )


def _with_sweep(entry: CampaignFile) -> CampaignFile:
    """With the tests that ``energy`` stands for, in the order that it has them run in."""
    if entry.energy is None:
        return entry
    tests = tuple(
        TestEntry.model_construct({"test", "rate"}, test=test, rate=rate_bps)
        for test, rate_bps in tests_of(entry.energy, entry.families[0])
    )
    return entry.model_copy(update={"tests": tests, "order": "random"})


def _check_possible(entry: CampaignFile, tests: Iterable[TestSpec]) -> Iterator[checks.Finding]:
    whys = [impossible(test.test, family, entry.load) for test in tests for family in entry.families]
    if whys and all(whys):
        yield ("tests",), f"leave nothing to run; {whys[0]}"


def _described(
    entry: CampaignFile, document: Document, used: tuple[str, ...], hosts: Hosts
) -> dict[str, dict[str, HostNetwork]]:
    if all(as_entry(network) is None for network in entry.networks):
        return {}
    from linewatt.campaign.reading.networks import (
        read_networks,  # NMState's schema is only built where it is used
    )

    return read_networks(entry.networks, document, list(used), hosts.names)


def _campaign(request: _Asked, document: Document) -> Campaign:
    entry, hosts, tests, used = request.entry, request.hosts, request.tests, tuple(request.used)
    specs = {name: spec_of(name, host, hosts.base) for name, host in hosts.entries.items()}
    settings = {name: factors.check(name, level) for name, level in settings_of(entry).items()}
    load = named_load(entry)
    server = None if load is None else planning_of(load).named_server(entry)
    taking_part = {name: factors.host_as_set(specs[name], settings.items(), server) for name in used}
    names_cpus = any(spec.app_cpus or spec.irq_cpus for spec in taking_part.values())
    own_load = load_of_trials(entry) is not None
    placement: Policy = entry.placement or ("none" if own_load else "pinned" if names_cpus else "auto")
    first_port, last_port = entry.ports
    bounds = entry.trials if isinstance(entry.trials, TrialsEntry) else None
    parts = _parts(hosts, taking_part)
    return Campaign(
        hosts=taking_part,
        unused_hosts=tuple(name for name in specs if name not in used),
        inventory=hosts.inventory,
        pairs=request.pairs,
        groups=request.groups,
        tests=tests,
        networks=tuple(map(network_name, entry.networks)),
        described=_described(entry, document, used, hosts),
        first_port=first_port,
        last_port=last_port,
        placement=placement,
        sysctl=entry.settings.sysctl,  # type: ignore[attr-defined]
        settings=settings,
        sensors=sensors_of(entry),
        load_levels=tuple(level / 100 for level in entry.load_levels),
        factors=_levels(entry),
        labels=_labels(entry),
        feature_values=values_of(entry, hosts.base),
        search=search_of(entry.search, tests),
        energy=sweep_of(entry.energy),
        instance_search=instance_search_of(
            entry.search,
            tests,
            last_port - first_port + 1,
            _cpu_counts(taking_part),
            most_trials(entry.trials),
        ),
        text=document.text,
        path=Path(document.file),
        trials=most_trials(entry.trials),
        min_trials=bounds.min if bounds else None,
        until_ratio=bounds.until if bounds else None,
        window_s=entry.window.seconds,
        omit_s=entry.window.omit,
        tail_s=entry.window.tail,
        **parts,
        idle_s=_idle_s(entry, parts["power"]),
        rest=rest_of(entry.rest),
        **{name: getattr(entry, name) for name in _AS_WRITTEN},
    )


def _cpu_counts(hosts: Mapping[str, HostSpec]) -> Iterator[int]:
    """How many CPUs each host names for load processes, where it does."""
    for host in hosts.values():
        if (named := host.app_cpus or host.cpus) is not None:
            yield len(named)


_AS_WRITTEN = (
    *("name", "description", "directions", "families", "order", "seed", "design"),
    *("concurrent_pairs", "smt", "steer", "load"),
)


def _idle_s(entry: CampaignFile, power: Mapping[str, Mapping[str, PowerSource]]) -> float:
    """The length of an idle window: as it is named, else by how often power is read."""
    if entry.idle.seconds is not None:
        return entry.idle.seconds
    usual_s = default_s(
        source.cfg.interval_s for host_sources in power.values() for source in host_sources.values()
    )
    if entry.energy is None:
        return usual_s
    window = entry.window
    load_s = window.omit + window.seconds + window.tail
    return max(usual_s, math.ceil(idle_needed_s(entry.energy.idle_share, load_s)))


def _parts(hosts: Hosts, used: Mapping[str, HostSpec]) -> dict[str, Any]:
    """What the file says of the hosts' own parts, by host."""
    entries = {name: hosts.entries[name] for name in used}
    return {
        "power": {name: power_of(entry, used[name], hosts.base) for name, entry in entries.items()},
        "components": {
            name: tuple(Component(**component.model_dump()) for component in entry.components)
            for name, entry in entries.items()
            if entry.components
        },
        "psus": {
            name: Supplies(**entry.psus.model_dump())
            for name, entry in entries.items()
            if entry.psus is not None
        },
        "topologies": {
            name: resolve_path(hosts.base, entry.topology)
            for name, entry in entries.items()
            if entry.topology is not None
        },
    }


def _labels(entry: CampaignFile) -> dict[str, Label]:
    return {
        name: Label(factor.hook, factor.fact, factor.timeout)
        for name, factor in entry.factors.items()
        if isinstance(factor, LabelEntry)
    }


def _levels(entry: CampaignFile) -> dict[str, tuple[str, ...]]:
    """Each factor with its levels in their one spelling."""
    return {
        name: levels
        if isinstance(entry.factors[name], LabelEntry)
        else tuple(factors.check(name, level) for level in levels)
        for name, levels in levels_of_factors(entry).items()
    }
