# SPDX-License-Identifier: Apache-2.0
"""What makes figures of imported files doubtful, and which checks of trials apply to them. Pure.

Checks that need what nobody read (facts of hosts, where threads ran, what was set) are not made, and that is
told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.engine.live import Reading
from linewatt.engine.measuring import (
    Check,
    Counted,
    EndRun,
    Seen,
    checks,
    count_in_window,
    outside_s,
    standstill,
)
from linewatt.features.importing.captures.pairing import OneTest
from linewatt.features.importing.captures.placing import HostClock, Placed
from linewatt.findings import EDGE_ERROR_RATIO
from linewatt.loads import LoadEnd
from linewatt.missing import Missing
from linewatt.model import EndResult, Flag, InstanceResult, Role, Window
from linewatt.sensors import CPU_SHARE_SOURCES

APPLY: tuple[Check, ...] = (
    checks.layout.check,
    checks.load.check,
    checks.steadiness.check,
    checks.cpu.check,
    checks.power.check,
    checks.plausibility.check,
    checks.power_source.check,
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
STOOD_STILL = "the host stalled, its tool was stopped, or its clock was set"
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
        return all(test.asked.is_rate_told for test in self.tests)

    @property
    def warmed(self) -> Window:
        """The load with the warm-up that it did not count itself."""
        return Window(self.load.start_s - min(test.asked.omit_s for test in self.tests), self.load.end_s)


def end_run(test: OneTest, end: LoadEnd) -> EndRun:
    """An end on the line of its trial."""
    return EndRun(end, test.start_s, test.line.late_s / 2)


def counted(trial_facts: Known, window: Window, *, sender: bool) -> list[Counted] | None:
    """What all senders, or all receivers, counted in a window; ``None`` where one of them is not known.

    Raises ParseError.
    """
    ends = [(test, test.load_end(sender=sender)) for test in trial_facts.tests]
    counts = [count_in_window(end_run(test, end), window) for test, end in ends if isinstance(end, LoadEnd)]
    return counts if len(counts) == len(ends) else None


def of_files(seen: Seen, trial_facts: Known) -> Iterator[Flag]:
    """What the files do not say, or not well, of a trial and its hosts."""
    yield Flag(
        "settings-unknown",
        ", ".join(seen.case.hosts),
        f"not in the files: {', '.join((*_not_said(trial_facts), UNKNOWN))}"
        f"{'' if trial_facts.is_rate_told else RATE_UNKNOWN}",
        "compare with care; a linewatt campaign reads these facts and compares them",
    )
    yield from _receiver(seen, trial_facts.tests)
    if not seen.instances:  # of which an end is not known
        yield from _loss(seen, counted(trial_facts, seen.window, sender=False) or [])
    yield from _told(seen, trial_facts.tests)
    for end in seen.ends:
        yield from _no_cpu(end, trial_facts.readings[end.host], trial_facts.tests)
        yield from _named_otherwise(end.host, trial_facts)
        yield from _cpus(end, trial_facts.readings[end.host])
        yield from standstill(end.host, seen.readings(end), seen.window, CPU_SHARE_SOURCES, STOOD_STILL)
        yield from _not_activated(end, trial_facts.readings[end.host])
        yield from _clock(end, trial_facts)
        yield from _zone(end, trial_facts.readings[end.host])
        yield from _coarse(end, trial_facts, seen.window)


def _not_said(trial_facts: Known) -> Iterator[str]:
    """What of :data:`SOMETIMES_SAID` no file says, or of which hosts."""
    ends = [
        (host, test.end_of(host))
        for test in trial_facts.tests
        for host in (test.client_host, test.server_host)
    ]
    hosts = {host for host, _ in ends}
    for words, fact in SOMETIMES_SAID.items():
        telling_hosts = {host for host, end in ends if end is not None and fact in end.facts.get("nic", {})}
        if missing := sorted(hosts - telling_hosts):
            yield f"{words} of {', '.join(missing)}" if telling_hosts else words


def _loss(seen: Seen, received: Sequence[Counted]) -> Iterator[Flag]:
    """Datagrams that the receivers missed."""
    instances = [
        InstanceResult(
            at,
            0,
            None,
            None,
            0.0,
            0.0,
            end_count.rate_bps,
            0.0,
            None,
            end_count.packets,
            end_count.lost_packets,
        )
        for at, end_count in enumerate(received)
    ]
    yield from checks.load.datagrams(
        seen.case, instances, seen.with_role("sender"), seen.with_role("receiver")
    )


def _receiver(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    why = [end for test in tests if isinstance(end := test.load_end(sender=False), Missing)]
    if why:
        yield Flag(
            "receiver-not-known",
            seen.case.receiver,
            f"the files contain only what {seen.case.sender} sent: {why[0].reason}",
            f"also keep the receiver's output{seen.load.both_ends and f' ({seen.load.both_ends})'}",
        )


def _told(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    roles: tuple[Role, ...] = ("receiver", "sender")
    for role in roles:
        told_tests = [test for test in tests if test.end_of(seen.case.host(role)) is None]
        counted_tests = [
            test for test in told_tests if isinstance(test.load_end(sender=role == "sender"), LoadEnd)
        ]
        if not counted_tests:
            continue
        whence = counted_tests[0].ends[0].told
        yield Flag(
            "told-by-the-other-end",
            seen.case.host(role),
            f"the count of the {role} comes from {counted_tests[0].files[0]}{_more(counted_tests)}: {whence}",
            "keep the output of both ends",
        )


def _more(tests: Sequence[OneTest]) -> str:
    return f" and {len(tests) - 1} more" if len(tests) > 1 else ""


def of_runs(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    """That a load's figures are means of several runs, and that these differed by too much."""
    ends = [end for test in tests for end in test.ends]
    hosts = ", ".join(seen.case.hosts)
    for end in [end for end in ends if end.mean_of][:1]:
        yield Flag(
            "mean-of-iterations",
            hosts,
            f"{end.file}: {end.mean_of}",
            "run the test once per file (netperf without -i), and repeat it: each run is then a trial",
        )
    for end in [end for end in ends if end.confidence_missed][:1]:
        yield Flag(
            "confidence-not-reached",
            hosts,
            f"{end.file}: {end.confidence_missed}",
            "find what varies between runs, or raise netperf's number of runs (-i)",
        )


