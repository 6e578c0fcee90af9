# SPDX-License-Identifier: Apache-2.0
"""From tests and readings of others to trials, by the code that measures those of campaigns. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.analysis.cases import whole_sum
from linewatt.campaign.planning import PlannedInstance, PlannedTrial
from linewatt.engine.live import InstanceOutput, TrialRun
from linewatt.engine.measuring import (
    Check,
    Cut,
    InstanceRun,
    Setup,
    load_series,
    silence_reason,
    trial_of,
)
from linewatt.errors import FileRefused, InvalidInput, ParseError
from linewatt.features.importing.captures import doubts, two_ways, undated
from linewatt.features.importing.captures.hosts import Hosts
from linewatt.features.importing.captures.model import NOT_SAID, Found, Track
from linewatt.features.importing.captures.options import Options
from linewatt.features.importing.captures.pairing import OneTest, beside, case_of, trials_of, varied_options
from linewatt.features.importing.captures.placing import HostClock, Placed, clock_of, placed
from linewatt.foreign import understood
from linewatt.hosts import HostSpec
from linewatt.loads import LOADS, Asked, LoadEnd
from linewatt.missing import Missing
from linewatt.model import METHOD, Case, EndResult, Trial, Window
from linewatt.sensors import CPU_SHARE_SOURCES
from linewatt.store import Series

LEAST_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class Made:
    """A trial with what is stored beside it, and what was asked of its load.

    ``used`` are the files of readings that it has any of; ``beside`` those of its hosts that it has none of,
    and why.
    """

    trial: Trial
    asked: Asked
    texts: Mapping[str, str]
    series: tuple[Series, ...] = ()
    used: frozenset[str] = frozenset()
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Group:
    """Tests that are one trial, with their hosts and readings."""

    number: int
    repetition: int
    tests: tuple[OneTest, ...]
    case: Case
    clocks: Mapping[str, HostClock | Missing]
    tracks: Mapping[str, tuple[Track, ...]]
    sharing: Mapping[str, tuple[str, ...]]


def made_of(
    captures: Sequence[Found], tests: Sequence[OneTest], hosts: Hosts, options: Options
) -> tuple[Made, ...]:
    """All trials of what was found. Raises InvalidInput where there is none, or they contradict."""
    if not tests:
        names = ", ".join(load.by_hand for load in LOADS.values() if load.by_hand)
        raise InvalidInput(
            f"no file of a load among them ({names}); readings without a load are not a result: add "
            "the output of the load"
        )
    groups = trials_of(two_ways.with_other_ways(tests))
    varied = varied_options(groups)
    repetitions: dict[Case, int] = defaultdict(int)
    made_trials = []
    for number, group in enumerate(groups, start=1):
        case = case_of(group, options.network, varied)
        repetitions[case] += 1
        made_trials.append(_made(_group(number, repetitions[case], group, case, captures, hosts), options))
    _refuse_unused(captures, hosts, made_trials, groups)
    return tuple(made_trials)


def _group(
    number: int,
    repetition: int,
    tests: tuple[OneTest, ...],
    case: Case,
    captures: Sequence[Found],
    hosts: Hosts,
) -> _Group:
    same = {beside(test.client_host): test.client_host for test in tests}
    first_key = tests[0].line.key  # each instance has the CPU use of its hosts, which is one
    tracks = {
        name: tuple(
            track
            for track in _tracks(name, case, captures, hosts, same)
            if track.test is None or track.test == first_key
        )
        for name in case.hosts
    }
    sharing = {
        name: tuple(
            host
            for host in case.hosts
            if host != name
            and (host in hosts.sharing(name) or same.get(host) == name or same.get(name) == host)
        )
        for name in case.hosts
    }
    return _Group(
        number, repetition, tests, case, {name: clock_of(name, tests) for name in case.hosts}, tracks, sharing
    )


def _tracks(
    name: str, case: Case, captures: Sequence[Found], hosts: Hosts, same: Mapping[str, str]
) -> Iterator[Track]:
    """Readings of a host: in its own files, or in those of the other host of the case."""
    others = [host for host in case.hosts if host != name]
    for capture in captures:
        host = hosts.of_file[capture.file.name]
        for track in capture.tracks:
            machine = (name, same.get(name) if track.test is None else None)
            if host in (others if track.of_peer else machine):
                yield track


def _made(group: _Group, options: Options) -> Made:
    load, request = _load(group.tests), group.tests[0].asked
    texts = dict(_texts(group.tests))
    failure = next((test.failure for test in group.tests if test.failure), None)
    if failure is not None:
        return Made(_failed(group, load, failure), request, texts)
    window = _window(group, load, options)
    nodes = {
        host: frozenset(track.node for track in tracks if track.node) for host, tracks in group.tracks.items()
    }
    placed_readings = {name: _placed(group, name, load, options) for name in group.case.hosts}
    trial_facts = doubts.Known(group.tests, placed_readings, group.clocks, load, nodes)
    readings = {
        name: tuple(placement.reading for placement in placements)
        for name, placements in placed_readings.items()
    }
    for name, host_readings in readings.items():
        texts |= {
            f"{name}/{reading.source}.jsonl": reading.raw() for reading in host_readings if reading.records
        }
    runs = list(_runs(group))
    complete_runs = runs if len(runs) == len(group.tests) else []
    cut = Cut(_run(group, load), complete_runs, window, readings, _setup(group, options, window))
    made_trial = Made(
        _measured(group, cut, trial_facts), request, texts, _series(cut, request), *_used(trial_facts)
    )
    return made_trial if made_trial.trial.status == "done" else replace(made_trial, series=())


def _measured(group: _Group, cut: Cut, trial_facts: doubts.Known) -> Trial:
    """The trial, failed where nothing can be told of it, or nothing arrived."""
    if cut.window.seconds <= 0:
        return _failed(group, trial_facts.load, "it ran for no time")
    try:
        trial = understood(lambda: _trial(cut, trial_facts), "what its files hold")
    except ParseError as error:
        return _failed(group, trial_facts.load, str(error))
    why = _nothing(group, trial) or silence_reason(cut.run, cut.runs, cut.window)
    return trial if why is None else _failed(group, trial_facts.load, why)


def _series(cut: Cut, request: Asked) -> tuple[Series, ...]:
    readings = (reading for host_readings in cut.readings.values() for reading in host_readings)
    sensed = (
        Series(reading.host, reading.source, reading.channels, reading.samples()) for reading in readings
    )
    return (*sensed, *load_series(cut.run, cut.runs, request.load))


def _used(trial_facts: doubts.Known) -> tuple[frozenset[str], dict[str, str]]:
    """Files of readings of which it has any, and of which it has none with the reason."""
    placements = [
        placement for host_placements in trial_facts.readings.values() for placement in host_placements
    ]
    used = {placement.file for placement in placements if placement.reading.records}
    return frozenset(used), {
        placement.file: placement.reading.failure or ""
        for placement in placements
        if placement.file not in used
    }


def _load(tests: Sequence[OneTest]) -> Window:
    """When all of them ran, by the client's clock; of tests that failed at once, no time."""
    start_s = max(test.start_s for test in tests)
    return Window(start_s, max(start_s, min(test.end_s for test in tests)))


