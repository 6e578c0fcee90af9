# SPDX-License-Identifier: Apache-2.0
"""A campaign's plan in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from linewatt.campaign import (
    PLACEMENT_FACTOR,
    Campaign,
    is_setting_of_hosts,
    missing_packages,
    planning_of,
    resolve_campaign,
    setting_at_host,
)
from linewatt.campaign.planning import (
    Plan,
    PlannedInstance,
    Round,
    further_plans,
    plan_as_dict,
    plan_campaign,
    programs_of_campaign,
    seed_of_campaign,
)
from linewatt.campaign.reading import load_campaign, sites_of_files
from linewatt.cli.actions.plan_cpus import cpu_rows
from linewatt.cli.output import columns_of_output, print_json, put_lines, say
from linewatt.engine import KindPlan, plan_kind
from linewatt.hosts import RR_PRIORITY, HostSpec
from linewatt.hosts.facts import format_cpulist
from linewatt.model import Case
from linewatt.report import plural
from linewatt.tuning import Change
from linewatt.units import first_of, format_rate, format_seconds


def print_plan(*, file: Path, hosts: Path | None, results: Path, as_json: bool, trials: bool) -> None:
    """Print what a campaign would do; touches no host."""
    campaign = resolve_campaign(load_campaign(file, hosts), results)
    for missing in missing_packages(campaign):
        say(f"before a run: {missing}")
    if kind := plan_kind(campaign):
        _print_kind_plan(campaign, kind.plan(campaign, sites_of_files(campaign)), as_json)
        return
    planned = plan_campaign(campaign, seed_of_campaign(campaign), sites_of_files(campaign))
    if as_json:
        _print_document(campaign, plan_as_dict(planned))
        return
    put_lines(_lines(campaign, planned, trials))


def _print_document(campaign: Campaign, plan: Mapping[str, Any]) -> None:
    from linewatt.campaign.planning import plan_document_of

    print_json(plan_document_of(campaign, plan))


def _print_kind_plan(campaign: Campaign, planned: KindPlan, as_json: bool) -> None:
    """A plan that is none of trials."""
    if as_json:
        _print_document(campaign, planned.document())
        return
    load_plan = planned.load_plan
    put_lines([f"{campaign.name}: {planned.headline}", *planned.lines(), ""])
    if load_plan is not None:
        put_lines([*_table(_case_rows(campaign, load_plan), columns_of_output()), ""])
        put_lines(_cpu_lines(campaign, load_plan))
    put_lines(_host_lines(campaign))
    put_lines(_change_lines(campaign, planned.changes, load_plan.rounds if load_plan else ()))


def _lines(campaign: Campaign, planned: Plan, trials: bool) -> Iterator[str]:
    yield f"{campaign.name}: {_headline(campaign, planned)}; {_duration(planned)}"
    yield from _feature_load_lines(campaign)
    yield ""
    rows = _trial_rows(campaign, planned) if trials else _case_rows(campaign, planned)
    yield from _table(rows, columns_of_output())
    yield ""
    yield from _cpu_lines(campaign, planned)
    yield from _host_lines(campaign)
    yield from _idle_lines(campaign, planned)
    yield from _further_lines(campaign, planned)
    yield from (f"place {line}" for line in planned.places)
    yield from _change_lines(campaign, planned.changes, planned.rounds)
    yield from _port_lines(campaign)
    for skip in planned.skipped:
        yield f"skipped: {skip.what} ({plural(skip.cases, 'case')}): {skip.reason}"
    for note in planned.notes:
        yield f"note: {note}"


def _cpu_lines(campaign: Campaign, planned: Plan) -> Iterator[str]:
    """The CPUs of processes and interrupts, as far as they are known before contact with a host."""
    if rows := cpu_rows(campaign, planned):
        yield from _table(rows, columns_of_output())
        yield ""


def _feature_load_lines(campaign: Campaign) -> Iterator[str]:
    """What the load of trials is that a feature brings, where no factor says otherwise."""
    if campaign.feature_load is not None:
        yield from planning_of(campaign.feature_load).lines(campaign)
        yield from _places_of_factors(campaign, campaign.server_host)


def _places_of_factors(campaign: Campaign, server: str | None) -> Iterator[str]:
    """At which hosts each knob that varies is turned: an effect may be of server and clients at once."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, (base, *_) in campaign.factors.items():
        if is_setting_of_hosts(name) and name not in campaign.labels:
            where = tuple(host for host in campaign.hosts if setting_at_host([(name, base)], host, server))
            names.setdefault(where, []).append(name)
    for where, host_factors in names.items():
        joint_effect = ": an effect of it is that of server and clients at once" if len(where) > 1 else ""
        places = first_of(where, _MOST_NAMES, between=", ")
        yield f"varied on {places}: {', '.join(host_factors)}{joint_effect}"


