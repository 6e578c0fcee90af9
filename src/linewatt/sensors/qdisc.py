# SPDX-License-Identifier: Apache-2.0
"""What the queueing disciplines of the data interface dropped, as ``tc -s qdisc`` says it.

One ``tc`` process answers many records: it reads its batch from bash, which writes a line for each, and
flushes after each (checked with iproute2 6.1.0; JSON came with 4.16). It is started anew every 60 records,
for it remembers the number of an interface that may be made anew. Measured on a 2-CPU VM, exact accounting:
0.26 ms of CPU a record, both processes.

The root discipline has the sum of its classes and children. ``ingress`` and ``clsact`` stand beside it and
count what filters dropped. Both are summed here. Where there is none (``noqueue``) all totals are 0, and are
real: nothing is queued, so nothing is dropped there.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from linewatt.errors import ParseError
from linewatt.foreign import read_json
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, PacedConfig, SensorConfig

BITS = 32
"""width of the kernel's own counters (struct gnet_stats_queue), which tc hands on"""
_TOTALS = {"dropped": "drops", "overlimits": "overlimits", "requeues": "requeues"}
_ABSENT = "no tc"
"""what the script says on a host without it"""
_BESIDE = {"ingress", "clsact"}

# $1 interfaces, $2 interval in µs. Of several each has a line of tc's, and all of them are one record.
# With -force tc goes on when the interface is away for a while.
_SCRIPT = (
    PACED
    + r"""
PATH=$PATH:/usr/sbin:/sbin devices=($1) interval_us=$2
ask() {
  for (( record = 0; record < 60; record++ )); do
    printf 'qdisc show dev %s\n' "${devices[@]}" || break
    pause "$interval_us"
  done 2>/dev/null | tc -s -j -force -batch - 2>&1
}
together() {
  local line rest number
  while read -r line; do
    for (( number = 1; number < ${#devices[@]}; number++ )); do read -r rest || return; line+=,$rest; done
    printf '[%s]\n' "$line" || return
  done
}
while ! type -P tc >/dev/null; do
  printf '"no tc"\n' || exit
  pause "$interval_us"
done
while printf '\n'; do  # fails when nobody reads any more
  if (( ${#devices[@]} > 1 )); then ask | together; else ask; fi
done
"""
)


class QdiscConfig(PacedConfig):
    """How often the totals are read."""


class Qdisc(LineSensor):
    """What the queues of the data interface dropped or held back."""

    name: ClassVar[str] = "qdisc"
    Config: ClassVar[type[SensorConfig]] = QdiscConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        interval_us = str(round(cfg.interval_s * 1e6))
        return ["bash", "-c", _SCRIPT, "linewatt-qdisc", " ".join(host.interfaces), interval_us]

    def parse(self, record: str) -> dict[str, float | None]:
        """``qdisc.dropped``, ``qdisc.overlimits``, ``qdisc.requeues``: packets since the discipline was made.

        Raises ParseError with tc's own words.
        """
        try:
            shown = read_json(record, "qdisc")
            if shown == _ABSENT:
                return {}
            if all(isinstance(port, list) for port in shown):  # of several data ports, and of one without any
                shown = [discipline for port in shown for discipline in port]
            counted = [
                discipline for discipline in shown if discipline.get("root") or discipline["kind"] in _BESIDE
            ]
            if not counted:
                raise ParseError("qdisc: tc shows no root discipline")
            return {
                f"qdisc.{name}": float(sum(discipline[key] for discipline in counted) % 2**BITS)
                for name, key in _TOTALS.items()
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ParseError(f"qdisc: tc says {record.strip()[:80]!r}") from error

    def reasons(self, record: str) -> dict[str, str]:
        """Why there are no channels at all."""
        return {"qdisc": "the host has no tc (iproute2)"} if record.strip() == json.dumps(_ABSENT) else {}

    def channel(self, name: str) -> Channel:
        """Raises ParseError for a name that cannot be."""
        if name.removeprefix("qdisc.") not in _TOTALS:
            raise ParseError(f"qdisc delivers no channel {name!r}")
        return Channel(name, "count", "counter", scope="nic:data", bits=BITS)


SENSOR = Qdisc()
