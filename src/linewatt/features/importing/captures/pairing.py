# SPDX-License-Identifier: Apache-2.0
"""Both ends of each test, and which tests ran at once: those are the instances of one trial. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from linewatt.errors import FileRefused, InvalidInput
from linewatt.features.importing.captures.hosts import LOOPBACK, Hosts, named
from linewatt.features.importing.captures.model import Found
from linewatt.loads import BOTH_WAYS, DEFAULT_LOAD, Asked, LoadEnd, ToldEnd
from linewatt.missing import Missing
from linewatt.model import Case

SLACK_S = 1.3
"""tests behind one another may seem to overlap by so much: stamps are cut to a second"""
MOST_TRIALS = 10_000
TOGETHER_RATIO = 0.5
"""of the shorter one: tests that overlap by so much ran at once"""
BOTH_WAYS_RATIO = 0.8
"""of the longer one: tests of opposite ways that overlap by so much are both ways at once"""


@dataclass(frozen=True, slots=True)
class OtherWay:
    """The test that went the opposite way at the same time: its files, and for how long both ran."""

    files: tuple[str, ...]
    shared_s: float


@dataclass(frozen=True, slots=True)
class OneTest:
    """One test of a load: its hosts, and what the file of either end says; one of the two may be missing."""

    client_host: str
    server_host: str
    client: ToldEnd | None
    server: ToldEnd | None
    other_way: OtherWay | None = None
    """where a process of its own went the opposite way; None of one that worked both ways by itself"""

    @property
    def ends(self) -> tuple[ToldEnd, ...]:
        """Those of which there is a file, the client's first."""
        return tuple(end for end in (self.client, self.server) if end is not None)

    @property
    def line(self) -> ToldEnd:
        """The end whose clock is that of the trial."""
        return next((end for end in self.ends if end.undated is None), self.ends[0])

    @property
    def asked(self) -> Asked:
        return self.ends[0].asked

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(end.file for end in self.ends))

    @property
    def failure(self) -> str | None:
        return next((end.failure for end in self.ends if end.failure), None)

    @property
    def start_s(self) -> float:
        """When what is counted begins: the middle of when it can."""
        return self.line.begun_s + self.line.late_s / 2

    @property
    def end_s(self) -> float:
        load_ends = (self.load_end(sender=sends) for sends in (True, False))
        return self.start_s + min(end.duration_s for end in load_ends if isinstance(end, LoadEnd))

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s

    def end_of(self, host: str) -> ToldEnd | None:
        """What the file of this host says."""
        return self.client if host == self.client_host else self.server

    def load_end(self, *, sender: bool) -> LoadEnd | Missing:
        """What the sender, or the receiver, counted, or why that is not known."""
        client_sends = not self.asked.is_reverse
        own_end, peer_end = (
            (self.client, self.server) if client_sends == sender else (self.server, self.client)
        )
        if own_end is not None:
            return own_end.own if own_end.own_missing is None else Missing(own_end.own_missing)
        return peer_end.other if peer_end is not None else Missing("no file of it")


def tests_of(captures: Sequence[Found], hosts: Hosts) -> tuple[OneTest, ...]:
    """Every test, in the order of time. Raises InvalidInput for a test that is there twice."""
    ends: dict[str, dict[bool, ToldEnd]] = {}
    for end in (end for file in captures for end in file.ends):
        test_ends = ends.setdefault(end.key, {})
        if end.is_client in test_ends:
            raise FileRefused(
                f"{end.file}: the same test as in {test_ends[end.is_client].file}", skip="one of them"
            )
        test_ends[end.is_client] = end
    tests = [_test(test_ends.get(True), test_ends.get(False), hosts) for test_ends in ends.values()]
    return tuple(sorted(tests, key=lambda test: test.start_s))


def _test(client: ToldEnd | None, server: ToldEnd | None, hosts: Hosts) -> OneTest:
    client_host, server_host = _host_of(client, server, hosts), _host_of(server, client, hosts)
    if client_host == server_host:
        server_host = beside(client_host)
    if client is not None and server is not None:
        _refuse_unlike(client, server)
    return OneTest(client_host, server_host, client, server)