def _idle_lines(campaign: Campaign, planned: Plan) -> Iterator[str]:
    """How long hosts are idle in all, and what for."""
    idle = planned.idle
    if not idle.windows:
        return
    settings = "" if idle.windows <= 1 + campaign.measures_power else " of each setting"
    when = f"{'before and after' if campaign.measures_power else 'before'} the trials{settings}"
    if idle.every_rounds is not None:
        after = "each trial" if idle.every_rounds == 1 else f"every {idle.every_rounds} trials"
        share = idle.window_s / (idle.window_s + idle.every_rounds * campaign.load_s)
        when += (
            f" and {idle.between_windows} in between, after {after}, {100 * share:.0f} % of loads and idle"
        )
    yield (
        f"idle: {plural(idle.windows, 'window')} of {idle.window_s:g} s {when}; with the time until the "
        f"hosts are quiet {format_seconds(idle.least_s)} in all, {format_seconds(idle.most_s)} at most"
    )


def _further_lines(campaign: Campaign, planned: Plan) -> Iterator[str]:
    """The trials that no figure is made of."""
    plans = further_plans(campaign)
    for name, rounds in planned.further.items():
        yield (
            f"{name}: {plural(len(rounds), 'more trial')} of {format_seconds(campaign.load_s)}, "
            f"after all others and part of no figure, {plans[name].beside}"
        )


def _host_lines(campaign: Campaign) -> Iterator[str]:
    """Hosts, and what is read and run on them."""
    yield from (_host_line(host) for host in campaign.hosts.values())
    sensors = (f"{name} every {sensor.interval_s:g} s" for name, sensor in campaign.sensors.items())
    yield f"sensors: {', '.join(sensors) or 'none'}"
    for host, sources in campaign.power.items():
        for name, source in sources.items():
            simulated = ", simulated" if source.cfg.simulated else ""
            yield f"power of {host}: {name} ({source.driver}{simulated})"
    for program in programs_of_campaign(campaign):
        yield f"program of {program.name} on {program.host or 'this machine'}: {program.words}"


def _later_lines(campaign: Campaign) -> Iterator[str]:
    """What is changed on hosts in a way that is only known once they have been asked."""
    taking_part = {host for pair in campaign.ways for host in pair}
    unknown = sorted(taking_part - set(sites_of_files(campaign)))
    policies = set(campaign.factors.get(PLACEMENT_FACTOR, (campaign.placement,)))
    named = [name for name in unknown if campaign.hosts[name].irq_cpus and campaign.hosts[name].lab is None]
    if unknown and not {"pinned", "none"} >= policies:
        yield (
            f"change {', '.join(unknown)}: interrupts of data interfaces go to CPUs that are chosen when "
            "the host has been asked (irq_affinity; rps_cpus where there are none), "
            "irqbalance = off where it runs"
        )
    elif named and policies != {"none"}:
        yield f"change {', '.join(named)}: irqbalance = off where it runs"
    if unknown and campaign.steer:
        yield (
            f"steer: which interrupts of {' and '.join(unknown)} move is decided when the host has been asked"
        )


def _port_lines(campaign: Campaign) -> Iterator[str]:
    """What is only known once hosts with several data ports have been asked."""
    several = [name for name, spec in campaign.hosts.items() if spec.more_ports]
    if several:
        yield (
            f"data ports of {' and '.join(several)}: those in one subnet get a route to each port of a peer "
            "(host_route), net.ipv4.conf.PORT.arp_ignore = 1 and arp_announce = 2; others stay as they are"
        )


