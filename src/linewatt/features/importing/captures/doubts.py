# SPDX-License-Identifier: Apache-2.0
"""What makes figures of imported files doubtful, and which checks of trials apply to them. Pure.

Checks that need what nobody read (facts of hosts, where threads ran, what was set) are not made, and that is
told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.checks import cpu, layout, load, plausibility, power, power_source, steadiness
from linewatt.engine.measuring.checks.window import outside_s, standstill
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.flags import Check
from linewatt.engine.measuring.window import Counted, EndRun, count
from linewatt.features.importing.captures.pairing import OneTest
from linewatt.features.importing.captures.placing import HostClock, Placed
from linewatt.findings.window import EDGE_ERROR
from linewatt.loads.base import LoadEnd
from linewatt.missing import Missing
from linewatt.model import EndResult, Flag, InstanceResult, Role, Window
from linewatt.sensors.mpstat import SOURCES

APPLY: tuple[Check, ...] = (
    layout.check,
    load.check,
    steadiness.check,
    cpu.check,
    power.check,
    plausibility.check,
    power_source.check,
)
"""checks of trials that need no more than what is in the files"""
SOMETIMES_SAID = {"MTU": "mtu", "offloads": "offloads", "the rate of the line": "speed_bps"}
"""what of a host's interface some files say → the fact"""
UNKNOWN = (
    "governor and other settings of hosts, CPUs of the load and of interrupts, whether the network was bare, "
    "zero-copy"
)
RATE_UNKNOWN = ", and whether a rate was asked for"
"""of a load whose version does not write it"""
STOOD_STILL = "it stood still, its tool was stopped, or its clock was set"
"""which stamps of a tool alone do not tell apart"""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a trial from its files, beside its figures. ``load``: when all instances ran."""

    tests: tuple[OneTest, ...]
    readings: Mapping[str, tuple[Placed, ...]]
    clocks: Mapping[str, HostClock | Missing]
    load: Window
    nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """host → what its readings call it"""

    @property
    def is_rate_told(self) -> bool:
        return all(one.asked.is_rate_told for one in self.tests)

    @property
    def warmed(self) -> Window:
        """The load with the warm-up that it did not count itself."""
        return Window(self.load.start_s - min(one.asked.omit_s for one in self.tests), self.load.end_s)


def end_run(one: OneTest, end: LoadEnd) -> EndRun:
    """An end on the line of its trial."""
    return EndRun(end, one.start_s, one.line.late_s / 2)


def counted(known: Known, window: Window, *, sender: bool) -> list[Counted] | None:
    """What all senders, or all receivers, counted in a window; ``None`` where one of them is not known.

    Raises ParseError.
    """
    ends = [(one, one.load_end(sender=sender)) for one in known.tests]
    found = [count(end_run(one, end), window) for one, end in ends if isinstance(end, LoadEnd)]
    return found if len(found) == len(ends) else None


def checks_of(known: Known) -> tuple[Check, ...]:
    """Every check that applies to a trial of these files."""
    return (*APPLY, lambda seen: _doubts(seen, known))


def _doubts(seen: Seen, known: Known) -> Iterator[Flag]:
    yield Flag(
        "settings-unknown",
        ", ".join(seen.case.hosts),
        f"not read from the files: {', '.join((*_not_said(known), UNKNOWN))}"
        f"{'' if known.is_rate_told else RATE_UNKNOWN}",
        "compare with care; a campaign of linewatt reads these facts and compares them",
    )
    yield from _receiver(seen, known.tests)
    if not seen.instances:  # of which an end is not known
        yield from _loss(seen, counted(known, seen.window, sender=False) or [])
    yield from _told(seen, known.tests)
    for end in seen.ends:
        yield from _no_cpu(end, known.readings[end.host], known.tests)
        yield from _named_otherwise(end.host, known)
        yield from _cpus(end, known.readings[end.host])
        yield from standstill(end.host, seen.readings(end), seen.window, SOURCES, STOOD_STILL)
        yield from _not_activated(end, known.readings[end.host])
        yield from _clock(end, known)
        yield from _zone(end, known.readings[end.host])
        yield from _coarse(end, known, seen.window)


def _not_said(known: Known) -> Iterator[str]:
    """What of :data:`SOMETIMES_SAID` no file says, or of which hosts."""
    ends = [(host, one.end_of(host)) for one in known.tests for host in (one.client_host, one.server_host)]
    hosts = {host for host, _ in ends}
    for words, fact in SOMETIMES_SAID.items():
        told = {host for host, end in ends if end is not None and fact in end.facts.get("nic", {})}
        if missing := sorted(hosts - told):
            yield f"{words} of {', '.join(missing)}" if told else words


def _loss(seen: Seen, received: Sequence[Counted]) -> Iterator[Flag]:
    """Datagrams that the receivers missed."""
    instances = [
        InstanceResult(at, 0, None, None, 0.0, 0.0, one.rate_bps, 0.0, None, one.packets, one.lost_packets)
        for at, one in enumerate(received)
    ]
    yield from load.datagrams(seen.case, instances, seen.with_role("sender"), seen.with_role("receiver"))


def _receiver(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    why = [end for one in tests if isinstance(end := one.load_end(sender=False), Missing)]
    if why:
        yield Flag(
            "receiver-not-known",
            seen.case.receiver,
            f"only what {seen.case.sender} sent is on record: {why[0].reason}",
            f"keep what the receiver writes, too{seen.load.both_ends and f' ({seen.load.both_ends})'}",
        )


def _told(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    roles: tuple[Role, ...] = ("receiver", "sender")
    for role in roles:
        own = [one for one in tests if one.is_told(sender=role == "sender")]
        told = [one for one in own if isinstance(one.load_end(sender=role == "sender"), LoadEnd)]
        if not told:
            continue
        whence = next(end.told for end in (told[0].client, told[0].server) if end is not None)
        yield Flag(
            "told-by-the-other-end",
            seen.case.host(role),
            f"what the {role} counted is from {told[0].files[0]}{_more(told)}: {whence}",
            "keep what both ends write",
        )


def _more(tests: Sequence[OneTest]) -> str:
    return f" and {len(tests) - 1} more" if len(tests) > 1 else ""


def of_runs(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    """That a load's figures are means of several runs, and that these differed by too much."""
    ends = [end for test in tests for end in (test.client, test.server) if end is not None]
    hosts = ", ".join(seen.case.hosts)
    for end in [end for end in ends if end.mean_of][:1]:
        yield Flag(
            "mean-of-iterations",
            hosts,
            f"{end.file}: {end.mean_of}",
            "let the load run the test once (netperf without -i), and repeat that: each run is a trial",
        )
    for end in [end for end in ends if end.confidence_missed][:1]:
        yield Flag(
            "confidence-not-reached",
            hosts,
            f"{end.file}: {end.confidence_missed}",
            "find what varies between runs, or let netperf run more of them (-i)",
        )