def _host_of(end: ToldEnd | None, other_end: ToldEnd | None, hosts: Hosts) -> str:
    """The host of an end. Of one without a file it is the one that has its address, or the only other one
    of whose addresses no file says anything; else its address."""
    if end is not None:
        return hosts.of_file[end.file]
    if other_end is None:
        raise ValueError("a test without any end")
    other_host, peer = hosts.of_file[other_end.file], other_end.peer
    others = [name for name in hosts.names if name != other_host]
    if LOOPBACK.fullmatch(peer) and not others:
        return other_host
    if (peer_host := hosts.at(peer)) is not None and peer_host != other_host:
        return peer_host
    unknown = [name for name in others if not hosts.addresses.get(name)]
    return unknown[0] if len(unknown) == 1 else named(peer or "peer")


def with_ends_named(
    tests: Sequence[OneTest], hosts: Hosts, sender: str | None, receiver: str | None
) -> tuple[tuple[OneTest, ...], Hosts]:
    """Tests and hosts with the names that were said of who sends and who receives in all of them.

    Raises InvalidInput for a host that would have two names, and for one name for both ends.
    """
    names: dict[str, tuple[str, str]] = {}
    for test in tests:
        for host, name in zip(_way(test), (sender, receiver), strict=True):
            before, file = names.setdefault(host, (name or host, test.files[0]))
            if before != (name or host):
                raise FileRefused(
                    f"{test.files[0]}, {file}: {host} sends in one of them and receives in the other; "
                    "--sender and --receiver are of all tests",
                    skip="those that go the other way",
                )
    if any(len({names[host][0] for host in _way(test)}) == 1 for test in tests):
        raise InvalidInput(
            f"{sender or receiver} would be both ends of a test; name both by --sender and --receiver"
        )
    plain = {host: name for host, (name, _) in names.items()}
    renamed = (
        replace(test, client_host=plain[test.client_host], server_host=plain[test.server_host])
        for test in tests
    )
    return tuple(renamed), hosts.renamed(plain)


def beside(host: str) -> str:
    """What the server is called of a test whose ends are one host."""
    return f"{host[:55]}-server"


def _refuse_unlike(client: ToldEnd, server: ToldEnd) -> None:
    if client.own.is_sender == server.own.is_sender:
        raise InvalidInput(
            f"{client.file}, {server.file}: both ends of one test say that they "
            f"{'send' if client.own.is_sender else 'receive'}; one of the files was changed"
        )


def trials_of(tests: Sequence[OneTest]) -> tuple[tuple[OneTest, ...], ...]:
    """The tests of each trial, the trials in the order of time.

    Raises InvalidInput for tests that overlap in part, or run at once and are no instances of one case.
    """
    groups: list[list[OneTest]] = []
    running: list[tuple[OneTest, list[OneTest]]] = []
    for test in tests:
        running = [(earlier, group) for earlier, group in running if earlier.end_s > test.start_s]
        mine = next((group for earlier, group in running if _at_once(test, earlier)), None)
        if mine is None:
            groups.append(mine := [])
        mine.append(test)
        running.append((test, mine))
    if len(groups) > MOST_TRIALS:
        raise InvalidInput(f"{len(groups)} trials are more than {MOST_TRIALS}; import them in parts")
    for group in groups:
        _refuse_no_trial(group)
    return tuple(tuple(sorted(group, key=_place)) for group in groups)


def _place(test: OneTest) -> tuple[int, float]:
    return test.line.port, test.start_s


def _are_two_ways(first: OneTest, second: OneTest) -> bool:
    """Whether they are of both ways at once, each of another way: never one trial."""
    of_both = all(BOTH_WAYS in test.asked.factors for test in (first, second))
    return of_both and _way(first) == _way(second)[::-1]


def shared_s(first: OneTest, second: OneTest) -> float:
    """For how long both ran; below 0 it is how far they are apart."""
    return min(first.end_s, second.end_s) - max(first.start_s, second.start_s)


def are_opposite(first: OneTest, second: OneTest) -> bool:
    """Whether two processes went opposite ways between the same hosts, at once for most of their time."""
    if any(BOTH_WAYS in test.asked.factors for test in (first, second)) or _have_one_server(first, second):
        return False
    is_together = shared_s(first, second) >= BOTH_WAYS_RATIO * max(first.duration_s, second.duration_s) > 0
    return is_together and _way(first) == _way(second)[::-1]