def _change_lines(campaign: Campaign, shown: Sequence[Change], rounds: Sequence[Round]) -> Iterator[str]:
    """What hosts show throughout, then what varies between rounds: a line for each setting."""
    values: dict[tuple[str, str, str], dict[str, None]] = {}
    whys: dict[tuple[str, str, str], str] = {}
    for change in (change for changes in {round_.changes for round_ in rounds} for change in changes):
        key = change.host, change.knob, change.target
        values.setdefault(key, {})[change.value] = None
        whys[key] = change.why
    later = list(_later_lines(campaign))
    raised = [name for name, spec in campaign.hosts.items() if spec.raise_session]
    yield from later
    if not (later or shown or values or raised):
        yield "no change to any host"
    for host in raised:
        yield (
            f"change {host}: linewatt's own SSH session and heartbeat there = SCHED_RR {RR_PRIORITY} "
            "(raise_session), gone with them"
        )
    yield from _of_hosts(
        "change",
        [
            (change.host, f"{_setting(change.knob, change.target, change.value)} ({change.why})")
            for change in shown
        ],
    )
    yield from _of_hosts(
        "vary",
        [
            (
                host,
                f"{_setting(knob, target, ' | '.join(sorted(shown_values)))} ({whys[host, knob, target]})",
            )
            for (host, knob, target), shown_values in sorted(values.items())
        ],
    )
    changes = (*shown, *(change for round_ in rounds for change in round_.changes))
    online = {change.host for change in changes if change.knob == "cpus_online" and change.value != "all"}
    if online:
        yield (
            f"not put back on {', '.join(sorted(online))}, where all of their CPUs go offline: tasks that "
            "are bound, cpusets of cgroup v1; the kernel may move them for good"
        )


