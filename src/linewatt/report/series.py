# SPDX-License-Identifier: Apache-2.0
"""Cases in the order and under the names a reader expects.

A *series* is the cases that differ in their number of instances only: what one scalability table row after
row, and one line of a chart, is about. Parameters at their default that never vary stay unsaid.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linewatt.model import ENDS, FTP, Case, Role
from linewatt.sizes import KIB, frame_bytes, unframed_datagram_bytes
from linewatt.units import format_percent, format_rate

if TYPE_CHECKING:
    from linewatt.analysis.cases import CaseSummary

TEST_TITLES = {
    "tcp": "TCP",
    FTP: "FTP users",
    "tcp-rr": "TCP request/response",
    "udp-rr": "UDP request/response",
}


@dataclass(frozen=True, slots=True)
class Series:
    """The summaries of one series, instances ascending.

    ``label`` names it among others of its test (``h1 → h2, IPv6``); ``title`` is complete (``TCP, h1 → h2,
    IPv6``).
    """

    test: str
    label: str
    summaries: tuple[CaseSummary, ...]

    @property
    def title(self) -> str:
        return f"{test_title(self.test)}, {self.label}"


@dataclass(frozen=True, slots=True)
class TestGroup:
    """All series of one test: what shares a table, and the units in it."""

    __test__ = False  # not a pytest class

    test: str
    series: tuple[Series, ...]

    @property
    def title(self) -> str:
        return test_title(self.test)

    @property
    def summaries(self) -> tuple[CaseSummary, ...]:
        return tuple(summary for series in self.series for summary in series.summaries)

    @property
    def labelled(self) -> tuple[tuple[str, Series], ...]:
        """The series, each with its label where there are several."""
        several = len(self.series) > 1
        return tuple((series.label if several else "", series) for series in self.series)


def test_title(test: str) -> str:
    """How people write a test's name: ``UDP 1500``, ``UDP 32 KB datagrams`` (which are in several frames)."""
    payload = unframed_datagram_bytes(test)
    if payload is not None:
        size = f"{payload // KIB} KB" if payload % KIB == 0 else f"{payload:,} B"
        return f"UDP {size} datagrams"
    if frame_bytes(test) is not None:
        return f"UDP {test.removeprefix('udp-')}"
    return TEST_TITLES.get(test, test)


def series_of(summaries: Sequence[CaseSummary]) -> tuple[Series, ...]:
    """Series in the order of ``summaries``: that of :func:`linewatt.analysis.cases.summary.summarise`."""
    members: dict[Case, list[CaseSummary]] = {}
    for summary in summaries:
        members.setdefault(summary.case.single, []).append(summary)
    labels = case_labels(members)
    return tuple(Series(case.test, labels[case], tuple(members[case])) for case in members)


def by_test(series: Iterable[Series]) -> tuple[TestGroup, ...]:
    """The same series, one group a test."""
    groups: dict[str, list[Series]] = {}
    for item in series:
        groups.setdefault(item.test, []).append(item)
    return tuple(TestGroup(test, tuple(items)) for test, items in groups.items())


def case_labels(cases: Iterable[Case]) -> dict[Case, str]:
    """Each case's host pair and whatever distinguishes it, without test and instances."""
    return {
        case: ", ".join(filter(None, (case.way.replace("→", "↔") if case.of_users else case.way, text)))
        for case, text in hostless_labels(cases).items()
    }


def hostless_labels(cases: Iterable[Case]) -> dict[Case, str]:
    """Whatever distinguishes each case, without its hosts, test and instances."""
    cases = list(cases)
    varied = _varied_factors(cases)
    words = {case: _qualifiers(case, varied) for case in cases}
    varying = {
        name for name in (words[cases[0]] if cases else ()) if len({words[case][name] for case in cases}) > 1
    }
    groups: dict[tuple[str, int | None], set[tuple[tuple[str, str], ...]]] = {}
    for case in cases:
        groups.setdefault((case.way, case.flow_of), set()).add(case.beside)
    return {
        case: ", ".join(
            [
                text
                for name, (text, default) in words[case].items()
                if text and (name in varying or not default)
            ]
            + ([_beside(case)] if len(groups[case.way, case.flow_of]) > 1 else [])
        )
        for case in cases
    }


def _beside(case: Case) -> str:
    """Which others run at once with a pair of a group: results may have it in several."""
    others = dict.fromkeys(host for way in case.beside for host in way if host not in case.hosts)
    return f"beside {' + '.join(others)}" if others else "beside the other way"


def case_names(cases: Iterable[Case], *, with_test: bool = False) -> dict[Case, str]:
    """Each case's name among all of them: hosts, whatever distinguishes it, and instances."""
    cases = list(cases)
    labels = case_labels(dict.fromkeys(case.single for case in cases))
    return {
        case: f"{f'{test_title(case.test)}, ' if with_test else ''}{labels[case.single]}"
        f"{'' if case.of_users else f', {instances_text(case)}'}"
        for case in cases
    }