def _have_one_server(first: OneTest, second: OneTest) -> bool:
    """Whether both were at one port of a host; a port that a file does not name (0) tells nothing."""
    is_port_known = first.line.port != 0 and second.line.port != 0
    return is_port_known and first.server_host == second.server_host and first.line.port == second.line.port


def _at_once(first: OneTest, second: OneTest) -> bool:
    """Raises InvalidInput for tests that overlap too little for one trial and too much for two."""
    if _are_two_ways(first, second):
        return False
    together_s = shared_s(first, second)
    if together_s <= 0:
        return False
    shorter_s = min(first.duration_s, second.duration_s)
    one_server = _have_one_server(first, second)
    if one_server and together_s <= SLACK_S:
        return False
    if not one_server and together_s >= TOGETHER_RATIO * shorter_s:
        return True
    if together_s <= SLACK_S:
        return False
    why = (
        f"ran at one port of {first.server_host} at the same time, which no server does: are their clocks "
        "right?"
        if one_server
        else f"overlap for {together_s:.1f} s of {shorter_s:.1f} s: too little for instances of one trial, "
        "too much for two trials"
    )
    raise FileRefused(f"{first.files[0]}, {second.files[0]}: {why}", skip="one of them")


def _refuse_no_trial(group: Sequence[OneTest]) -> None:
    """Raises InvalidInput unless all of it ran at once and was asked the same."""
    for first, second in combinations(group, 2):
        if not _at_once(first, second):
            raise FileRefused(
                f"{first.files[0]}, {second.files[0]}: both ran beside a third test, but not "
                f"beside one another",
                skip="those that are not instances of one trial",
            )
    for first, second in pairwise(group):
        ways = [_way(test) for test in (first, second)]
        if ways[0] != ways[1]:
            raise FileRefused(
                f"{first.files[0]}, {second.files[0]}: ran at once from {' to '.join(ways[0])} and from "
                f"{' to '.join(ways[1])}; {_why_not_both_ways(first, second)}",
                skip="those of one way",
            )
        if replace(first.asked, seconds=None) != replace(second.asked, seconds=None):
            raise InvalidInput(
                f"{first.files[0]}, {second.files[0]}: ran at once and were not asked the same: "
                f"{_differing(first, second)}"
            )


def _why_not_both_ways(first: OneTest, second: OneTest) -> str:
    longer_s = max(first.duration_s, second.duration_s)
    if _way(first) == _way(second)[::-1] and shared_s(first, second) < BOTH_WAYS_RATIO * longer_s:
        return (
            f"both ways at once are read where they overlap for {100 * BOTH_WAYS_RATIO:g} % of the longer "
            f"one, and these do for {shared_s(first, second):.1f} s of {longer_s:.1f} s"
        )
    return "tests that run at once are read where all go one way, or two hosts both ways"


def _way(test: OneTest) -> tuple[str, str]:
    ends = test.client_host, test.server_host
    return ends[::-1] if test.asked.is_reverse else ends


def _differing(first: OneTest, second: OneTest) -> str:
    names = ("load", "test", "family", "streams", "is_reverse", "rate_bps", "omit_s", "options", "factors")
    return ", ".join(name for name in names if getattr(first.asked, name) != getattr(second.asked, name))


def case_of(group: Sequence[OneTest], network: str, varied: Iterable[str]) -> Case:
    """The case that a trial is of; ``varied`` are options that differ between trials, which are factors
    then."""
    first_test = group[0]
    sender, receiver = _way(first_test)
    request = first_test.asked
    options = dict(request.options)
    factors = dict(request.factors) | {name: options.get(name, "default") for name in varied}
    return Case(
        test=request.test,
        sender=sender,
        receiver=receiver,
        instances=len(group),
        streams=request.streams,
        direction="reverse" if request.is_reverse else "forward",
        family=request.family,
        network=network,
        rate_bps=request.rate_bps,
        zerocopy=None,
        factors=tuple(sorted(factors.items())),
        load=None if request.load == DEFAULT_LOAD else request.load,
    )


def varied_options(groups: Sequence[Sequence[OneTest]]) -> tuple[str, ...]:
    """Options that not all trials have alike."""
    requests = [group[0].asked for group in groups]
    names = dict.fromkeys(name for request in requests for name, _ in request.options)
    return tuple(name for name in names if len({dict(request.options).get(name) for request in requests}) > 1)