def _of_hosts(verb: str, settings: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A line for each (host, setting), and one for a setting that many hosts share."""
    hosts: dict[str, list[str]] = {}
    for host, setting in settings:
        hosts.setdefault(setting, []).append(host)
    for host, setting in settings:
        if len(hosts[setting]) <= _MOST_NAMES:
            yield f"{verb} {host}: {setting}"
        elif host == hosts[setting][0]:
            yield f"{verb} {', '.join(hosts[setting])}: {setting}"


def _setting(knob: str, target: str, value: str) -> str:
    """A network's target says all by itself: what is made, and the addresses and routes of it."""
    if knob not in ("network", "nmstate"):
        return f"{knob} {target} = {value}"
    items = [word.partition(":")[::2] for word in target.split()]
    shown = [
        f"{kind} {detail}" for kind, detail in items if kind not in ("need", "lost", "mtu", "up", "option")
    ]
    return f"{knob} of {', '.join(shown)}"


def _host_line(host: HostSpec) -> str:
    login = f"{host.user}@" if host.user else ""
    where = "this machine" if host.address == "local" else f"{login}{host.address} port {host.port}"
    sets = (("CPUs", host.cpus), ("app CPUs", host.app_cpus), ("IRQ CPUs", host.irq_cpus))
    cpus = "".join(f", {label} {format_cpulist(cpu_numbers)}" for label, cpu_numbers in sets if cpu_numbers)
    lab = f", lab {host.lab}" if host.lab else ""
    weights = f" by {':'.join(map(str, host.data_weights))}" if host.data_weights else ""
    return f"host {host.name}: {where}, data {', '.join(host.interfaces)}{weights}{cpus}{lab}{_limits(host)}"


def _limits(host: HostSpec) -> str:
    """Those that are stated."""
    stated = host.as_document().get("limits", {})
    limit_words = ", ".join(f"{name.removesuffix('_s')} {seconds:g} s" for name, seconds in stated.items())
    return f", limits: {limit_words}" if limit_words else ""


def _duration(planned: Plan) -> str:
    longest = format_seconds(planned.duration_s)
    return (
        f"about {longest}" if planned.least_s is None else f"{format_seconds(planned.least_s)} to {longest}"
    )


def _headline(campaign: Campaign, planned: Plan) -> str:
    total = sum(len(round_.trials) for round_ in planned.rounds)
    searches = sum(case.search is not None for case in planned.cases)
    trial_words, bound_words = plural(campaign.trials, "trial"), "at most " if searches else ""
    if campaign.min_trials is not None and campaign.until_ratio is not None:
        sure = f"until ± {100 * campaign.until_ratio:g} %"
        trial_words, bound_words = f"{campaign.min_trials} to {campaign.trials} trials, {sure}", "at most "
    parts = []
    if searches < len(planned.cases):
        parts.append(f"{plural(len(planned.cases) - searches, 'case')} × {trial_words}")
    for kind in ("rate", "instances"):
        if searched_cases := [case for case in planned.cases if case.search == kind]:
            noun, first_case = "search" if len(searched_cases) == 1 else "searches", searched_cases[0]
            trials = f"{campaign.fewest_trials(first_case)} to {campaign.most_trials(first_case)} trials"
            parts.append(f"{len(searched_cases)} {noun} of {trials}")
    trials = f"{' + '.join(parts)} = {bound_words}{total}"
    rounds = "" if total == len(planned.rounds) else f" in {plural(len(planned.rounds), 'round')}"
    order = planned.order if planned.seed is None else f"{planned.order} order with seed {planned.seed}"
    times = f"{campaign.omit_s:g} s omitted, {campaign.window_s:g} s window, {campaign.tail_s:g} s tail"
    return f"{trials}{rounds}, {order}; {times}"


_DEFAULTS = {
    "direction": "forward",
    "family": "ipv4",
    "network": "bare",
    "streams": "1",
    "zero copy": "no",
    "data ports": "all",
}
"""columns that say nothing where every row has this value"""
_TEXT = {"sender CPUs", "receiver CPUs", "ports", "data ports", "process CPUs", "interrupt CPUs"}
"""columns that are lists, even where every list is one number"""
_LEAST_COLUMNS = (("ports",), ("round", "repetition"), ("sender CPUs", "receiver CPUs"), ("rate each",))
"""columns that a narrow table leaves out together, the first ones first"""
_GAP = 2
_MOST_NAMES = 4
"""hosts that are named one by one"""


def _case_rows(campaign: Campaign, planned: Plan) -> Iterator[dict[str, str]]:
    placements: dict[Case, dict[tuple[PlannedInstance, ...], None]] = {}
    for trial in planned.trials:
        placements.setdefault(trial.case, {})[trial.instances] = None
    for number, case in enumerate(planned.cases, start=1):
        yield {
            "case": str(number),
            **_case_columns(campaign, case),
            **_place_columns(case, list(placements[case])),
        }


def _trial_rows(campaign: Campaign, planned: Plan) -> Iterator[dict[str, str]]:
    cases = {case: str(number) for number, case in enumerate(planned.cases, start=1)}
    for number, round_ in enumerate(planned.rounds, start=1):
        for trial in round_.trials:
            yield {
                "trial": str(trial.number),
                "round": str(number),
                "repetition": str(trial.repetition),
                "case": cases[trial.case],
                **_case_columns(campaign, trial.case),
                **_place_columns(trial.case, [trial.instances]),
            }


def _rate(case: Case) -> str:
    if case.load_level is not None:
        return f"{100 * case.load_level:g} % of maximum" if case.load_level else "active idle"
    if case.search == "rate" and case.rate_bps is None:
        return "searched"
    return "unlimited" if case.rate_bps is None else format_rate(case.rate_bps)


def _instances(case: Case) -> str:
    if case.search == "instances":
        return f"1 to {case.instances}"
    if case.port_weights:
        counts = (str(case.data_port_of.count(port)) for port in case.port_numbers)
        return f"{case.instances} ({' + '.join(counts)})"
    return f"{len(case.flows)} × {case.instances}" if case.flows else str(case.instances)


def _data_ports(campaign: Campaign, case: Case) -> str:
    """Those that a case uses of its hosts' data ports: their interfaces, at both ends where these differ."""
    ends = [campaign.hosts[name].interfaces for name in case.hosts]
    if case.data_ports in (None, len(ends[0])):
        return "all"
    used = [[interfaces[number] for number in case.port_numbers] for interfaces in ends]
    return " → ".join(dict.fromkeys(", ".join(interfaces) for interfaces in used))


def _case_columns(campaign: Campaign, case: Case) -> dict[str, str]:
    if not case.of_processes:
        names = [name for name in case.hosts if name != case.receiver]
        clients = ", ".join(names) if len(names) <= _MOST_NAMES else str(len(names))
        who = {"clients": clients, "server": case.receiver}
        return {**dict(case.factors), **who, "family": case.family}
    return {
        **dict(case.factors),
        "test": case.test,
        "sender → receiver": case.way,
        "direction": case.direction,
        "family": case.family,
        "network": case.network,
        "instances": _instances(case),
        "data ports": _data_ports(campaign, case),
        "streams": str(case.streams),
        "rate each": _rate(case),
        "zero copy": "yes" if case.zerocopy else "no",
    }


def _place_columns(case: Case, placements: Sequence[tuple[PlannedInstance, ...]]) -> dict[str, str]:
    """CPUs and ports; a case whose trials alternate between two ranges of ports shows both."""
    if not case.of_processes:
        return {}
    first = placements[0]
    return {
        "sender CPUs": _cpus([instance.sender_cpu for instance in first]),
        "receiver CPUs": _cpus([instance.receiver_cpu for instance in first]),
        "ports": " or ".join(sorted(_ports(instances) for instances in placements)),
    }


def _cpus(cpus: Sequence[str | None]) -> str:
    return format_cpulist(int(cpu) for cpu in cpus if cpu is not None) or "any"


def _ports(instances: Sequence[PlannedInstance]) -> str:
    if not instances:
        return "none"
    first, last = instances[0].port, instances[-1].port
    return str(first) if first == last else f"{first}-{last}"


def _table(plan_rows: Iterable[dict[str, str]], width: int) -> Iterator[str]:
    """Aligned plain text. rich takes 0.8 s for a thousand rows, and a plan of those has 1 s in all.

    Of a table wider than ``width`` the columns that matter least are left out, and named; what is still too
    wide is split into several.
    """
    rows = list(plan_rows)
    constants = {name for name, default in _DEFAULTS.items() if all(row.get(name) == default for row in rows)}
    names = [name for name in rows[0] if name not in constants]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    shown, left_out = _columns_for(widths, width)
    for portion in _portions({name: widths[name] for name in shown}, width):
        yield from _portion(rows, {name: widths[name] for name in portion})
    if left_out:
        yield f"Not at {width} columns: {' · '.join(left_out)}; --json has them"


def _columns_for(widths: Mapping[str, int], width: int) -> tuple[list[str], list[str]]:
    """The columns that are shown, and those left out: as few as make the others fit."""
    left_out = set[str]()
    for names in _LEAST_COLUMNS:
        if sum(widths[name] + _GAP for name in widths if name not in left_out) - _GAP <= width:
            break
        left_out.update(names)
    return [name for name in widths if name not in left_out], [name for name in widths if name in left_out]


def _portions(widths: Mapping[str, int], width: int) -> Iterator[list[str]]:
    """Columns in portions that fit ``width``, each beginning with what a row is: its number."""
    key, *others = widths
    portion, used = [key], widths[key]
    for name in others:
        if len(portion) > 1 and used + _GAP + widths[name] > width:
            yield portion
            portion, used = [key], widths[key]
        portion.append(name)
        used += _GAP + widths[name]
    yield portion


def _portion(rows: Sequence[dict[str, str]], widths: Mapping[str, int]) -> Iterator[str]:
    numeric = {name for name in widths if all(row[name].isdecimal() for row in rows)} - _TEXT
    rules = {name: "─" * width for name, width in widths.items()}
    for row in ({name: name for name in widths}, rules, *rows):
        cells = (
            row[name].rjust(width) if name in numeric else row[name].ljust(width)
            for name, width in widths.items()
        )
        yield (" " * _GAP).join(cells).rstrip()
