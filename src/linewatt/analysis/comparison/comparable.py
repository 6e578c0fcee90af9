# SPDX-License-Identifier: Apache-2.0
"""What must be equal on both sides before figures are compared at all. Pure.

Each of these makes two figures look comparable that are not: a difference in one of them refuses the
verdict, by name, so that whoever knows better can allow it. Everything else that differs is shown beside the
verdicts (``differences``).
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.responses import EFFICIENCY, SENDER_EFFICIENCY
from linewatt.analysis.comparison.matching import Match, Side
from linewatt.errors import ParseError
from linewatt.loads.base import Load, Version
from linewatt.loads.registry import DEFAULT, LOADS
from linewatt.model import Role, Trial
from linewatt.tuning.nic.offload import ABBREVIATIONS

LOAD_CODES: tuple[str, ...] = tuple(
    code
    for name, load in LOADS.items()
    for code in (
        *([f"{name}-threads"] if load.threaded_from else ()),
        *([f"{name}-options"] if load.options else ()),
    )
)
"""what of a load may differ, each by the name of the load"""
CODES: tuple[str, ...] = ("window", "offloads", *LOAD_CODES, "payload", "accounting")
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
_CPU = (EFFICIENCY.name, SENDER_EFFICIENCY.name)
_ROLES: tuple[Role, Role] = ("sender", "receiver")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What refuses a verdict: its name, and what stands on each side. ``responses``: on these only."""

    code: str
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
    found = [*_window(ends), *_offloads(ends), *_load(ends), *_payload(ends), *_accounting(ends)]
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


def _load(ends: Ends) -> list[Obstacle]:
    """Streams in one thread or in several are different loads; so are options that no case names."""
    found, load = [], LOADS[ends.match.base.load or DEFAULT]
    streams = max(ends.match.base.streams, ends.match.other.streams)
    for role in _ROLES:
        own, theirs = getattr(ends.match.base, role), getattr(ends.match.other, role)
        threads = [threaded(ends.base, [own], load), threaded(ends.other, [theirs], load)]
        if streams > 1 and None not in threads and threads[0] != threads[1]:
            said = ["one thread a stream" if each else "one thread for all" for each in threads]
            words = f"{streams} streams of {load.name} at the {role}: {_between(ends, *said)}"
            found.append(Obstacle(f"{load.name}-threads", words))
    options = [load_options(side, load) for side in (ends.base, ends.other)]
    if None not in options and options[0] != options[1]:
        said = [" ".join(f"{name}={value}" for name, value in (one or ())) or "none" for one in options]
        found.append(Obstacle(f"{load.name}-options", f"options of {load.name}: {_between(ends, *said)}"))
    return found


def threaded(side: Side, hosts: Iterable[str], load: Load) -> bool | None:
    """Whether a load has threads on all hosts; ``None`` where a version is not known or they differ."""
    if load.threaded_from is None:
        return None
    versions = [load_version(side, host, load) for host in hosts]
    known = {None if version is None else version >= load.threaded_from for version in versions}
    return known.pop() if len(known) == 1 else None


def load_version(side: Side, host: str, load: Load) -> Version | None:
    """Major and minor version of a host's load; ``None`` where it is not known."""
    try:
        return load.parse_version(str(side.fact(host, "tools", load.name) or ""))[:2]
    except ParseError:
        return None


def load_options(side: Side, load: Load) -> tuple[tuple[str, str], ...] | None:
    """Options of a load that hold for a whole campaign; as a factor they are part of the case."""
    if "window_s" not in side.campaign:
        return None
    settings = side.campaign.get("settings") or {}
    return tuple(sorted((str(k), str(v)) for k, v in settings.items() if str(k).startswith(f"{load.name}.")))


def _payload(ends: Ends) -> list[Obstacle]:
    """Bytes in a datagram, from what the receiver got; a tunnel leaves less room, which is its cost."""
    if ends.match.base.is_tcp or ends.by in ("network", "test", "family"):
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
