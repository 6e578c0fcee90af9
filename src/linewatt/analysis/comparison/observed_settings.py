# SPDX-License-Identifier: Apache-2.0
"""What a host showed while trials ran: its facts, and over them the settings that were read in a trial. Pure.

Facts are read before anything is changed. A setting in a trial replaces the facts that show the same; a
setting that no fact shows is ``setting.<knob>``. Where processes and interrupts ran is left out: their
targets are numbers of CPUs and interrupts, which are others on each host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from linewatt.hosts.facts import FURTHER_NICS
from linewatt.tuning import OFFLOAD_ABBREVIATIONS

SETTING = "setting."
"""beginning of what no fact shows"""
_PLACES = frozenset(
    {
        *("irq_affinity", "interrupts", "rps_cpus", "xps_cpus", "rfs", "ntuple", "cpus_online", "rss"),
        *("irqbalance", "rss_key", "network", "users_folder"),
    }
)
"""knobs that say where work is done, or what a network is; the campaign has both"""
_SEGMENTATION = "tx-tcp-segmentation"
"""the part of tso that says whether it is on"""


def in_force(
    facts: Mapping[str, str], settings: Mapping[str, str | None], interface: str | None
) -> dict[str, str]:
    """Facts of a host as trials had them. ``settings`` are "knob target" → text; ``interface`` carries the
    load."""
    shown = dict(facts)
    for key, text in settings.items():
        knob, _, target = key.partition(" ")
        if text is None or knob in _PLACES:
            continue
        for fact, value in _shown(knob, target, text, interface):
            before = facts.get(fact)
            if before is None or before.split(" ")[0] != value:  # ``off [fixed]`` is off
                shown[fact] = value
    return shown


def offload_shown(target: str, text: str) -> tuple[str, str] | None:
    """The feature by ethtool's long name, and ``on`` or ``off``; None where the text has none."""
    feature = target.rpartition(" ")[2]
    parts = _words(text)
    state = parts.get(_SEGMENTATION) or next(iter(parts.values()), None)
    if state is None:
        return None
    return OFFLOAD_ABBREVIATIONS.get(feature, feature), "on" if state.startswith("on") else "off"


def _shown(knob: str, target: str, text: str, interface: str | None) -> Iterator[tuple[str, str]]:
    """The facts that show a setting, with their texts; without any, the setting itself."""
    if knob == "sysctl":
        yield f"sysctl.{target.replace('/', '.')}", " ".join(text.split())
        return
    if knob == "offload":
        feature = offload_shown(target, text)
        if feature is not None:
            yield f"{_nic(target.partition(' ')[0], interface)}offloads.{feature[0]}", feature[1]
        return
    if knob in _OF_NIC:
        beginning = _nic(target, interface)
        yield from ((beginning + fact, value) for fact, value in _OF_NIC[knob](text))
        return
    if knob in _OF_CPU:
        yield from _OF_CPU[knob](text)
        return
    named_target = target if target not in ("host", interface) and interface is not None else ""
    yield f"{SETTING}{knob}{f' {named_target}' if named_target else ''}", text


def _nic(interface: str, of_load: str | None) -> str:
    return "nic." if of_load in (None, interface) else f"{FURTHER_NICS}.{interface}."


def _words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def _mtu(text: str) -> Iterator[tuple[str, str]]:
    yield "mtu", text.partition("/")[0]


def _table(section: str) -> Callable[[str], Iterator[tuple[str, str]]]:
    """``rx-mini=1024/8192`` as ethtool's row ``rx mini``."""

    def rows(text: str) -> Iterator[tuple[str, str]]:
        for option, numbers in _words(text).items():
            yield f"{section}.{option.replace('-', ' ')}", numbers.partition("/")[0]

    return rows


_ROWS = {"adaptive-rx": "adaptive rx", "adaptive-tx": "tx", "autoneg": "autonegotiate"}
"""options whose rows in ethtool's tables are called otherwise"""


def _options(section: str) -> Callable[[str], Iterator[tuple[str, str]]]:
    def rows(text: str) -> Iterator[tuple[str, str]]:
        for option, value in _words(text).items():
            yield f"{section}.{_ROWS.get(option, option)}", value

    return rows


def _each_cpu(fact: str) -> Callable[[str], Iterator[tuple[str, str]]]:
    """``performance@0-7 powersave@8-15`` as its distinct values."""

    def values(text: str) -> Iterator[tuple[str, str]]:
        yield fact, ", ".join(sorted({word.rpartition("@")[0] or word for word in text.split()}))

    return values


def _turbo(text: str) -> Iterator[tuple[str, str]]:
    file, _, state = text.partition("=")
    yield f"cpu.{file.rpartition('/')[2]}", state


_OF_NIC: Mapping[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "mtu": _mtu,
    "rings": _table("rings"),
    "channels": _table("channels"),
    "coalescing": _options("coalescing"),
    "pause": _options("pause"),
}
_OF_CPU: Mapping[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "governor": _each_cpu("cpu.governor"),
    "epp": _each_cpu("cpu.energy_preference"),
    "turbo": _turbo,
}
