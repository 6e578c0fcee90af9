# SPDX-License-Identifier: Apache-2.0
"""One feature that a device can do itself, through ``ethtool -k`` and ``-K``. The target is ``eth0 gro``.

A feature is an abbreviation of ethtool(8) (``tso``) or any name that ``ethtool -k`` shows. Some stand for
several (``tcp-segmentation-offload`` for the indented lines below it). Those are read and written one by one:
``tso off`` and ``tso on`` would leave features on that were off before. What is ``[fixed]`` is left alone.
Formats checked from ethtool 4.8 to 6.7.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command
from linewatt.tuning.setting_text import choices, format_words, parse_words, switch

# $1: interface, $2: feature. What is asked for stands before what ethtool says
_READ = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
type ethtool >/dev/null 2>&1 || { echo "ethtool is not installed there" >&2; exit 127; }
echo "feature: $2"
exec ethtool -k "$1" """

# $1: interface; then feature and state. Nothing to change is no error
_WRITE = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
ethtool -K "$@" && exit
status=$?
echo "a feature that it needs may be off or not there, which ethtool -k $1 shows" >&2
exit $status"""

OFFLOAD_ABBREVIATIONS = {
    "rx": "rx-checksumming",
    "tx": "tx-checksumming",
    "sg": "scatter-gather",
    "tso": "tcp-segmentation-offload",
    "ufo": "udp-fragmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "lro": "large-receive-offload",
    "rxvlan": "rx-vlan-offload",
    "txvlan": "tx-vlan-offload",
    "ntuple": "ntuple-filters",
    "rxhash": "receive-hashing",
}
"""what ethtool abbreviates, as it shows it"""

_SHORT = {name: short for short, name in OFFLOAD_ABBREVIATIONS.items()}
_KERNEL = {
    "rx-checksum": "rx-checksumming",
    "tx-generic-segmentation": "generic-segmentation-offload",
    "rx-gro": "generic-receive-offload",
    "rx-lro": "large-receive-offload",
    "rx-vlan-hw-parse": "rx-vlan-offload",
    "tx-vlan-hw-insert": "tx-vlan-offload",
    "rx-ntuple-filter": "ntuple-filters",
    "rx-hashing": "receive-hashing",
}
"""the kernel's names that ethtool never shows"""

_KEPT = {"tx-tcp-mangleid-segmentation", "tx-checksum-fcoe-crc"}
"""parts that turning the whole on leaves as they are; off, they go with the rest (netdev_fix_features)"""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{1,63}")
_LINE = re.compile(r"(\s*)([A-Za-z][\w.-]*): (on|off)( \[fixed\])?.*")
_FIXED = "[fixed]"


class Offload:
    """The parts of a feature; the canonical text is ``gro=on``, ``tx-tcp-segmentation=on …=off[fixed]``."""

    name = "offload"
    about = "a feature of an interface: TSO, GSO, GRO, LRO, checksums, filters …"
    targets = "interface and feature, such as `eth0 gro`; `ethtool -k` lists them"
    values = "`on`, `off`"
    tool = "ethtool -K"
    order = 110

    def check(self, value: str) -> str:
        return switch(value)

    def read(self, target: str) -> Command:
        return script_command(_READ, *_parts(target))

    def parse(self, output: str) -> str:
        head, _, table = output.partition("\n")
        feature = head.removeprefix("feature: ")
        lines = [match for line in table.splitlines() if (match := _LINE.fullmatch(line))]
        if feature == head or not lines:
            raise ParseError(f"ethtool shows no features in {output[:80]!r}")
        shown = _KERNEL.get(feature, OFFLOAD_ABBREVIATIONS.get(feature, feature))
        rows = [(match[2], match[3] + (match[4] or "").strip(), bool(match[1])) for match in lines]
        names = [name for name, _, _ in rows]
        if shown not in names:
            raise ParseError(
                f"there is no feature {feature!r}; {choices([*OFFLOAD_ABBREVIATIONS, *names], feature)}"
            )
        at = names.index(shown)
        parts = {}
        for name, state, indented in rows[at + 1 :]:
            if not indented or rows[at][2]:
                break
            parts[name] = state
        return format_words(parts or {_SHORT.get(shown, shown): rows[at][1]})

    def wanted(self, before: str, value: str) -> str:
        state, setting = switch(value), parse_words(before)
        free = [part for part, now in setting.items() if not now.endswith(_FIXED)]
        changing = [part for part in free if state == "off" or part not in _KEPT or len(setting) == 1]
        if not changing and any(now != state + _FIXED for now in setting.values()):
            shows = " and ".join(sorted({now.removesuffix(_FIXED) for now in setting.values()}))
            raise ChangeError(
                f"it is fixed: the driver has it {shows} and lets nobody change that; leave it out"
            )
        return format_words(setting | dict.fromkeys(changing, state))

    def write(self, target: str, setting: str) -> Command:
        states = {part: now for part, now in parse_words(setting).items() if not now.endswith(_FIXED)}
        words = (word for pair in states.items() for word in pair)
        return script_command(_WRITE, _parts(target)[0], *words)


def _parts(target: str) -> tuple[str, str]:
    """Interface and feature. Raises ChangeError."""
    device, _, feature = target.partition(" ")
    if not _NAME.fullmatch(feature):
        raise ChangeError(f"{target!r} is not an interface and feature; write it like 'eth0 gro'")
    return checked_interface(device), feature


def feature_named(text: str) -> str:
    """A feature as a target names it. Raises InvalidInput if it can be none."""
    if not _NAME.fullmatch(text):
        raise InvalidInput(f"{text!r} is not a feature of ethtool -K; `ethtool -k` on the host lists them")
    return text


LISTED_KNOB = Offload()