def no_cpu_file(host: str, tests: Sequence[OneTest]) -> str:
    """Why the CPU use of an end is not known of which nobody wrote any."""
    ends = [end for test in tests for end in test.ends]
    why = next((f"; {end.no_cpu}" for end in ends if end.no_cpu), "")
    return f"no CPU readings of {host} among the imported files{why}"


def _no_cpu(end: EndResult, readings: Sequence[Placed], tests: Sequence[OneTest]) -> Iterator[Flag]:
    if end.cpu_cores is None:
        has_any = any(placement.reading.source in CPU_SHARE_SOURCES for placement in readings)
        yield Flag(
            "cpu-missing",
            end.host,
            end.reasons["cpu_cores"] if has_any else no_cpu_file(end.host, tests),
            f"put the output of mpstat -P ALL 1 on that host into a folder {end.host}, and import again",
        )


def _named_otherwise(host: str, trial_facts: Known) -> Iterator[Flag]:
    """Readings that call their host by another name than what the load wrote there."""
    ends = [end for test in trial_facts.tests if (end := test.end_of(host)) is not None]
    load_nodes = {end.node for end in ends if end.node}
    others = sorted(trial_facts.nodes.get(host, frozenset()) - load_nodes)
    if load_nodes and others:
        yield Flag(
            "readings-named-otherwise",
            host,
            f"the readings name their host {', '.join(others)}; {ends[0].file} names it "
            f"{', '.join(sorted(load_nodes))}",
            "check whether both names are the same machine; if not, put the readings into a separate folder",
        )


