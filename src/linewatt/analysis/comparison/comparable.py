# SPDX-License-Identifier: Apache-2.0
"""What must be equal on both sides before figures are compared at all. Pure.

Each of these makes two figures look comparable that are not: a difference in one of them refuses the
verdict, by name, so that whoever knows better can allow it. Everything else that differs is shown beside the
verdicts (``differences``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linewatt.analysis.cases.responses import EFFICIENCY, SENDER_EFFICIENCY
from linewatt.analysis.comparison.case_runs import CaseRuns
from linewatt.analysis.comparison.observed_settings import offload_shown
from linewatt.analysis.comparison.side import Obstacle, Side
from linewatt.errors import ParseError
from linewatt.loads import LOADS, Load, Version, load_of
from linewatt.model import Case, Role
from linewatt.tuning import OFFLOAD_ABBREVIATIONS

LOAD_CODES: tuple[str, ...] = tuple(
    code
    for name, load in LOADS.items()
    for code in (
        *([f"{name}-threads"] if load.threaded_from else ()),
        *([f"{name}-options"] if load.options else ()),
    )
)
"""what of a load may differ, each by the name of the load"""
ALLOWED_CODES: tuple[str, ...] = ("window", "offloads", *LOAD_CODES, "payload", "accounting")
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
_ROLES: tuple[Role, Role] = ("sender", "receiver")
EFFICIENCY_OF: dict[Role, str] = {"sender": SENDER_EFFICIENCY.name, "receiver": EFFICIENCY.name}
Sides = tuple[Side, Side]
Text = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Ends:
    """Two cases with their runs, and what is allowed to differ."""

    base: Side
    other: Side
    own: CaseRuns
    theirs: CaseRuns
    by: str | None
    allowed: Collection[str] = ()
    compared: tuple[str, str] | None = None
    """the two hosts that the comparison is about; None: all that take part, if it is about hosts"""

    def by_of(self, hosts: tuple[str, str]) -> str | None:
        """What two hosts of which one stands for the other are expected to differ in."""
        return self.by if self.compared in (None, hosts) else None

    @property
    def case(self) -> Case:
        return self.own.case

    @property
    def other_case(self) -> Case:
        return self.theirs.case

    @property
    def sides(self) -> Sides:
        return self.base, self.other

    def hosts(self, role: Role) -> tuple[tuple[str, str], ...]:
        """Each that has a role, with that which stands for it; both ways, both have both."""
        pairs = zip(self.case.pairs, self.other_case.pairs, strict=False)
        return tuple(
            dict.fromkeys((base_pair.host(role), other_pair.host(role)) for base_pair, other_pair in pairs)
        )

    def words(self, role: Role, hosts: tuple[str, str]) -> str:
        """What has a role: where several do, which of them."""
        return f"{role} {' / '.join(dict.fromkeys(hosts))}" if self.case.flows else role


def obstacles(ends: Ends) -> list[Obstacle]:
    """What refuses verdicts on two cases; what is not on record on a side refuses nothing."""
    all_obstacles = [*_window(ends), *_offloads(ends), *_load(ends), *_payload(ends), *_accounting(ends)]
    return [obstacle for obstacle in all_obstacles if obstacle.code not in ends.allowed]


def text_of_sides(sides: Sides, base_value: object, other_value: object, text: Text = str) -> str:
    """What stands on each side."""
    return f"{text(base_value)} in {sides[0].name}, {text(other_value)} in {sides[1].name}"


def _window(ends: Ends) -> list[Obstacle]:
    """Seconds as the campaigns say, or as the trials have them where a result was made without one."""
    differing = []
    for key, name in (("window_s", "window"), ("omit_s", "warm-up left out")):
        base_s, other_s = (getattr(side.campaign, key) for side in ends.sides)
        if base_s is not None and other_s is not None and base_s != other_s:
            words = text_of_sides(ends.sides, f"{base_s:g} s", f"{other_s:g} s")
            differing.append(Obstacle("window", f"{name} of {words}"))
    if not differing and not _have_alike_windows(ends.own, ends.theirs):
        words = text_of_sides(ends.sides, f"{ends.own.window_s:.3g} s", f"{ends.theirs.window_s:.3g} s")
        differing.append(Obstacle("window", f"window of {words}"))
    return differing


def alike_runs(base_runs: CaseRuns, other_runs: CaseRuns) -> bool:
    """Whether nothing that the runs themselves have refuses a verdict."""
    return _have_alike_windows(base_runs, other_runs) and _have_alike_payloads(base_runs, other_runs)


def _have_alike_windows(base_runs: CaseRuns, other_runs: CaseRuns) -> bool:
    return _are_alike(base_runs.window_s, other_runs.window_s, _WINDOW_TOLERANCE)


def _have_alike_payloads(base_runs: CaseRuns, other_runs: CaseRuns) -> bool:
    return _are_alike(base_runs.payload_bytes, other_runs.payload_bytes, _PAYLOAD_TOLERANCE)


def _are_alike(base_value: float | None, other_value: float | None, tolerance_ratio: float) -> bool:
    """Also where one is not known."""
    return not base_value or not other_value or abs(base_value / other_value - 1) <= tolerance_ratio


def _offloads(ends: Ends) -> list[Obstacle]:
    """The mode of the data interfaces at both ends, as facts have it or as the trial's settings read."""
    differing = []
    for role, (base_host, other_host) in hosts_by_role(ends):
        base_features = _features(ends.base, base_host, ends.own)
        other_features = _features(ends.other, other_host, ends.theirs)
        feature_names = [name for name in OFFLOADS if ends.by not in (name, SHORT.get(name))]
        words = offloads_differ(ends.sides, base_features, other_features, feature_names)
        if words:
            of = ends.words(role, (base_host, other_host))
            differing.append(Obstacle("offloads", f"offloads of the {of}: {', '.join(words)}"))
    return differing


