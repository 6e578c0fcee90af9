# SPDX-License-Identifier: Apache-2.0
"""What a campaign's ``factors:`` may name, and which changes a level is on a host. Pure.

A level has one spelling (``check``), by which results compare. Options of loads (zero-copy, window, lengths)
are no factors: they belong to the load.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from linewatt.errors import InvalidInput
from linewatt.foreign import shortened
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import format_cpulist
from linewatt.tuning.base import Change
from linewatt.tuning.commands import HOST_TARGET
from linewatt.tuning.nic.offload import feature_named
from linewatt.tuning.registry import TUNING_KNOBS
from linewatt.tuning.setting_text import choices, near_names
from linewatt.tuning.sysctl import KEEP, key_named

OWN_CPUS = "irq"
"""a level of steering: the host's own ``irq_cpus``"""

_SIZE = re.compile(r"([0-9]{1,12})\s*([kKmMgG]?)(?:i?[bB])?", re.ASCII)
_ALGORITHM = re.compile(r"[a-z][a-z0-9_-]{1,15}")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
MAX_BUFFER_B = 2**31 - 1
"""sizes of socket buffers are signed 32-bit numbers in the kernel"""


@dataclass(frozen=True, slots=True)
class Factor:
    """``check`` gives a level's one spelling, or raises InvalidInput; no host is needed for it.

    ``changes`` are those that make a host show a level in that spelling. It raises InvalidInput where the
    campaign does not say enough of the host, as for ``rps: irq`` without ``irq_cpus``.
    """

    name: str
    about: str
    levels: str
    check: Callable[[str], str]
    changes: Callable[[str, HostSpec], list[Change]]


def factor_named(text: str) -> Factor:
    """One of FACTORS, or ``sysctl.<key>`` or ``offload.<feature>``. Raises InvalidInput with near names."""
    if factor := FACTORS.get(text):
        return factor
    room, dot, name = text.partition(".")
    if dot and room == "sysctl":
        key_named(name)
        return _knob(text, f"kernel parameter {name}", "sysctl", lambda _: name)
    if dot and room == "offload":
        return _feature(text, f"feature {name} of the data interface", feature_named(name))
    names = [*FACTORS, "sysctl.<key>", "offload.<feature>"]
    by_hand = f"for a change by hand write {shortened(text)}: {{label: [A, B]}}; "
    hint = choices(names, text) if near_names(names, text) else f"{by_hand}{choices(names)}"
    raise InvalidInput(f"unknown factor {text!r}; {hint}")


def _change(spec: HostSpec, knob: str, target: str, value: str, factor: str) -> Change:
    return Change(spec.name, knob, target, value, f"level of the factor {factor}")


def _knob(name: str, about: str, knob: str, target_of: Callable[[HostSpec], str]) -> Factor:
    """A factor whose levels are the values of one knob, at the target that a host has of it."""
    chosen = TUNING_KNOBS[knob]

    def changes(level: str, spec: HostSpec) -> list[Change]:
        return [_change(spec, knob, target_of(spec), level, name)]

    return Factor(name, about, chosen.values, chosen.check, changes)


def _feature(name: str, about: str, feature: str) -> Factor:
    return _knob(name, about, "offload", lambda spec: f"{spec.data} {feature}")


def _steering(name: str, about: str, knob: str) -> Factor:
    """CPUs by list, or the host's own ``irq_cpus``."""
    chosen = TUNING_KNOBS[knob]

    def check(level: str) -> str:
        return level if level == OWN_CPUS else chosen.check(level)

    def changes(level: str, spec: HostSpec) -> list[Change]:
        cpus = level
        if level == OWN_CPUS:
            if not spec.irq_cpus:
                raise InvalidInput(f"{name}: {OWN_CPUS} means the irq_cpus of {spec.name}, which names none")
            cpus = format_cpulist(spec.irq_cpus)
        return [_change(spec, knob, spec.data, cpus, name)]

    return Factor(name, about, f"{chosen.values}; `{OWN_CPUS}`: the host's `irq_cpus`", check, changes)


