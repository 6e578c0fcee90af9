# SPDX-License-Identifier: Apache-2.0
"""What changed at data interfaces, as the kernel gives notice of it (``ip monitor link``, ``tc monitor``).

A setting that is changed and put back within a window leaves nothing to read afterwards; the kernel sends a
notice of either: of features (offloads), MTU, state and carrier (rtnetlink(7), RTM_NEWLINK) and of queueing
disciplines (RTM_NEWQDISC). So it does of the other ports of a bond that an interface is, or is a port of. The
tools sleep until there is one. Shape of a record, one line:
``linewatt-link 1 BEGIN|count N|news LINE|news LINE|end END``, N counted since the sensor began. Checked with
iproute2 6.1.0. Measured on a 2-CPU VM: 0.3 ms of CPU a record.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, PacedConfig, SensorConfig

CHANGES = "link.changes"
_RECORD = re.compile(r"linewatt-link 1 \d+\|count (\d+)((?:\|news [^|]*)*)\|end \d+")
_PORT = re.compile(r"^\d+: ([^:@]+)[:@].*?[<,]SLAVE[,>].*? master (\S+)")
_MOST = 20
"""lines of one record that are kept; all are counted"""

# $1 interfaces, $2 interval in µs
_SCRIPT = f"""devices=$1 interval_us=$2 count=0 PATH=$PATH:/usr/sbin:/sbin
{PACED}
exec {{news}}< <(
  trap 'kill $(jobs -p) 2>/dev/null' EXIT
  tc monitor 2>/dev/null &
  ip -o monitor link 2>&1 &
  wait "$!")
trap 'kill "$!" 2>/dev/null' EXIT
while :; do
  record="linewatt-link 1 $next_us" said= kept=0 gone=
  while read -r -t 0 -u "$news"; do
    read -r -u "$news" line || {{ gone=1; break; }}
    meant=
    bond=${{line##*,SLAVE*> * master }} bond=${{bond%% *}}
    for device in $devices; do
      [[ $line == *": $device"[@:]* || $line == *" dev $device "* || $bond == "$device" ]] ||
        [[ $bond && /sys/class/net/$device/master -ef /sys/class/net/$bond ]] || continue
      meant=1
      break
    done
    [[ $meant ]] || {{ last=$line; continue; }}
    (( ++count, ++kept <= {_MOST} )) && said+="|news ${{line//|/ }}"
  done
  record+="|count $count$said${{gone:+|gone $last}}"
  emit
  [[ ! $gone ]] || exit 1  # nothing more comes: whoever reads this may start it again
done
"""


class LinkConfig(PacedConfig):
    """How often notices are handed on."""


class Link(LineSensor):
    """Notices of changes at the data interface."""

    name: ClassVar[str] = "link"
    Config: ClassVar[type[SensorConfig]] = LinkConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return [
            "bash",
            "-c",
            _SCRIPT,
            "linewatt-link",
            " ".join(host.interfaces),
            str(round(cfg.interval_s * 1e6)),
        ]

    def parse(self, record: str) -> dict[str, float | None]:
        """``link.changes``: notices since the sensor began. Raises ParseError."""
        match = _RECORD.fullmatch(record.strip())
        if match is None:
            raise ParseError(f"link: ip monitor says {record.strip()[-80:]!r}")
        return {CHANGES: float(match[1])}

    def reasons(self, record: str) -> dict[str, str]:
        """None: a record has its channel or is none."""
        return {}

    def channel(self, name: str) -> Channel:
        """Raises ParseError for a name that cannot be."""
        if name != CHANGES:
            raise ParseError(f"link delivers no channel {name!r}")
        return Channel(name, "count", "counter", scope="nic:data")


def link_news(record: str) -> list[str]:
    """What a record says that changed, in short: ``FEATURE CHANGE (mtu 1500, state UP)``."""
    match = _RECORD.fullmatch(record.strip())
    lines = match[2].split("|news ")[1:] if match else []
    return [_brief(line) for line in lines]


def _brief(line: str) -> str:
    """A notice of a link by its event, MTU and state; one of a queueing discipline without its handle."""
    mtu, state = re.search(r" mtu (\d+)", line), re.search(r" state (\S+)", line)
    if mtu is None or state is None:
        return " ".join(re.sub(r"\brefcnt \d+|\b[0-9a-f]+:(?=\s)", "", line).split())
    event, port = re.search(r" event (.+?)\s*\\", line), _PORT.search(line)
    shown = f"mtu {mtu[1]}, state {state[1]}"
    if event is not None:
        shown = f"{event[1]} ({shown})"
    return shown if port is None else f"{port[1]} of {port[2]}: {shown}"


SENSOR = Link()