def no_cpu_file(host: str, tests: Sequence[OneTest]) -> str:
    """Why the CPU use of an end is not known of which nobody wrote any."""
    ends = [end for test in tests for end in (test.client, test.server) if end is not None]
    why = next((f"; {end.no_cpu}" for end in ends if end.no_cpu), "")
    return f"no CPU readings of {host} among the imported files{why}"


def _no_cpu(end: EndResult, readings: Sequence[Placed], tests: Sequence[OneTest]) -> Iterator[Flag]:
    if end.cpu_cores is None:
        has_any = any(one.reading.source in SOURCES for one in readings)
        yield Flag(
            "cpu-missing",
            end.host,
            end.reasons["cpu_cores"] if has_any else no_cpu_file(end.host, tests),
            f"put what mpstat -P ALL 1 wrote there into a folder {end.host}, and import again",
        )


def _named_otherwise(host: str, known: Known) -> Iterator[Flag]:
    """Readings that call their host by another name than what the load wrote there."""
    ends = [end for one in known.tests if (end := one.end_of(host)) is not None]
    own = {end.node for end in ends if end.node}
    others = sorted(known.nodes.get(host, frozenset()) - own)
    if own and others:
        yield Flag(
            "readings-named-otherwise",
            host,
            f"readings are of a host that calls itself {', '.join(others)}; {ends[0].file} calls it "
            f"{', '.join(sorted(own))}",
            "see whether both names are of one machine; if not, put the readings into a folder of their own",
        )