def instances_text(case: Case) -> str:
    """``4 instances``, ``20 users``."""
    if not case.of_users:
        return plural(case.instances, "instance")
    return "users" if case.user_count is None else plural(case.user_count, "user")


def count_noun(test: str) -> str:
    """What cases of a test have a number of."""
    return "user" if test == FTP else "instance"


def count_text(case: Case) -> str:
    """How many instances, or users; empty where these are not on record."""
    if not case.of_users:
        return f"{case.instances}"
    return "" if case.user_count is None else f"{case.user_count}"


def end_word(case: Case, role: Role) -> str:
    """What a role is called in a case: of users the receiver is their server, the sender their client."""
    return _OF_USERS[role] if case.of_users else role


def of_ends(text: str, case: Case) -> str:
    """Words about ends of a case, with the names that they have in it."""
    for role in ENDS if case.of_users else ():
        text = text.replace(role, _OF_USERS[role])
    return text


_OF_USERS: dict[Role, str] = {"receiver": "server", "sender": "client"}


def _varied_factors(cases: Iterable[Case]) -> frozenset[str]:
    """The factors with more than one level among cases."""
    levels: dict[str, set[str]] = {}
    for case in cases:
        for name, level in case.factors:
            levels.setdefault(name, set()).add(level)
    return frozenset(name for name, seen in levels.items() if len(seen) > 1)


def test_and_factors(case: Case) -> str:
    """What tells a series of a table apart: ``tcp, kernel 6.9``."""
    return ", ".join([case.test, *(f"{name} {level}" for name, level in case.factors)])


def setting_text(setting: Iterable[tuple[str, str]]) -> str:
    """Levels of factors in few words: ``gro=off mtu=9000``."""
    return " ".join(f"{name}={level}" for name, level in setting)


def _qualifiers(case: Case, varied: Collection[str]) -> dict[str, tuple[str, bool]]:
    """Text of each parameter that may distinguish a case, and whether it is at its default.

    ``varied`` are the factors that distinguish cases.
    """
    varied_factors = [(name, level) for name, level in case.factors if name in varied]
    rate = "full rate" if case.rate_bps is None else f"{format_rate(case.rate_bps)} per instance"
    return {
        "direction": (case.direction, case.direction == "forward"),
        "family": ({"ipv4": "IPv4", "ipv6": "IPv6"}.get(case.family, case.family), case.family == "ipv4"),
        "network": (case.network, case.network == "bare"),
        "streams": (plural(case.streams, "stream"), case.streams == 1),
        "rate_bps": (rate, case.rate_bps is None),
        "load_level": (_level(case.load_level), case.load_level is None),
        "zerocopy": ("", True)
        if "zerocopy" in dict(case.factors)  # said there
        else ("zero-copy" if case.zerocopy else "no zero-copy", not case.zerocopy),
        "factors": (setting_text(varied_factors), not varied_factors),
        "flow_of": ("" if case.flow_of is None else f"of {case.flow_of} at once", case.flow_of is None),
    }


def _level(level: float | None) -> str:
    if level is None:
        return "full load"
    return "active idle" if level == 0 else f"{format_percent(level, 0)} load"


OF_RING = "CPU and watts of a sender are of all that it sent and received"
"""how figures of the ends of a ring are to be read"""


def describe_cases(cases: Iterable[Case], labels: Mapping[Case, str]) -> str:
    """Cases in few words: ``TCP, h1 → h2: 1, 2, 4 instances; UDP 60, h1 → h2: 1 instance``.

    ``labels`` are those of :func:`case_labels`, by the case with one instance.
    """
    counts: dict[Case, set[int]] = {}
    for case in cases:
        counts.setdefault(case.single, set()).add(case.instances)
    return "; ".join(
        f"{test_title(case.test)}, {labels[case]}"
        + ("" if case.of_users else f": {', '.join(map(str, sorted(numbers)))} ")
        + ("" if case.of_users else "instance" if numbers == {1} else "instances")
        for case, numbers in counts.items()
    )


def plural(count: int, noun: str) -> str:
    """``1 instance``, ``4 instances``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def instances_words(case: Case) -> str:
    """``4 instances``, ``4 instances over 2 ports by 3:1``, ``1 instance over 1 of 2 ports``."""
    count = plural(case.instances, "instance")
    if case.data_ports is None:
        return count
    count_used = len(case.ports_used)
    used = "" if count_used == case.data_ports else f"{count_used} of "
    by = f" by {':'.join(map(str, case.port_weights))}" if case.port_weights else ""
    return f"{count} over {used}{plural(case.data_ports, 'port')}{by}"
