# SPDX-License-Identifier: Apache-2.0
"""What takes more than one value of a campaign file to judge; each check yields (path, what is wrong)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from linewatt.campaign import factors
from linewatt.campaign.campaign import AUTO, PLACEMENT_FACTOR, Campaign, TestSpec
from linewatt.campaign.design import settings_of_design
from linewatt.campaign.entries.factors import LabelEntry
from linewatt.campaign.entries.fields import cpus_text
from linewatt.campaign.entries.networks import BARE_NETWORK, network_name
from linewatt.campaign.entries.quantities import MAX_LOAD_S
from linewatt.campaign.entries.schema import (
    CampaignFile,
    HostEntry,
    TestEntry,
    levels_of_factors,
    sensors_of,
    settings_of,
)
from linewatt.campaign.entries.search import instance_search_of
from linewatt.campaign.entries.trials import check_trials, most_trials
from linewatt.campaign.feature_load import load_of_factor, load_of_trials, named_load, planning_of
from linewatt.campaign.messages import PROBLEMS_SHOWN, suggest
from linewatt.campaign.port_choice import positions_of
from linewatt.document import AboutKey, KeyPath
from linewatt.errors import InvalidInput, LinewattError
from linewatt.hosts.facts import FACT_NAMES, format_cpulist
from linewatt.loads import LOADS, Load, Wanted, load_of_prefix
from linewatt.missing import Missing
from linewatt.model import lowest_terms
from linewatt.sensors.power import declared_dynamics, why_too_short
from linewatt.tuning import ALL_CPUS, CPUS_ONLINE, factor_named, switched_off

MAX_CASES = 10_000
MAX_TRIALS = 100_000
_FACTS = FACT_NAMES | {f"tools.{name}" for name in LOADS}

Finding = tuple[KeyPath, str]
Pairs = Sequence[tuple[str, str]]


def check_pairs(
    entry: CampaignFile, host_names: Sequence[str], listed: Sequence[Sequence[str]] | None
) -> Iterator[Finding]:
    """Whether pairs name hosts that exist; ``listed`` has those of each, None for ``all`` and left out."""
    if entry.tests == () and not entry.load_keys:
        yield ("tests",), AboutKey("is missing; add it, for example `tests: [tcp, udp-1500, udp-60]`")
        return
    if entry.tests == () and listed is None:
        return
    if len(host_names) < 2:
        yield (
            ("hosts",),
            f"must name at least two hosts, one to send and one to receive, got {len(host_names)}",
        )
    elif entry.pairs is None and len(host_names) != 2:
        text = f'is missing; with {len(host_names)} hosts add all, or a list such as ["gen -> dut"]'
        yield ("pairs",), AboutKey(text)
    names, unknown = frozenset(host_names), 0
    for index, pair in enumerate(listed or ()):
        for name in pair:
            if name not in names:
                unknown += 1
                hint = f"; {suggest(name, host_names)}" if unknown <= PROBLEMS_SHOWN else ""
                yield ("pairs", index), f"there is no host {name}{hint}"


def check_all(everyone: bool, names: Collection[str]) -> Iterator[Finding]:
    """Whether ``pairs: all`` stays within reason, before the pairs are made."""
    pairs = len(names) * (len(names) - 1)
    if everyone and pairs > MAX_CASES:
        yield ("pairs",), f"all pairs of {len(names)} hosts are {pairs}; at most {MAX_CASES} are possible"


def check_hosts(hosts: Mapping[str, HostEntry], explicit_pinning: bool) -> Iterator[Finding]:
    """CPUs that contradict each other, and two names for one machine."""
    for name, host in hosts.items():
        yield from _check_cpus(name, host)
        if explicit_pinning and host.app_cpus is None:
            text = "is missing; placement: pinned needs the CPUs that carry load processes, such as 0-3"
            yield ("hosts", name, "app_cpus"), AboutKey(text)
    addresses = {name: f"{host.address.lower()} port {host.port}" for name, host in hosts.items()}
    yield from _check_repeats("address", addresses)
    for key in ("data_ipv4", "data_ipv6"):
        for port in range(max((len(host.data) for host in hosts.values()), default=0)):
            values = {name: (getattr(host, key) or ())[port : port + 1] for name, host in hosts.items()}
            of_port = {name: host_values[0] for name, host_values in values.items() if host_values}
            yield from _check_repeats(key, of_port)


def check_data_ports(entry: CampaignFile, hosts: Mapping[str, HostEntry], pairs: Pairs) -> Iterator[Finding]:
    """Hosts with several data ports: an address for each, as many at both ends, and nothing that has one."""
    for name, host in hosts.items():
        for key in ("data_ipv4", "data_ipv6"):
            port_addresses = getattr(host, key)
            if port_addresses is not None and len(port_addresses) != len(host.data):
                text = (
                    f"has {len(port_addresses)} of the addresses of {len(host.data)} data "
                    f"ports; name each, or none"
                )
                yield ("hosts", name, key), text
        if host.data_weights and len(host.data_weights) != len(host.data):
            text = f"has {len(host.data_weights)} weights for {_ports(len(host.data))}; name one for each"
            yield ("hosts", name, "data_weights"), text
    several = [name for name, host in hosts.items() if len(host.data) > 1]
    if not several:
        return
    yield from _check_weights(hosts, pairs)
    data_path: KeyPath = ("hosts", several[0], "data")
    for index, (sender, receiver) in enumerate(pairs):
        counts = [len(hosts[name].data) for name in (sender, receiver)]
        if counts[0] != counts[1]:
            text = (
                f"{sender} has {counts[0]} data ports and {receiver} {counts[1]}, and data goes from port to "
                "port, each to one; name as many at both"
            )
            yield ("pairs", index) if isinstance(entry.pairs, tuple) else data_path, text
            break
    if tuple(map(network_name, entry.networks)) != (BARE_NETWORK,):
        ports = len(hosts[several[0]].data)
        yield data_path, f"names {ports} ports, and networks are for hosts with one data port; name one"


def check_one_port(hosts: Mapping[str, HostEntry], what: str) -> Iterator[Finding]:
    """Whether a host has several data ports, of which ``what`` has one."""
    for name, host in hosts.items():
        if len(host.data) > 1:
            text = f"names {len(host.data)} ports, and {what} one data interface of each host; name one"
            yield ("hosts", name, "data"), text
            return


def _ports(count: int) -> str:
    return f"{count} data port{'' if count == 1 else 's'}"


def _check_weights(hosts: Mapping[str, HostEntry], pairs: Pairs) -> Iterator[Finding]:
    """Whether both hosts of a pair say the same of the ports that an instance has at both."""
    for pair in pairs:
        sender_weights, receiver_weights = (hosts[name].data_weights for name in pair)
        if (
            sender_weights
            and receiver_weights
            and lowest_terms(sender_weights) != lowest_terms(receiver_weights)
        ):
            weight_words = " and ".join(
                f"{name} {':'.join(map(str, hosts[name].data_weights))}" for name in pair
            )
            text = (
                f"an instance has the same port at both hosts of a pair, and {weight_words} "
                f"differ; name one of them"
            )
            yield ("hosts", pair[1], "data_weights"), text
            return


def _check_cpus(name: str, host: HostEntry) -> Iterator[Finding]:
    for key, cpus in (("app_cpus", host.app_cpus), ("irq_cpus", host.irq_cpus)):
        outside = set(cpus or ()) - set(host.cpus or cpus or ())
        if outside:
            text = f"must be among the host's cpus {cpus_text(host.cpus)}, got {format_cpulist(outside)}"
            yield ("hosts", name, key), text


def _check_repeats(key: str, values: Mapping[str, str]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name, value in values.items():
        if first.setdefault(value, name) != name:
            yield ("hosts", name, key), f"{value} is also host {first[value]}; give each host its own"


def check_tests(entry: CampaignFile, tests: Sequence[TestSpec]) -> Iterator[Finding]:
    """Tests that would give the same case twice, and settings that a test does not have."""
    for index, test in enumerate(tests):
        if entry.load_levels and test.rate_bps is not None:
            rate_path = ("tests", index, "rate") if isinstance(entry.tests[index], TestEntry) else ("rate",)
            path = rate_path if entry.rate is None else ("rate",)
            yield path, "contradicts load_levels, whose rates come from the calibrated maximum; take one out"
            break
    for index, test in enumerate(tests):
        raw = entry.tests[index]
        if isinstance(raw, TestEntry) and raw.zerocopy and test.test != "tcp":
            yield ("tests", index, "zerocopy"), "applies to TCP only; take it out"
        for before, earlier in enumerate(tests[:index]):
            if _overlap(earlier, test):
                text = f"repeats tests[{before}] ({test.test}); change its rate, instances or streams"
                if test.data != earlier.data:
                    text = (
                        f"has instances of tests[{before}] ({test.test}) over other data ports, and in a "
                        "series each number of instances has its ports; change its instances, rate or streams"
                    )
                yield ("tests", index), text
                break


def check_test_ports(
    tests: Sequence[TestSpec], hosts: Mapping[str, HostEntry], ways: Pairs
) -> Iterator[Finding]:
    """Whether the hosts of each pair have the data ports that tests name; the first problem of each test."""
    for index, test in enumerate(tests):
        for way in ways if test.data else ():
            positions = positions_of(test.data, {name: hosts[name].data for name in way if name in hosts})
            if isinstance(positions, Missing):
                yield ("tests", index, "data"), positions.reason
                break


def check_load(entry: CampaignFile, tests: Sequence[TestSpec]) -> Iterator[Finding]:
    """What the load of the campaign cannot do, each told once."""
    load, reported_paths = LOADS[entry.load], set()
    for index, test in enumerate(tests):
        for key, why in _refused(load, entry, test):
            path = _path_of(entry, key, index)
            if path not in reported_paths:
                reported_paths.add(path)
                yield path, why
    for name in entry.factors:
        load_option = load_of_prefix(name)
        if load_option is not None and load_option[0] is not load:
            yield (
                ("factors", name),
                f"is an option of {load_option[0].name}, the load is {load.name}; take it out",
            )


def _refused(load: Load, entry: CampaignFile, test: TestSpec) -> Iterator[tuple[str, str]]:
    zerocopy = test.zerocopy or "on" in levels_of_factors(entry).get(factors.ZEROCOPY_FACTOR, ())
    for family, direction, streams in itertools.product(entry.families, entry.directions, test.streams):
        yield from load.refusals(
            Wanted(
                test.test,
                family,
                direction,
                streams,
                entry.search.max_rate if test.rate_bps == AUTO else test.rate_bps,
                zerocopy,
                entry.window.omit,
                is_soak=entry.replaces_trials,
            )
        )


def _path_of(entry: CampaignFile, key: str, index: int) -> KeyPath:
    """Where a value stands: at its test, or for all of the campaign."""
    test = entry.tests[index]
    if key == "tests":
        return ("tests", index)
    if (
        key in ("streams", "rate", "zerocopy")
        and isinstance(test, TestEntry)
        and key in test.model_fields_set
    ):
        return ("tests", index, key)
    if key in entry.factors:
        return ("factors", key)
    return ("window", "omit") if key == "omit" else (key,)


def _overlap(first: TestSpec, second: TestSpec) -> bool:
    same = (first.test, first.rate_bps, first.zerocopy) == (second.test, second.rate_bps, second.zerocopy)
    searched = AUTO in (first.instances, second.instances)
    numbers = searched or bool(set(first.instances) & set(second.instances))
    return same and numbers and bool(set(first.streams) & set(second.streams))


def check_factors(entry: CampaignFile) -> Iterator[Finding]:
    """Factors and settings that there are none of, levels that none of them has, and levels twice."""
    yield from _check_factors_of_loads(entry)
    for name, levels in entry.factors.items():
        if not isinstance(levels, LabelEntry):
            yield from _check_levels(name, levels)
        elif _is_known(name):
            text = "is a setting that linewatt makes itself; give its levels as a list, or another name"
            yield ("factors", name), text
        elif levels.fact is not None and levels.fact not in _FACTS:
            text = f"there is no fact {levels.fact}; {suggest(levels.fact, _FACTS)}"
            yield ("factors", name, "fact"), text
    for name, level in settings_of(entry).items():
        try:
            factors.check(name, level)
        except LinewattError as error:
            yield ("settings", name), str(error)
        if name in entry.factors:
            yield ("settings", name), "is a factor of this campaign too; take it out of one of them"
    if entry.placement is not None and PLACEMENT_FACTOR in entry.factors:
        yield ("placement",), "is a factor of this campaign too; take it out of one of them"
    try:
        settings_of_design(levels_of_factors(entry), entry.design)
    except InvalidInput as error:
        yield ("design" if "design" in entry.model_fields_set else "factors",), str(error)


def _check_factors_of_loads(entry: CampaignFile) -> Iterator[Finding]:
    """Factors of loads that features bring and the campaign lacks."""
    for name in entry.factors:
        load = load_of_factor(name)
        if load is not None and entry.value_of(load.name) is None:
            what = f"is of {load.name}, and this campaign has none; add {load.name}, or take it out"
            yield ("factors", name), what


def check_online(entry: CampaignFile, hosts: Mapping[str, HostEntry]) -> Iterator[Finding]:
    """Whether CPUs are to go offline that hosts name for loads or interrupts, or that several hosts share."""
    load = named_load(entry)
    server = None if load is None else planning_of(load).named_server(entry)
    concerned = {name: host for name, host in hosts.items() if server in (None, name)}
    for at, level in _asked(entry, CPUS_ONLINE):
        yield from ((at, text) for text in _switched_off(level, concerned))


def check_irqbalance(entry: CampaignFile) -> Iterator[Finding]:
    """Whether interrupts are put on CPUs where irqbalance is to run, which moves them."""
    for at, level in _asked(entry, factors.IRQBALANCE):
        if level == factors.RUNNING and any(_asked(entry, factors.IRQ_AFFINITY)):
            yield at, factors.MOVES_AWAY


def _asked(entry: CampaignFile, name: str) -> Iterator[tuple[KeyPath, str]]:
    """Where the file asks for what, of one setting; what is no level of it is told by check_factors."""
    levels: dict[KeyPath, str] = {
        ("factors", name, index): level for index, level in enumerate(levels_of_factors(entry).get(name, ()))
    }
    levels |= {("settings", key): level for key, level in settings_of(entry).items() if key == name}
    for at, level in levels.items():
        with suppress(LinewattError):
            yield at, factors.check(name, level)


def _switched_off(level: str, hosts: Mapping[str, HostEntry]) -> Iterator[str]:
    for name, host in hosts.items():
        # Of the hosts of a lab those that are no guests have a part of one machine's CPUs.
        if level != ALL_CPUS and getattr(host, "lab", None) is not None and host.cpus:
            yield f"{name} is a lab's, and a CPU that goes offline is gone from the machine of all of them"
        if host.cpus and len(switched_off(level, host.cpus)) == len(host.cpus):
            cpu_words = format_cpulist(host.cpus)
            yield f"takes all CPUs of {name} ({cpu_words}) offline; keep at least one online"
        for key, cpus in (("app_cpus", host.app_cpus), ("irq_cpus", host.irq_cpus)):
            if off := switched_off(level, cpus or ()):
                yield (
                    f"switches CPU {format_cpulist(off)} off, and {key} of {name} has it; keep it online, or "
                    f"take it out of {key}"
                )


def _check_levels(name: str, levels: Sequence[str]) -> Iterator[Finding]:
    spellings: dict[str, str] = {}
    for index, level in enumerate(levels):
        try:
            spelling = factors.check(name, level)
        except LinewattError as error:
            unknown = not _is_known(name)
            yield (("factors", name) if unknown else ("factors", name, index)), str(error)
            if unknown:
                return
            continue
        if spellings.setdefault(spelling, level) != level:
            yield ("factors", name, index), f"is the same as {spellings[spelling]!r}; name a level once"


def _is_known(name: str) -> bool:
    if load := load_of_factor(name):
        return name in planning_of(load).factor_names
    try:
        return not factors.is_setting_of_hosts(name) or bool(factor_named(name))
    except LinewattError:
        return False


def check_size(entry: CampaignFile, tests: Sequence[TestSpec], pairs: Sequence[int]) -> Iterator[Finding]:
    """Times and numbers that no load or no patience can meet; ``pairs``: how many run at once, each time."""
    window = entry.window
    load_s = window.omit + window.seconds + window.tail
    if load_s > MAX_LOAD_S:
        yield ("window",), f"omit, seconds and tail must be at most {MAX_LOAD_S} s together, got {load_s:g}"
    per_pair = sum(
        (1 if test.instances == AUTO else len(test.instances)) * len(test.streams) for test in tests
    )
    combinations = len(pairs) * len(entry.directions) * len(entry.families) * len(entry.networks)
    if load := load_of_trials(entry):
        per_pair, combinations = 1, planning_of(load).count_cases(entry)
    cases = per_pair * combinations * _count_settings(entry)
    if cases > MAX_CASES:
        yield ("tests",), f"make {cases} cases with all other lists; at most {MAX_CASES} are possible"
    elif (trials := cases * _most(entry, tests)) > MAX_TRIALS:
        yield ("trials",), f"make {trials} trials of {cases} cases; at most {MAX_TRIALS}"
    yield from check_trials(entry.trials, levels=bool(entry.load_levels))
    yield from _check_ports(entry, tests, max(pairs, default=1))


def _most(entry: CampaignFile, tests: Sequence[TestSpec]) -> int:
    """Trials of any case."""
    searched = entry.search.trials if any(test.rate_bps == AUTO for test in tests) else 0
    numbers = instance_search_of(entry.search, tests, entry.ports[1] - entry.ports[0] + 1, (), 1)
    return max(searched, most_trials(entry.trials) * (numbers.counts if numbers else 1))


def _count_settings(entry: CampaignFile) -> int:
    try:
        return len(settings_of_design(levels_of_factors(entry), entry.design))
    except InvalidInput:  # told by check_factors
        return 1


def _check_ports(entry: CampaignFile, tests: Sequence[TestSpec], at_once: int) -> Iterator[Finding]:
    named = [test.instances for test in tests if test.instances != AUTO]
    searched = entry.search.max_instances if len(named) < len(tests) else None
    needed_ports = at_once * max((*itertools.chain.from_iterable(named), searched or 0), default=0)
    first, last = entry.ports
    if needed_ports > last - first + 1:
        wider = (
            f'; write "{first}-{first + needed_ports - 1}" or wider'
            if first + needed_ports - 1 <= 65_535
            else ""
        )
        yield ("ports",), f"{needed_ports} instances need {needed_ports} ports, got {last - first + 1}{wider}"


def check_sensors(entry: CampaignFile) -> Iterator[Finding]:
    """Intervals that are no time."""
    for name, sensor in sensors_of(entry).items():
        if not sensor.interval_s > 0:
            yield ("sensors", name, "interval_s"), f"must be greater than 0, got {sensor.interval_s:g}"


def check_secrets(campaign: Campaign) -> Iterator[Finding]:
    """Sources that would be sent a password unencrypted, and nobody said that this may be."""
    for host, sources in campaign.power.items():
        for name, source in sources.items():
            if getattr(source.cfg, "shows_password", False):
                yield (
                    ("hosts", host, "power", name),
                    "would send the password unencrypted (http, basic); use https://, auth: digest, or say "
                    "insecure: true if everybody on that network may read it",
                )


def check_meters(campaign: Campaign) -> Iterator[Finding]:
    """Sources whose readings would say nothing of a window."""
    if not campaign.has_trials:
        return
    for host, sources in campaign.power.items():
        for name, source in sources.items():
            cfg = source.cfg
            dynamics = declared_dynamics(cfg.refresh_s, cfg.averaging_s)
            cut_s = max(0.0, max(cfg.interval_s, dynamics.settle_s or 0.0) - campaign.omit_s)
            if cfg.refresh_s is None and cfg.averaging_s is None:
                continue
            refused = why_too_short(campaign.window_s, cut_s, dynamics, cfg.interval_s)
            if refused:
                yield ("hosts", host, "power", name), refused
