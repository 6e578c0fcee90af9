# SPDX-License-Identifier: Apache-2.0
"""Watts worked out from CPU use and a model that the user states: not measured, and never shown as measured.

One bash process reads /proc/stat with builtins only and prints what its CPUs counted since the record before,
one line a record. Measured on a 2-CPU VM, exact accounting, CPU time a record: 0.5 ms for all CPUs of a host,
2.3 ms where 64 are named.

Busy is user, nice, system, irq and softirq time; idle, waiting for I/O and stolen time are not. The model is

- ``idle_w + (max_w - idle_w) · busy^exponent``, busy 0..1 of all its CPUs. At part load servers draw more
  than the straight line between says (Fan, Weber, Barroso: "Power provisioning for a warehouse-sized
  computer", ISCA 2007), so exponents are mostly below 1; or
- ``points``: watts at percentages of busy, straight lines between, as SPECpower_ssj2008 reports list them.

It knows nothing of frequencies, fans, NICs or what the CPUs compute. Where the kernel charges CPU time by the
tick it inherits that error (see mpstat in docs/sensors.md).
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.missing import Missing
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor
from linewatt.sensors.power.base import PowerConfig, as_configured

MARK = "linewatt-estimate"

# $1 root of the file system, $2 interval in µs, then the CPUs (none: all that the host shows)
_SCRIPT = (
    PACED
    + r"""
