# SPDX-License-Identifier: Apache-2.0
"""What must be equal on both sides before figures are compared at all. Pure.

Each of these makes two figures look comparable that are not: a difference in one of them refuses the
verdict, by name, so that whoever knows better can allow it. Everything else that differs is shown beside the
verdicts (``differences``).
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.cases.responses import EFFICIENCY, SENDER_EFFICIENCY
from linewatt.analysis.comparison.matching import Match, Side
from linewatt.analysis.soak.job import SoakCode
from linewatt.findings.load import THREADED_FROM
from linewatt.model import Role, Trial
from linewatt.tuning.nic.offload import ABBREVIATIONS

Code = Literal["window", "offloads", "iperf3-threads", "iperf3-options", "payload", "accounting"]
CODES: tuple[Code, ...] = (
    *("window", "offloads", "iperf3-threads", "iperf3-options", "payload", "accounting"),
)
"""what refuses a verdict, and ``--allow`` may name"""
OFFLOADS = (
    "generic-segmentation-offload",
    "tcp-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "rx-gro-hw",
    "rx-gro-list",
)
"""features that decide how large the packets are that a CPU handles"""
_WINDOW_TOLERANCE = 0.05
_PAYLOAD_TOLERANCE = 0.005
_VERSION = re.compile(r"iperf (\d+)\.(\d+)")
_CPU = (EFFICIENCY.name, SENDER_EFFICIENCY.name)
_ROLES: tuple[Role, Role] = ("sender", "receiver")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What refuses a verdict: its name, and what stands on each side. ``responses``: on these only."""

    code: Code | SoakCode
    words: str
    responses: tuple[str, ...] | None = None

    def bars(self, response: str) -> bool:
        """Whether it refuses a verdict on a response."""
        return self.responses is None or response in self.responses


@dataclass(frozen=True, slots=True)
class Ends:
    """A match with its trials that are done, and what is allowed to differ."""

    match: Match
    base: Side
    other: Side
    base_trials: Sequence[Trial]
    other_trials: Sequence[Trial]
    by: str | None
    allowed: Collection[str] = ()


def obstacles(ends: Ends) -> list[Obstacle]:
    """What refuses verdicts on two cases; what is not on record on a side refuses nothing."""
    found = [*_window(ends), *_offloads(ends), *_iperf3(ends), *_payload(ends), *_accounting(ends)]
    return [one for one in found if one.code not in ends.allowed]


def _between(ends: Ends, one: object, two: object) -> str:
    return f"{one} in {ends.base.name}, {two} in {ends.other.name}"


def _window(ends: Ends) -> list[Obstacle]:
    """Seconds as the campaigns say, or as the trials have them where a result was made without one."""
    found = []
    for key, name in (("window_s", "window"), ("omit_s", "warm-up left out")):
        one, two = (side.campaign.get(key) for side in (ends.base, ends.other))
        if isinstance(one, (int, float)) and isinstance(two, (int, float)) and one != two:
            found.append(Obstacle("window", f"{name} of {_between(ends, f'{one:g} s', f'{two:g} s')}"))
    if found:
        return found
    one, two = (_seconds(trials) for trials in (ends.base_trials, ends.other_trials))
    if one and two and abs(one / two - 1) > _WINDOW_TOLERANCE:
        return [Obstacle("window", f"window of {_between(ends, f'{one:.3g} s', f'{two:.3g} s')}")]
    return []


def _seconds(trials: Sequence[Trial]) -> float | None:
    known = [trial.window.seconds for trial in trials if trial.window is not None]
    return statistics.median(known) if known else None


def _offloads(ends: Ends) -> list[Obstacle]:
    """The mode of the data interfaces at both ends, as facts have it or as the trial's settings read."""
    found = []
    for role in _ROLES:
        own, theirs = getattr(ends.match.base, role), getattr(ends.match.other, role)
        one = _features(ends.base, own, role, ends.base_trials)
        two = _features(ends.other, theirs, role, ends.other_trials)
        different = [
            name
            for name in OFFLOADS
            if name in one
            and name in two
            and one[name] != two[name]
            and ends.by not in (name, _SHORT.get(name))
        ]
        if different:
            words = ", ".join(
                f"{_SHORT.get(name, name)} {_between(ends, one[name], two[name])}" for name in different
            )
            found.append(Obstacle("offloads", f"offloads of the {role}: {words}"))
    return found


_SHORT = {name: short for short, name in ABBREVIATIONS.items()}
_SEGMENTATION = "tx-tcp-segmentation"
"""the part of tso that says whether it is on"""