def _cpus(end: EndResult, readings: Sequence[Placed]) -> Iterator[Flag]:
    """Cores that are a share of CPUs which may not all be online."""
    cpu_use = [
        placement
        for placement in readings
        if placement.reading.source in CPU_SHARE_SOURCES and placement.reading.records
    ]
    counts = [placement.assumed_cpus for placement in cpu_use]
    if end.cpu_cores is not None and cpu_use and None not in counts:
        yield Flag(
            "cpus-assumed",
            end.host,
            f"{cpu_use[0].file} has only the use of all CPUs together: linewatt takes it as a share of "
            f"{counts[0]} CPUs, and sysstat includes offline CPUs in this number",
            f"keep the output of mpstat -P ALL 1 on {end.host}, which has a line for each online CPU",
        )


def _not_activated(end: EndResult, readings: Sequence[Placed]) -> Iterator[Flag]:
    """Watts of a BMC that says that it does not measure them now."""
    for placement in readings:
        if placement.power_state is not None and any(
            power.source == placement.reading.source for power in end.power
        ):
            yield Flag(
                "power-not-activated",
                end.host,
                f"{placement.file}: state of the BMC's power reading: {placement.power_state}",
                "activate it (ipmitool dcmi power activate), or compare the watts with another meter",
            )


def _clock(end: EndResult, trial_facts: Known) -> Iterator[Flag]:
    clock = trial_facts.clocks[end.host]
    placed = [
        placement
        for placement in trial_facts.readings[end.host]
        if placement.reading.records and not placement.of_test
    ]
    if placed and isinstance(clock, HostClock) and not clock.is_known:
        yield Flag(
            "clock-assumed",
            end.host,
            f"linewatt assumes that the clocks of {end.host} and {trial_facts.tests[0].client_host} agree: "
            f"there is no file of the load from {end.host} with a timestamp",
            "keep the output of the load at both ends",
        )


def _zone(end: EndResult, readings: Sequence[Placed]) -> Iterator[Flag]:
    taken = [
        placement.reading.source
        for placement in readings
        if placement.assumed_utc and placement.reading.records
    ]
    if taken:
        yield Flag(
            "zone-assumed",
            end.host,
            f"linewatt assumes that the times of {', '.join(taken)} are UTC: they then match the load",
            "if the host used another timezone, give --timezone",
        )


def _coarse(end: EndResult, trial_facts: Known, window: Window) -> Iterator[Flag]:
    """Readings that may be of a time without load, if stamps are as far off as they can be."""
    worst: tuple[float, Placed] | None = None
    for placement in trial_facts.readings[end.host]:
        outside = sum(
            outside_s(placement.reading, window, _surely(trial_facts.warmed, placement.uncertainty_s))
        )
        if worst is None or outside > worst[0]:
            worst = outside, placement
    if worst is None or worst[0] <= EDGE_ERROR_RATIO * window.seconds:
        return
    outside, placement = worst
    needed_s = placement.uncertainty_s + _longest_s(placement.reading, window)
    yield Flag(
        "stamps-too-coarse",
        end.host,
        f"readings of {placement.reading.source} are aligned with the load only to ± "
        f"{placement.uncertainty_s:.1f} s: up to "
        f"{100 * min(1.0, outside / window.seconds):.0f} % of the window may be without load",
        f"import again with --omit {needed_s:.1f} --tail {needed_s:.1f}, or measure for longer",
    )


def _surely(load: Window, uncertainty_s: float) -> Window:
    return Window(load.start_s + uncertainty_s, load.end_s - uncertainty_s)


def _longest_s(reading: Reading, window: Window) -> float:
    spans_s = [
        record.span_s
        for record in reading.records
        if record.time_s > window.start_s and record.time_s - record.span_s < window.end_s
    ]
    return max(spans_s, default=0.0)