root=$1 interval_us=$2; shift 2
declare -A wanted=()
for cpu; do wanted[cpu$cpu]=1; done
(( $# )) || wanted[cpu]=1

count() {  # sums over the wanted CPUs, and which of them were there
  local cpu user nice system idle iowait irq softirq steal _ left=${#wanted[@]}
  busy=0 total=0 there=
  while read -r cpu user nice system idle iowait irq softirq steal _; do
    case $cpu in cpu*) ;; *) break;; esac
    [[ ${wanted[$cpu]} ]] || continue
    there+=" $cpu"
    busy=$(( busy + user + nice + system + irq + softirq ))
    total=$(( total + user + nice + system + irq + softirq + idle + iowait + steal ))
    (( --left )) || break
  done <"$root/proc/stat"
} 2>/dev/null

count; was_busy=$busy was_total=$total were_there=$there
pause $(( interval_us < 1000000 ? interval_us : 1000000 ))
while :; do
  now; record="linewatt-estimate 1 $now_us|"
  count
  if [[ ! $there ]]; then record+=missing
  elif [[ $there != "$were_there" ]]; then record+=changed
  else record+="$(( busy - was_busy )) $(( total - was_total ))"; fi
  was_busy=$busy was_total=$total were_there=$there
  emit
done
"""
)

_RECORD = re.compile(rf"{MARK} 1 \d+\|(missing|changed|(-?\d{{1,18}}) (-?\d{{1,18}}))\|end \d+", re.ASCII)
_WHY = {
    "missing": "its CPUs are not in /proc/stat; are they online?",
    "changed": "CPUs came or went since the reading before",
}


class EstimateConfig(PowerConfig):
    """A model of power over CPU use: two watts and an exponent, or points."""

    scope: Literal["system", "cpu"] = Field(
        default="system", description="What the model is of: `system` or `cpu`."
    )
    idle_w: float | None = Field(
        default=None, ge=0, le=1e5, description="Watts at no CPU use; with `max_w`, in place of `points`."
    )
    max_w: float | None = Field(default=None, ge=0, le=1e5, description="Watts with all CPUs busy.")
    exponent: float = Field(
        default=1.0, gt=0, le=10, description="Bend of the line between them; 1 is straight."
    )
    points: list[list[float]] | None = Field(
        default=None,
        description="Percent busy and watts, `[[0, 60], [50, 140], [100, 220]]`, in place of the others.",
    )

    @model_validator(mode="after")
    def _one_model(self) -> EstimateConfig:
        two = (self.idle_w, self.max_w)
        if self.points is not None:
            if two != (None, None) or "exponent" in self.model_fields_set:
                raise ValueError("points stand alone; leave out idle_w, max_w and exponent")
            _check_points(self.points)
        elif self.idle_w is None or self.max_w is None:
            raise ValueError("needs idle_w and max_w, or points")
        elif self.idle_w > self.max_w:
            raise ValueError(f"idle_w, {self.idle_w:g} W, must not be more than max_w, {self.max_w:g} W")
        return self

    def power_w(self, busy_ratio: float) -> float:
        """Watts at a CPU use of 0..1."""
        if self.points is not None:
            return _between(self.points, 100 * busy_ratio)
        low_w, high_w = self.idle_w or 0.0, self.max_w or 0.0
        return low_w + (high_w - low_w) * math.pow(busy_ratio, self.exponent)


def _check_points(points: list[list[float]]) -> None:
    if len(points) < 2 or any(len(point) != 2 for point in points):
        raise ValueError("points must be two or more pairs of percent and watts")
    if points[0][0] != 0 or points[-1][0] != 100:
        raise ValueError("points must begin at 0 and end at 100 percent")
    for (before, low_w), (after, high_w) in pairwise(points):
        if before >= after or not 0 <= low_w <= high_w <= 1e5:
            pair = f"[{before:g}, {low_w:g}], [{after:g}, {high_w:g}]"
            raise ValueError(f"points must rise in percent and not fall in watts, got {pair}")


def _between(points: list[list[float]], percent: float) -> float:
    for (before, low_w), (after, high_w) in pairwise(points):
        if percent <= after:
            return low_w + (high_w - low_w) * (percent - before) / (after - before)
    return points[-1][1]


class Estimate(LineSensor):
    """Watts worked out from CPU use and a stated model: an estimate, marked so everywhere."""

    name: ClassVar[str] = "estimate"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[PowerConfig]] = EstimateConfig

    def __init__(self, cfg: EstimateConfig) -> None:
        self.cfg = cfg

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(host.cpus or (), cfg.interval_s)

    def parse(self, record: str) -> dict[str, float | None]:
        """Watts, mean since the record before, as the channel ``system`` or ``cpu``. Raises ParseError."""
        busy_ratio = _busy_ratio(record)
        return {self.cfg.scope: None if isinstance(busy_ratio, Missing) else self.cfg.power_w(busy_ratio)}

    def reasons(self, record: str) -> dict[str, str]:
        """Why there is no estimate. Raises ParseError."""
        busy_ratio = _busy_ratio(record)
        return {self.cfg.scope: busy_ratio.reason} if isinstance(busy_ratio, Missing) else {}

    def channel(self, name: str) -> Channel:
        """An estimate, whatever it is of. Raises ParseError for a channel that it does not have."""
        if name != self.cfg.scope:
            raise ParseError(f"estimate delivers no channel {name!r}")
        channel = Channel(
            name=name,
            unit="W",
            kind="mean",
            scope=f"{name}:all",
            provenance="estimate",
            method=f"model of CPU use: {self._model()}",
        )
        return as_configured(self.cfg, channel)

    def _model(self) -> str:
        if self.cfg.points is not None:
            return ", ".join(f"{power_w:g} W at {percent:g} %" for percent, power_w in self.cfg.points)
        return f"idle {self.cfg.idle_w:g} W, max {self.cfg.max_w:g} W, exponent {self.cfg.exponent:g}"


def command(cpus: tuple[int, ...], interval_s: float, root: str = "") -> list[str]:
    """The streaming process; ``root`` is put in front of /proc (for tests)."""
    return ["bash", "-c", _SCRIPT, MARK, root, str(round(interval_s * 1e6)), *map(str, cpus)]


def _busy_ratio(record: str) -> float | Missing:
    """Busy part of the CPUs, 0..1, or why it is not known. Raises ParseError."""
    match = _RECORD.fullmatch(record.strip())
    if match is None:
        raise ParseError(f"estimate: {record[:60]!r} is not a whole record")
    if match[1] in _WHY:
        return Missing(_WHY[match[1]])
    busy, total = int(match[2]), int(match[3])
    if total == 0:
        return Missing("no CPU time was counted since the reading before")
    if not 0 <= busy <= total:
        return Missing(f"the kernel counted {busy} busy of {total} ticks: its counters went back")
    return busy / total


DRIVER = Estimate
