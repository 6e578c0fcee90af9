# SPDX-License-Identifier: Apache-2.0
"""Rules that send a port's packets to a receive queue, through ``ethtool -n`` and ``-N``.

A value is a list of rules ``tcp4:5201=2``: protocol, destination port, queue. Rules of any other form that
somebody made are shown as ``other@<id>`` and never touched. An id is chosen here, the lowest that is free,
so that the same rule can be recognised and taken away again. Some drivers need the feature ``ntuple`` on, and
drop every rule when it goes off. Formats checked from ethtool 4.8 to 6.7; drivers indent or not.
"""

from __future__ import annotations

import re

from linewatt.errors import InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command, tool_command

# $1: interface, $2: ids to keep, with commas around; then rules "PROTOCOL PORT QUEUE ID"
_WRITE = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
net=$1 keep=$2; shift 2
ethtool -n "$net" | while read -r word id; do
  [ "$word" = Filter: ] || continue
  case $keep in *,"$id",*) ;; *) ethtool -N "$net" delete "$id" || exit 1 ;; esac
done || exit 1
for rule; do
  read -r protocol port queue id <<<"$rule"
  ethtool -N "$net" flow-type "$protocol" dst-port "$port" action "$queue" loc "$id" || exit 1
done"""

_PROTOCOLS = {
    "TCP over IPv4": "tcp4",
    "UDP over IPv4": "udp4",
    "TCP over IPv6": "tcp6",
    "UDP over IPv6": "udp6",
}
_RULE = re.compile(r"(tcp4|udp4|tcp6|udp6):(\d{1,5})=(\d{1,4})", re.ASCII)
_SETTING = re.compile(r"(?:(tcp4|udp4|tcp6|udp6):(\d+)=(\d+)|other)@(\d+)", re.ASCII)
_COUNT = re.compile(r"^Total (\d+) rules", re.MULTILINE)
_FILTER = re.compile(r"^\s*Filter: (\d+)\s*$", re.MULTILINE)
_ANY = re.compile(
    r"(?:Src|Dest) IP addr: \S+ mask: (?:255\.255\.255\.255|(?:ffff:?){8})"
    r"|Src port: \d+ mask: 0xffff"
    r"|(?:TOS|Traffic Class): \S+ mask: 0xff"
    r"|VLAN(?: EtherType)?: \S+ mask: 0xffff"
    r"|User-defined: \S+ mask: 0xffffffffffffffff"
)
"""lines of a rule that match everything: the masks are of the bits that do not count"""
NONE = "none"

Rules = dict[int, tuple[str, int, int] | None]
"""id → protocol, port and queue; None for a rule of another form"""


class Ntuple:
    """The canonical text is ``tcp4:5201=2@0 other@1023``, by id; ``none`` without rules."""

    name = "ntuple"
    about = "rules that send a port's packets to a receive queue"
    targets = "interface"
    values = "rules `tcp4:5201=2 udp4:5201=3` (protocol, port, queue), in place of those of this form; `none`"
    tool = "ethtool -N"
    order = 170

    def check(self, value: str) -> str:
        return (
            " ".join(f"{way}:{port}={queue}" for (way, port), queue in sorted(_parse_rules(value).items()))
            or NONE
        )

    def read(self, target: str) -> Command:
        return tool_command("ethtool", "-n", checked_interface(target))

    def parse(self, output: str) -> str:
        total = _COUNT.search(output)
        if total is None:
            raise ParseError(f"ethtool shows no rules in {output[:80]!r}")
        heads = list(_FILTER.finditer(output))
        if len(heads) != int(total[1]):
            raise ParseError(f"ethtool shows {len(heads)} of {total[1]} rules; the output is cut off")
        ends = [*(head.start() for head in heads[1:]), len(output)][: len(heads)]
        return _text(
            {int(head[1]): _rule(output[head.end() : end]) for head, end in zip(heads, ends, strict=True)}
        )

    def wanted(self, before: str, value: str) -> str:
        now, queue_by_port = _rules(before), _parse_rules(value)
        rules = {
            number: rule
            for number, rule in now.items()
            if rule is None or queue_by_port.get(rule[:2]) == rule[2]
        }
        present = {rule[:2] for rule in rules.values() if rule is not None}
        free = (number for number in range(len(now) + len(queue_by_port)) if number not in rules)
        for (way, port), queue in sorted(queue_by_port.items()):
            if (way, port) not in present:
                rules[next(free)] = (way, port, queue)
        return _text(rules)

    def write(self, target: str, setting: str) -> Command:
        rules = _rules(setting)
        keep = "".join(f",{number}" for number, rule in rules.items() if rule is None) + ","
        lines = [
            f"{rule[0]} {rule[1]} {rule[2]} {number}" for number, rule in rules.items() if rule is not None
        ]
        return script_command(_WRITE, checked_interface(target), keep, *lines)


def _rule(text: str) -> tuple[str, int, int] | None:
    """One rule of ``ethtool -n``; None if anything but protocol and destination port decides."""
    fields: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if match := re.fullmatch(r"Rule Type: (.+)", line):
            fields["way"] = _PROTOCOLS.get(match[1], "")
        elif match := re.fullmatch(r"Dest port: (\d+) mask: 0x0", line):
            fields["port"] = match[1]
        elif match := re.fullmatch(r"Action: Direct to queue (\d+)", line):
            fields["queue"] = match[1]
        elif not _ANY.fullmatch(line):
            return None
    if not fields.get("way") or not {"port", "queue"} <= fields.keys():
        return None
    return fields["way"], int(fields["port"]), int(fields["queue"])


def _parse_rules(value: str) -> dict[tuple[str, int], int]:
    """Protocol and port → queue. Raises InvalidInput."""
    queue_by_port: dict[tuple[str, int], int] = {}
    for word in [] if value.strip() == NONE else re.split(r"[\s,]+", value.strip()):
        match = _RULE.fullmatch(word)
        if match is None or not 1 <= int(match[2]) <= 65_535:
            raise InvalidInput(f"{word!r} is not a rule; write protocol, port and queue like tcp4:5201=2")
        if (match[1], int(match[2])) in queue_by_port:
            raise InvalidInput(f"{word!r}: this port has a rule already")
        queue_by_port[match[1], int(match[2])] = int(match[3])
    return queue_by_port


def _rules(setting: str) -> Rules:
    """Canonical text as values. Raises ParseError."""
    rules: Rules = {}
    for word in [] if setting == NONE else setting.split():
        match = _SETTING.fullmatch(word)
        if match is None:
            raise ParseError(f"{word!r} is not a rule with its id, such as tcp4:5201=2@0")
        rules[int(match[4])] = (match[1], int(match[2]), int(match[3])) if match[1] else None
    return rules


def _text(rules: Rules) -> str:
    words = []
    for number, rule in sorted(rules.items()):
        words.append(f"{f'{rule[0]}:{rule[1]}={rule[2]}' if rule else 'other'}@{number}")
    return " ".join(words) or NONE


LISTED_KNOB = Ntuple()