def _features(side: Side, host: str, role: Role, trials: Sequence[Trial]) -> dict[str, str]:
    """Feature → on or off, in ethtool's long names."""
    found = offloads_found(side, host)
    end = getattr(trials[0], role) if trials else None
    for knob, text in (end.settings if end is not None else {}).items():
        if not knob.startswith("offload ") or text is None:
            continue
        feature = knob.rpartition(" ")[2]
        parts = dict(word.split("=", 1) for word in text.split() if "=" in word)
        state = parts.get(_SEGMENTATION) or next(iter(parts.values()), None)
        if state is not None:
            found[ABBREVIATIONS.get(feature, feature)] = _state(state)
    return found


def offloads_found(side: Side, host: str) -> dict[str, str]:
    """Feature → on or off of a host's data interface, as facts have it; empty where they do not."""
    facts = side.fact(host, "nic", "offloads")
    return {name: _state(str(text)) for name, text in facts.items()} if isinstance(facts, dict) else {}


def _state(text: str) -> str:
    return "on" if text.startswith("on") else "off"


def _iperf3(ends: Ends) -> list[Obstacle]:
    """Streams in one thread or in several are different loads; so are options that no case names."""
    found = []
    streams = max(ends.match.base.streams, ends.match.other.streams)
    for role in _ROLES:
        own, theirs = getattr(ends.match.base, role), getattr(ends.match.other, role)
        threads = [threaded(ends.base, [own]), threaded(ends.other, [theirs])]
        if streams > 1 and None not in threads and threads[0] != threads[1]:
            said = ["one thread a stream" if each else "one thread for all" for each in threads]
            words = f"{streams} streams of iperf3 at the {role}: {_between(ends, *said)}"
            found.append(Obstacle("iperf3-threads", words))
    options = [iperf3_options(side) for side in (ends.base, ends.other)]
    if None not in options and options[0] != options[1]:
        said = [" ".join(f"{name}={value}" for name, value in (one or ())) or "none" for one in options]
        found.append(Obstacle("iperf3-options", f"options of iperf3: {_between(ends, *said)}"))
    return found


def threaded(side: Side, hosts: Iterable[str]) -> bool | None:
    """Whether the iperf3 of all hosts has threads; ``None`` where a version is not known or they differ."""
    versions = [iperf3_version(side, host) for host in hosts]
    known = {None if version is None else version >= THREADED_FROM for version in versions}
    return known.pop() if len(known) == 1 else None


def iperf3_version(side: Side, host: str) -> tuple[int, int] | None:
    """Major and minor version of a host's iperf3; ``None`` where it is not known."""
    matched = _VERSION.search(str(side.fact(host, "tools", "iperf3") or ""))
    return None if matched is None else (int(matched[1]), int(matched[2]))


def iperf3_options(side: Side) -> tuple[tuple[str, str], ...] | None:
    """Options of iperf3 that hold for a whole campaign; as a factor they are part of the case."""
    if "window_s" not in side.campaign:
        return None
    settings = side.campaign.get("settings") or {}
    return tuple(sorted((str(k), str(v)) for k, v in settings.items() if str(k).startswith("iperf3.")))


def _payload(ends: Ends) -> list[Obstacle]:
    """Bytes in a datagram, from what the receiver got; a tunnel leaves less room, which is its cost."""
    if ends.match.base.test == "tcp" or ends.by in ("network", "test", "family"):
        return []
    one, two = (_payload_bytes(trials) for trials in (ends.base_trials, ends.other_trials))
    if one is None or two is None or abs(one / two - 1) <= _PAYLOAD_TOLERANCE:
        return []
    return [Obstacle("payload", f"payload of {_between(ends, f'{one:.0f} bytes', f'{two:.0f} bytes')}")]


def _payload_bytes(trials: Sequence[Trial]) -> float | None:
    known = [
        trial.throughput_bps * trial.window.seconds / 8 / (trial.packets - trial.lost_packets)
        for trial in trials
        if trial.throughput_bps
        and trial.window
        and trial.packets is not None
        and trial.lost_packets is not None
        and trial.packets > trial.lost_packets
    ]
    return statistics.median(known) if known else None


def _accounting(ends: Ends) -> list[Obstacle]:
    """CPU time charged by the tick and exact CPU time are two quantities."""
    found = []
    for role, response in zip(_ROLES, (SENDER_EFFICIENCY, EFFICIENCY), strict=True):
        hosts = getattr(ends.match.base, role), getattr(ends.match.other, role)
        one, two = (
            side.fact(host, "kernel", "tick_accounting")
            for side, host in zip((ends.base, ends.other), hosts, strict=True)
        )
        if isinstance(one, bool) and isinstance(two, bool) and one != two:
            said = ("by the tick" if each else "exact" for each in (one, two))
            words = f"CPU accounting of the {role} {_between(ends, *said)}"
            found.append(Obstacle("accounting", words, (response.name,)))
    return found
