# SPDX-License-Identifier: Apache-2.0
"""What hosts are asked while a round runs, and when: never beside its window.

Readings of sensors are means over their interval, so one that closes the window covers some of the tail, and
one that opens it some of omit. Hosts are asked an interval before the window, and after it when the readings
that close it are there; the next round is prepared after those, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from linewatt.campaign import Campaign
from linewatt.engine.live.processes import busiest
from linewatt.engine.live.readback import Difference, ReadBack, read_back
from linewatt.engine.live.session import Session
from linewatt.engine.live.throttling import outside_limits
from linewatt.engine.live.trial import Live
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.engine.undo.settings import Settings
from linewatt.findings import ASKING_S
from linewatt.hosts import now_s
from linewatt.hosts.facts import BOND_PORTS, PAUSE_FRAMES, fact_of_port
from linewatt.hosts.facts import read as facts

LATE_START_S = 0.25
"""A load that takes so long to start has its window as much later: nothing is asked of its hosts before.
Of a short tail it takes a quarter, so that there is time to ask."""
STARTED_S = 0.2
"""after its release a load has all its threads, and can be asked for them"""
CLOSING_LIMIT_S = 4.0
"""A sensor that stays silent so long shows in the result as a reading that is missing."""


class Asking:
    """The questions of one round, from its release on."""

    def __init__(
        self,
        session: Session,
        campaign: Campaign,
        settings: Settings,
        configuration: Configuration,
        lives: Sequence[Live],
    ) -> None:
        self._session = session
        self._settings = settings
        self._configuration = configuration
        self._lives = lives
        released_s = now_s() + session.load.lead_s
        omit_s, tail_s = campaign.omit_s, campaign.tail_s
        names = dict.fromkeys(name for live in lives for name in live.case.hosts)
        feeds = [feed for name in names for feed in session.feeds[name] if feed.essential]
        interval_s = max((feed.interval_s for feed in feeds), default=0.0)
        early_s = omit_s - interval_s - ASKING_S
        self._early_s = None if early_s < STARTED_S else released_s + early_s
        self._past_s = released_s + omit_s + campaign.window_s + min(LATE_START_S, tail_s / 4)
        self._latest_s = released_s + campaign.load_s - min(ASKING_S, tail_s / 4)
        self._feeds = feeds
        self.closed = asyncio.ensure_future(self._close())
        self.answers = asyncio.ensure_future(self._ask())
        """host → what it showed"""

    async def _close(self) -> None:
        """Until every reading that touches the window is there."""
        await _until(self._past_s)
        waits = (feed.heard(self._past_s, feed.interval_s + CLOSING_LIMIT_S) for feed in self._feeds)
        await asyncio.gather(*waits)

    async def _ask(self) -> dict[str, ReadBack]:
        """Host → where its load runs and what is set there, in the tail, and before the window."""
        early: dict[str, ReadBack] = {}
        if self._early_s is not None:
            await _until(self._early_s)
            early = await self._each(ports={})
        await _until(self._past_s)
        await asyncio.wait({self.closed}, timeout=max(0.0, self._latest_s - now_s()))
        readbacks = await self._each(_tcp_ports(self._lives))
        return {
            name: compared(replace(readback, differences=self._differences(name, readback)), early.get(name))
            for name, readback in readbacks.items()
        }

    def _differences(self, name: str, readback: ReadBack) -> tuple[Difference, ...]:
        self._configuration.begin(name, facts.again(self._session.facts[name]))
        return tuple(self._configuration.differences(name, self._settings.of(name), readback.facts))

    async def _each(self, ports: Mapping[str, Sequence[int]]) -> dict[str, ReadBack]:
        pids: dict[str, list[int]] = {}
        for live in self._lives:
            for name, host_pids in live.pids().items():
                pids.setdefault(name, []).extend(pid for pid in host_pids if pid is not None)
        hosts, settings = self._session.hosts, self._settings
        readbacks = await asyncio.gather(
            *(
                read_back(
                    hosts[name],
                    host_pids,
                    settings.of(name),
                    ALL_KNOBS,
                    ports.get(name, ()),
                    self._ours(name, host_pids),
                )
                for name, host_pids in pids.items()
            )
        )
        return dict(zip(pids, readbacks, strict=True))

    def _ours(self, name: str, load: Sequence[int]) -> list[int]:
        """What linewatt runs on a host: its load and its sensors."""
        sensors = (feed.pid for feed in self._session.feeds[name])
        return [*load, *(pid for pid in sensors if pid is not None)]

    async def behind(self) -> dict[str, ReadBack]:
        """What is still to be seen of hosts whose loads have all failed: facts alone, nothing runs there."""
        hosts = self._session.hosts
        names = dict.fromkeys(name for live in self._lives for name in live.case.hosts)
        readbacks = await asyncio.gather(*(read_back(hosts[name], (), (), ALL_KNOBS) for name in names))
        return dict(zip(names, readbacks, strict=True))

    def cancel(self) -> None:
        """The round came to nothing: nobody waits for its readings."""
        self.answers.cancel()
        self.closed.cancel()


def compared(late: ReadBack, early: ReadBack | None) -> ReadBack:
    """The reads of a host with what lies between them, in place of the totals of both."""
    if early is None:
        return replace(late, processes=None, outside=None)
    return replace(
        late,
        before=replace(early, processes=None, outside=None),
        processes=None,
        other_processes=busiest(early.processes, late.processes),
        outside=None,
        outside_limits=outside_limits(early.outside, late.outside),
    )


def _tcp_ports(lives: Iterable[Live]) -> dict[str, list[int]]:
    """Sender → ports of the connections that it sends through."""
    ports: dict[str, list[int]] = {}
    for live in lives:
        if live.case.is_tcp:
            ports.setdefault(live.case.sender, []).extend(
                instance.port for instance in live.planned.instances
            )
    return ports


async def _until(time_s: float) -> None:
    await asyncio.sleep(max(0.0, time_s - now_s()))


Made = tuple[str, str, str]
"""knob, target and text of a setting"""

_NIC = (
    *("mtu", "offload", "rings", "channels", "coalescing", "pause", "ntuple", "netem"),
    *("network", "nmstate", "tuned"),
)
_CHANGES: Mapping[str, tuple[str, ...]] = {
    "cpus_online": ("cpus.", "cpu.", "nic."),
    **dict.fromkeys(_NIC, ("nic.",)),
    **dict.fromkeys(("governor", "turbo", "epp"), ("cpu.",)),
    "rfs": ("sysctl.net.core.rps_sock_flow_entries",),
    "tuned": ("nic.", "cpu.", "sysctl."),
}
"""knob → beginnings of the facts that it can change; ``sysctl`` changes the key that is its target"""
_COUNTS = ("nic.carrier_changes", *(f"nic.{name}" for name in PAUSE_FRAMES))
"""They only go up, also when linewatt resets a link: compared within a trial only."""


class Configuration:
    """What each host's facts were, and when they last were so."""

    def __init__(self) -> None:
        self._start: dict[str, Mapping[str, str]] = {}
        self._first: dict[tuple[str, frozenset[Made], str], str] = {}
        self._as_before_s: dict[tuple[str, str], float] = {}

    def begin(self, host: str, facts: Mapping[str, str]) -> None:
        """What a host showed before anything was changed; another answer is that of a host set up anew."""
        if self._start.get(host, facts) != facts:
            self._first = {key: text for key, text in self._first.items() if key[0] != host}
            self._as_before_s = {key: at_s for key, at_s in self._as_before_s.items() if key[0] != host}
        self._start[host] = facts

    def differences(
        self, host: str, expected_settings: Collection[Made], facts: Mapping[str, str]
    ) -> list[Difference]:
        """Facts that are not as they were and that none of the settings ``expected_settings`` explains."""
        state = frozenset(expected_settings)
        differences: list[Difference] = []
        for fact, text in facts.items():
            if fact_of_port(fact)[0] in _COUNTS or fact.startswith(BOND_PORTS):
                continue
            before = self._before(host, state, fact, text)
            if before is None or before == text:
                self._as_before_s[host, fact] = now_s()
            else:
                differences.append(Difference(fact, before, text, self._as_before_s.get((host, fact))))
        return differences

    def _before(self, host: str, state: frozenset[Made], fact: str, text: str) -> str | None:
        if any(_explains(knob, target, fact) for knob, target, _ in state):
            return self._first.setdefault((host, state, fact), text)
        return self._start.get(host, {}).get(fact)


def _explains(knob: str, target: str, fact: str) -> bool:
    if knob == "sysctl":
        return fact == f"sysctl.{target.replace('/', '.')}"
    return fact_of_port(fact)[0].startswith(_CHANGES.get(knob, ()))
