# SPDX-License-Identifier: Apache-2.0
"""Whether a host's configuration is still what it was: facts of each trial against those of the start. Pure.

What settings of linewatt can change is compared with the first trial under the same settings, everything else
with what the host showed when it was connected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from linewatt.engine.live.readback import Difference
from linewatt.hosts.clock import now_s
from linewatt.hosts.fact_parsers import PAUSE_FRAMES

Made = tuple[str, str, str]
"""knob, target and text of a setting"""

_NIC = ("mtu", "offload", "rings", "channels", "coalescing", "pause", "ntuple", "network", "nmstate", "tuned")
_CHANGES: Mapping[str, tuple[str, ...]] = {
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

    def differences(self, host: str, made: Collection[Made], facts: Mapping[str, str]) -> list[Difference]:
        """Facts that are not as they were and that none of the settings ``made`` explains."""
        state = frozenset(made)
        found: list[Difference] = []
        for fact, text in facts.items():
            if fact in _COUNTS:
                continue
            before = self._before(host, state, fact, text)
            if before is None or before == text:
                self._as_before_s[host, fact] = now_s()
            else:
                found.append(Difference(fact, before, text, self._as_before_s.get((host, fact))))
        return found

    def _before(self, host: str, state: frozenset[Made], fact: str, text: str) -> str | None:
        if any(_explains(knob, target, fact) for knob, target, _ in state):
            return self._first.setdefault((host, state, fact), text)
        return self._start.get(host, {}).get(fact)


def _explains(knob: str, target: str, fact: str) -> bool:
    if knob == "sysctl":
        return fact == f"sysctl.{target.replace('/', '.')}"
    return fact.startswith(_CHANGES.get(knob, ()))