def _rfs_changes(level: str, spec: HostSpec) -> list[Change]:
    flows = "0" if level == "off" else level
    return [
        _change(spec, "sysctl", "net.core.rps_sock_flow_entries", flows, "rfs"),
        _change(spec, "rfs", spec.data, level, "rfs"),
    ]


def _udp_hash_changes(level: str, spec: HostSpec) -> list[Change]:
    return [
        _change(spec, "rx_flow_hash", f"{spec.data} {flow}", level, "udp_hash") for flow in ("udp4", "udp6")
    ]


def _check_word(level: str) -> str:
    if not _ALGORITHM.fullmatch(level):
        raise InvalidInput(f"{level!r} is not a congestion control; write a name like cubic or bbr")
    return level


def _congestion_changes(level: str, spec: HostSpec) -> list[Change]:
    return [_change(spec, "sysctl", "net.ipv4.tcp_congestion_control", level, "congestion_control")]


def _check_size(level: str) -> str:
    match = _SIZE.fullmatch(level)
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if not 4096 <= size <= MAX_BUFFER_B:
        raise InvalidInput(
            f"{level!r} is not a size from 4K to 2 GiB less a byte; write bytes or 256K, 16M, 1G"
        )
    for unit in ("g", "m", "k"):
        if size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit.upper()}"
    return str(size)


def _buffer_changes(level: str, spec: HostSpec) -> list[Change]:
    """What sockets may ask for, and what TCP may grow them to; the rest of the triples stays."""
    match = _SIZE.fullmatch(level)
    size = str(int(match[1]) * _UNITS[match[2].lower()]) if match else level
    largest = dict.fromkeys(("net.core.rmem_max", "net.core.wmem_max"), size)
    grown = dict.fromkeys(("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"), f"{KEEP} {KEEP} {size}")
    return [_change(spec, "sysctl", key, value, "socket_buffers") for key, value in (largest | grown).items()]


_MADE = (
    _feature("tso", "segmentation of TCP by the device", "tso"),
    _feature("gso", "segmentation late in the stack", "gso"),
    _feature("gro", "joining of received packets early in the stack", "gro"),
    _feature("lro", "joining of received packets by the device", "lro"),
    _feature("rx_checksum", "checksums of received packets by the device", "rx"),
    _feature("tx_checksum", "checksums of sent packets by the device; off takes TSO with it", "tx"),
    _feature("udp_gro", "joining of UDP packets that are forwarded", "rx-udp-gro-forwarding"),
    _feature("udp_gro_list", "joining of received packets in a list, UDP too", "rx-gro-list"),
    _feature("udp_gso", "segmentation of UDP by the device", "tx-udp-segmentation"),
    _steering("irq_affinity", "CPUs that take the interrupts of the queues", "irq_affinity"),
    _steering("rps", "CPUs that do the receive work", "rps_cpus"),
    _steering("xps", "CPUs that send through each queue", "xps_cpus"),
    Factor(
        "rfs",
        "flows that follow their reader",
        TUNING_KNOBS["rfs"].values,
        TUNING_KNOBS["rfs"].check,
        _rfs_changes,
    ),
    Factor(
        "udp_hash",
        "fields of UDP packets that choose their receive queue",
        TUNING_KNOBS["rx_flow_hash"].values,
        TUNING_KNOBS["rx_flow_hash"].check,
        _udp_hash_changes,
    ),
    Factor(
        "congestion_control", "how TCP answers loss", "name such as `bbr`", _check_word, _congestion_changes
    ),
    Factor(
        "socket_buffers", "largest socket buffers", "bytes, `256K`, `16M`, `1G`", _check_size, _buffer_changes
    ),
)

_OTHERWISE = {"rps_cpus", "rfs", "ntuple"}
"""knobs of an interface that are no factor under their own name"""

_TARGETS: dict[str, Callable[[HostSpec], str]] = {
    "interface": lambda spec: spec.data,
    f"`{HOST_TARGET}`": lambda _: HOST_TARGET,
}
FACTORS: dict[str, Factor] = {
    knob.name: _knob(knob.name, knob.about, knob.name, _TARGETS[knob.targets])
    for knob in TUNING_KNOBS.values()
    if knob.targets in _TARGETS and knob.name not in _OTHERWISE
} | {factor.name: factor for factor in _MADE}