def _window(group: _Group, load: Window, options: Options) -> Window:
    """Raises InvalidInput where omit and tail leave nothing of a test."""
    window = Window(load.start_s + options.omit_s, load.end_s - options.tail_s)
    if window.seconds < min(LEAST_WINDOW_S, load.seconds):
        raise InvalidInput(
            f"{group.tests[0].files[0]}: all instances ran at once for {load.seconds:.1f} s, of which --omit "
            f"and --tail leave {max(0.0, window.seconds):.1f} s; name less"
        )
    return window


def _placed(group: _Group, host: str, load: Window, options: Options) -> tuple[Placed, ...]:
    """One reading a source, of several files that which is of this load. Raises InvalidInput."""
    by_source: dict[str, list[Placed]] = defaultdict(list)
    for track in group.tracks[host]:
        by_source[track.source].append(placed(track, host, group.clocks[host], load, options))
    for source, placements in by_source.items():
        names = [placement.file for placement in placements if placement.reading.records]
        if len(names) > 1:
            raise FileRefused(
                f"{names[0]}, {names[1]}: both are what {source} said of {host} in one trial",
                skip="one of them",
            )
    return tuple(
        max(placements, key=lambda placement: len(placement.reading.records))
        for placements in by_source.values()
    )


def _runs(group: _Group) -> Iterator[InstanceRun]:
    """Both ends of each instance, where both are known."""
    for number, test in enumerate(group.tests):
        ends = [test.load_end(sender=sends) for sends in (True, False)]
        known_ends = [doubts.end_run(test, end) for end in ends if isinstance(end, LoadEnd)]
        if len(known_ends) == len(ends):
            sender, receiver = known_ends
            yield InstanceRun(_output(test, number), sender, receiver)


def _output(test: OneTest, number: int) -> InstanceOutput:
    planned = PlannedInstance(number, test.line.port, None, None)
    return InstanceOutput(planned, {"client": [], "server": []}, None, None)