def hosts_by_role(ends: Ends) -> Iterator[tuple[Role, tuple[str, str]]]:
    """Hosts of both sides that stand for each other, role by role."""
    return ((role, hosts) for role in _ROLES for hosts in ends.hosts(role))


def offloads_differ(
    sides: Sides,
    base_features: Mapping[str, str],
    other_features: Mapping[str, str],
    feature_names: Iterable[str] = OFFLOADS,
) -> list[str]:
    """Each feature that is on record on both sides and differs."""
    return [
        f"{SHORT.get(name, name)} {text_of_sides(sides, base_features[name], other_features[name])}"
        for name in feature_names
        if name in base_features and name in other_features and base_features[name] != other_features[name]
    ]


SHORT = {name: short for short, name in OFFLOAD_ABBREVIATIONS.items()}


def _features(side: Side, host: str, runs: CaseRuns) -> dict[str, str]:
    """Feature → on or off, in ethtool's long names."""
    state_by_feature = offloads_found(side, host)
    for knob, text in runs.settings.get(host, {}).items():
        if not knob.startswith("offload ") or text is None:
            continue
        shown = offload_shown(knob, text)
        if shown is not None:
            state_by_feature[shown[0]] = shown[1]
    return state_by_feature


def offloads_found(side: Side, host: str) -> dict[str, str]:
    """Feature → on or off of a host's data interface, as facts have it; empty where they do not."""
    facts = side.fact(host, "nic", "offloads")
    return {name: _state(str(text)) for name, text in facts.items()} if isinstance(facts, dict) else {}


def _state(text: str) -> str:
    return "on" if text.startswith("on") else "off"