def _cpus(end: EndResult, readings: Sequence[Placed]) -> Iterator[Flag]:
    """Cores that are a share of CPUs which may not all be online."""
    own = [one for one in readings if one.reading.source in SOURCES and one.reading.records]
    counts = [one.assumed_cpus for one in own]
    if end.cpu_cores is not None and own and None not in counts:
        yield Flag(
            "cpus-assumed",
            end.host,
            f"{own[0].file} says what all CPUs used together, and of none by itself: taken as a share of "
            f"{counts[0]} CPUs, among which sysstat counts those that are offline",
            f"keep what mpstat -P ALL 1 writes at {end.host}, which has a line for each CPU that is online",
        )


def _not_activated(end: EndResult, readings: Sequence[Placed]) -> Iterator[Flag]:
    """Watts of a BMC that says that it does not measure them now."""
    for one in readings:
        if one.power_state is not None and any(power.source == one.reading.source for power in end.power):
            yield Flag(
                "power-not-activated",
                end.host,
                f"{one.file}: the BMC says of its power reading: {one.power_state}",
                "activate it (ipmitool dcmi power activate), or hold its watts against another meter",
            )


def _clock(end: EndResult, known: Known) -> Iterator[Flag]:
    clock = known.clocks[end.host]
    placed = [one for one in known.readings[end.host] if one.reading.records and not one.of_test]
    if placed and isinstance(clock, HostClock) and not clock.is_known:
        yield Flag(
            "clock-assumed",
            end.host,
            f"the clock of {end.host} is taken to be that of {known.tests[0].client_host}: there is no "
            f"file of the load of {end.host}, whose stamp would tell",
            "keep what the load writes at both ends",
        )


def _zone(end: EndResult, readings: Sequence[Placed]) -> Iterator[Flag]:
    taken = [one.reading.source for one in readings if one.assumed_utc and one.reading.records]
    if taken:
        yield Flag(
            "zone-assumed",
            end.host,
            f"times of {', '.join(taken)} are taken for UTC, in which they lie beside the load",
            "give --timezone if the clock of the host was in another one",
        )


def _coarse(end: EndResult, known: Known, window: Window) -> Iterator[Flag]:
    """Readings that may be of a time without load, if stamps are as far off as they can be."""
    worst: tuple[float, Placed] | None = None
    for one in known.readings[end.host]:
        outside = sum(outside_s(one.reading, window, _surely(known.warmed, one.uncertainty_s)))
        if worst is None or outside > worst[0]:
            worst = outside, one
    if worst is None or worst[0] <= EDGE_ERROR * window.seconds:
        return
    outside, one = worst
    needed_s = one.uncertainty_s + _longest_s(one.reading, window)
    yield Flag(
        "stamps-too-coarse",
        end.host,
        f"readings of {one.reading.source} lie beside the load to ± {one.uncertainty_s:.1f} s only: up to "
        f"{100 * min(1.0, outside / window.seconds):.0f} % of the window may be of a time without load",
        f"import again with --omit {needed_s:.1f} --tail {needed_s:.1f}, or measure for longer",
    )


def _surely(load: Window, uncertainty_s: float) -> Window:
    return Window(load.start_s + uncertainty_s, load.end_s - uncertainty_s)


def _longest_s(reading: Reading, window: Window) -> float:
    spans_s = [
        one.span_s
        for one in reading.records
        if one.time_s > window.start_s and one.time_s - one.span_s < window.end_s
    ]
    return max(spans_s, default=0.0)