def _run(group: _Group, load: Window) -> TrialRun:
    outputs = tuple(_output(test, number) for number, test in enumerate(group.tests))
    instances = tuple(output.planned for output in outputs)
    return TrialRun(
        planned=PlannedTrial(group.number, group.repetition, group.case, instances),
        started_s=load.start_s,
        ended_s=load.end_s,
        load_s=load.seconds,
        outputs=outputs,
        clocks={name: clock for name, clock in group.clocks.items() if isinstance(clock, HostClock)},
        target_bps=None,
    )


def _setup(group: _Group, options: Options, window: Window) -> Setup:
    hosts = {
        name: HostSpec(name, "unknown", "unknown", shares_cpus_with=group.sharing[name])
        for name in group.case.hosts
    }
    unknown = dict.fromkeys(group.case.hosts)
    return Setup(options.omit_s, window.seconds, hosts, dict(unknown), dict(unknown))


def _trial(cut: Cut, trial_facts: doubts.Known) -> Trial:
    """Raises ParseError."""
    file_checks: tuple[Check, ...] = (
        *doubts.APPLY,
        lambda seen: doubts.of_files(seen, trial_facts),
        lambda seen: undated.doubts(seen, trial_facts.tests),
        lambda seen: two_ways.doubts(seen, trial_facts.tests),
        lambda seen: doubts.of_runs(seen, trial_facts.tests),
    )
    trial = trial_of(cut, None, file_checks)
    if not cut.runs:
        trial = _half_known(trial, cut.window, trial_facts)
    return replace(trial, reason=NOT_SAID).with_ends(lambda end: _explained(end, trial_facts))


def _half_known(trial: Trial, window: Window, trial_facts: doubts.Known) -> Trial:
    """What ends counted that are known, where the other end of an instance is not. Raises ParseError."""
    received = doubts.counted(trial_facts, window, sender=False)
    sent = doubts.counted(trial_facts, window, sender=True)
    packets = whole_sum(end_count.packets for end_count in received or ())
    lost = whole_sum(end_count.lost_packets for end_count in received or ())
    return replace(
        trial,
        throughput_bps=None if received is None else sum(end_count.rate_bps for end_count in received),
        offered_bps=None if sent is None else sum(end_count.rate_bps for end_count in sent),
        packets=packets,
        lost_packets=lost,
        lost_ratio=lost / packets if lost is not None and packets else None,
        retransmits=whole_sum(end_count.retransmits for end_count in sent or ()),
    ).with_ends(lambda end: replace(end, load_cpu_cores=None))


def _explained(end: EndResult, trial_facts: doubts.Known) -> EndResult:
    """That no file tells of CPUs, in place of that a sensor does not."""
    sources = {placement.reading.source for placement in trial_facts.readings[end.host]}
    if end.cpu_cores is not None or sources & set(CPU_SHARE_SOURCES):
        return end
    return replace(end, reasons={**end.reasons, "cpu_cores": doubts.no_cpu_file(end.host, trial_facts.tests)})


def _nothing(group: _Group, trial: Trial) -> str | None:
    if trial.throughput_bps is None or trial.throughput_bps > 0:
        return None
    return f"nothing arrived at {group.case.receiver} in the window, though the load ran"


def _failed(group: _Group, load: Window, reason: str) -> Trial:
    return Trial(
        number=group.number,
        repetition=group.repetition,
        case=group.case,
        case_key=group.case.key,
        status="failed",
        started_s=load.start_s,
        reason=reason,
        method=METHOD,
    )


def _texts(tests: Sequence[OneTest]) -> Iterator[tuple[str, str]]:
    """What the load wrote, host by host, whatever its files were called."""
    for number, test in enumerate(tests):
        for host, role, end in (
            (test.client_host, "client", test.client),
            (test.server_host, "server", test.server),
        ):
            if end is not None and end.text:
                suffix = "json" if end.text.lstrip().startswith("{") else "txt"
                yield f"{host}/{test.asked.load}-{role}-{number}.{suffix}", end.text


def _refuse_unused(
    captures: Iterable[Found], hosts: Hosts, made_trials: Sequence[Made], tests: Sequence[Sequence[OneTest]]
) -> None:
    """Raises InvalidInput for a file of readings that are of no trial."""
    taking_part = {name for made_trial in made_trials for name in made_trial.trial.case.hosts}
    used = frozenset().union(*(made_trial.used for made_trial in made_trials))
    why = {name: reason for made_trial in made_trials for name, reason in made_trial.beside.items()}
    for capture in captures:
        file, host = capture.file.name, hosts.of_file[capture.file.name]
        if capture.tracks and host not in taking_part:
            raise FileRefused(
                f"{file}: is of {host}, which is in no test (of {', '.join(sorted(taking_part))})",
                "name its host with --host",
            )
        if (
            file not in used
            and file in why
            and not all(undated.why_undated(trial_tests) for trial_tests in tests)
        ):
            raise FileRefused(f"{file}: {why[file]}")