def _load(ends: Ends) -> list[Obstacle]:
    """Streams in one thread or in several are different loads; so are options that no case names."""
    thread_obstacles, load = [], load_of(ends.case.load)
    streams = max(ends.case.streams, ends.other_case.streams)
    for role, (base_host, other_host) in hosts_by_role(ends):
        threads = [threaded(ends.base, [base_host], load), threaded(ends.other, [other_host], load)]
        if streams > 1 and None not in threads and threads[0] != threads[1]:
            words = f"{streams} streams of {load.name} at the {ends.words(role, (base_host, other_host))}: "
            thread_obstacles.append(
                Obstacle(
                    f"{load.name}-threads",
                    words + text_of_sides(ends.sides, threads[0], threads[1], threads_text),
                )
            )
    return [*thread_obstacles, *options_differ(ends.sides, load)]


def threads_text(threaded: bool) -> str:
    return "one thread a stream" if threaded else "one thread for all"


def options_differ(sides: Sides, load: Load) -> list[Obstacle]:
    """Options of a load that differ and that no case names."""
    base_options, other_options = (load_options(side, load) for side in sides)
    if base_options is None or other_options is None or base_options == other_options:
        return []
    return [
        Obstacle(
            f"{load.name}-options",
            f"options of {load.name}: {text_of_sides(sides, base_options, other_options, _options_text)}",
        )
    ]


def _options_text(options: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{name}={value}" for name, value in options) or "none"


def threaded(side: Side, hosts: Iterable[str], load: Load) -> bool | None:
    """Whether a load has threads on all hosts; ``None`` where a version is not known or they differ."""
    if load.threaded_from is None:
        return None
    versions = [load_version(side, host, load) for host in hosts]
    answers = {None if version is None else version >= load.threaded_from for version in versions}
    return answers.pop() if len(answers) == 1 else None


def load_version(side: Side, host: str, load: Load) -> Version | None:
    """Major and minor version of a host's load; ``None`` where it is not known."""
    try:
        return load.parse_version(str(side.fact(host, "tools", load.name) or ""))[:2]
    except ParseError:
        return None


def load_options(side: Side, load: Load) -> tuple[tuple[str, str], ...] | None:
    """Options of a load that hold for a whole campaign; as a factor they are part of the case."""
    if side.campaign.window_s is None and "settings" not in side.campaign.written:
        return None
    options = side.campaign.settings.items()
    return tuple(sorted((name, str(value)) for name, value in options if name.startswith(f"{load.name}.")))


def _payload(ends: Ends) -> list[Obstacle]:
    """Bytes in a datagram, from what the receiver got; a tunnel leaves less room, which is its cost."""
    is_free = ends.case.is_tcp or ends.by in ("network", "test", "family")
    if is_free or _have_alike_payloads(ends.own, ends.theirs):
        return []
    base_text, other_text = (f"{runs.payload_bytes:.0f} bytes" for runs in (ends.own, ends.theirs))
    return [Obstacle("payload", f"payload of {text_of_sides(ends.sides, base_text, other_text)}")]


def _accounting(ends: Ends) -> list[Obstacle]:
    """CPU time charged by the tick and exact CPU time are two quantities."""
    differing = []
    for role, hosts in hosts_by_role(ends):
        words = accounting_differs(ends.sides, hosts)
        if words and (hosts[0], role) in ends.case.ends:
            of, response = ends.words(role, hosts), EFFICIENCY_OF[role]
            differing.append(Obstacle("accounting", f"CPU accounting of the {of} {words}", (response,)))
    return differing


def accounting_differs(sides: Sides, hosts: tuple[str, str]) -> str:
    """How CPU time is charged on either host, where that differs; else empty."""
    base_accounting, other_accounting = (
        side.fact(host, "kernel", "tick_accounting") for side, host in zip(sides, hosts, strict=True)
    )
    is_recorded = isinstance(base_accounting, bool) and isinstance(other_accounting, bool)
    return (
        text_of_sides(sides, base_accounting, other_accounting, _accounting_text)
        if is_recorded and base_accounting != other_accounting
        else ""
    )


def _accounting_text(by_tick: bool) -> str:
    return "by the tick" if by_tick else "exact"
