# SPDX-License-Identifier: Apache-2.0
"""Joules that the CPUs count themselves (RAPL), from the kernel's powercap files; Intel and AMD.

One bash process reads /sys/class/powercap/intel-rapl:*/energy_uj with builtins only and prints one line a
record. Measured on a 2-CPU VM over trees of plain files, exact accounting, CPU time a record: 0.5 ms with 4
zones, 1.1 ms with 16. On real hardware each zone is a read of a register of its package's first CPU, which is
interrupted for it.

What trips whoever sums these files, and what is done about it:

- energy_uj is for root only (Linux commit 949dd0104c49, CVE-2020-8694): it runs as root where it may.
- It wraps at max_energy_range_uj: 65.5 kJ on many servers, 3.6 minutes at 300 W. Hence 30 s at most between
  readings; two wraps between two readings could not be seen. A range of 0 (powercap/powercap issue 3) is not
  known, and then a decrease gives no number.
- intel-rapl-mmio is the same package once more (prometheus/node_exporter issue 2147): it is read only where
  there is no intel-rapl.
- psys is no package but contains them; core and uncore are in their package; dram is not.
- On AMD and Hygon the dies of a package show one and the same counter (until Linux commit 26096aed255f, in
  6.12), so only the first counts; ``core`` is the register C001_029A of one single core, so it is left out;
  and there is no dram.
- A counter at 0 was never counted, which is not 0 W (hubblo-org/scaphandre issue 108): a package's is
  missing, that of a part of it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, parts_of_record
from linewatt.sensors.power.base import PowerConfig, as_configured

MARK = "linewatt-rapl"

SLOWEST_S = 30
"""A busy socket wraps in less than 4 minutes."""

# $1 root of the file system, $2 interval in µs
_SCRIPT = (
    PACED
    + r"""
root=$1 interval_us=$2 vendor= heads=() energies=()

vendor() {
  local key
  while read -r key _ vendor; do [[ $key != vendor_id ]] || return 0; done <"$root/proc/cpuinfo"
  vendor=
} 2>/dev/null

word() { text=; read -r text <"$1"; text=${text//[ |]/_}; } 2>/dev/null

vendor
for family in intel-rapl intel-rapl-mmio; do
  for zone in "$root/sys/class/powercap/$family:"*; do
    [[ -e $zone/energy_uj ]] || continue
    word "$zone/name"; head="${zone##*/} ${text:-?}"
    word "$zone/max_energy_range_uj"; heads+=("$head ${text:-?}") energies+=("$zone/energy_uj")
  done
  (( ${#heads[@]} == 0 )) || break
done

zones() {
  local number
  for number in "${!heads[@]}"; do
    word "${energies[number]}"
    if [[ ! $text ]]; then
      if [[ ! -e ${energies[number]} ]]; then text=gone
      elif [[ ! -r ${energies[number]} ]]; then text=denied
      else text=unreadable; fi
    fi
    record+="|${heads[number]} $text"
  done
}

while :; do
  now; record="linewatt-rapl 1 $now_us ${vendor:-?}"
  zones
  emit
done
"""
)

_ZONE = re.compile(r"(intel-rapl(?:-mmio)?(?::[0-9a-f]{1,8}){1,3}) (\S+) (\S+) (\S+)", re.ASCII)
_NUMBER = re.compile(r"\d{1,20}", re.ASCII)
_PACKAGE = re.compile(r"package-(\d{1,9})(?:-die-(\d{1,9}))?", re.ASCII)
_PARTS = {"core", "uncore", "dram"}
_ONE_COUNTER_A_PACKAGE = {"AuthenticAMD", "HygonGenuine"}
_WHY = {
    "denied": "energy_uj is for root only; set `sudo: true` for this host, or log in as root",
    "gone": "its zone is gone; was the module intel_rapl_msr unloaded?",
    "unreadable": "energy_uj cannot be read",
    "0": "never counted: this CPU does not measure it",
}
_NONE = "no RAPL zone below /sys/class/powercap: a virtual machine, or `modprobe intel_rapl_msr` is needed"


class RaplConfig(PowerConfig):
    """How often the energy counters of the CPUs are read."""

    interval_s: float = Field(
        default=1.0, ge=0.1, le=SLOWEST_S, description="Seconds between readings, from 0.1 to 30."
    )


@dataclass(frozen=True, slots=True)
class _Zone:
    """A zone as it was read; ``range_uj`` and ``energy_uj`` are the kernel's words."""

    key: str
    name: str
    range_uj: str
    energy_uj: str

    @property
    def is_top(self) -> bool:
        return self.key == self.top

    @property
    def top(self) -> str:
        """The zone it is in: intel-rapl:0 of intel-rapl:0:2."""
        return ":".join(self.key.split(":")[:2])

    @property
    def range_j(self) -> float | None:
        return int(self.range_uj) / 1e6 if _NUMBER.fullmatch(self.range_uj) and int(self.range_uj) else None

    @property
    def energy_j(self) -> float | None:
        """None where ``why`` says why."""
        return None if self.why else int(self.energy_uj) / 1e6

    @property
    def why(self) -> str | None:
        if self.energy_uj in _WHY:
            return _WHY[self.energy_uj]
        if not _NUMBER.fullmatch(self.energy_uj):
            return f"the kernel says {self.energy_uj[:40]!r}"
        if self.range_j is not None and int(self.energy_uj) / 1e6 > self.range_j:
            return f"{self.energy_uj} µJ is beyond the counter's own range, {self.range_uj} µJ"
        return None


class Rapl(LineSensor):
    """Energy counters of the CPUs (RAPL): packages, cores, DRAM, platform."""

    name: ClassVar[str] = "rapl"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[PowerConfig]] = RaplConfig
    needs_root: ClassVar[bool] = True

    def __init__(self, cfg: RaplConfig) -> None:
        self.cfg = cfg
        self._channels: dict[str, Channel] = {}

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(cfg.interval_s)

    def parse(self, record: str) -> dict[str, float | None]:
        """Running totals in J: ``package-0``, ``core-0``, ``uncore-0``, ``dram-0``, ``psys-0``, with several
        dies ``package-0-die-1``; what cannot be read is None.

        Without any zone it is ``package-0`` that is missing. Raises ParseError.
        """
        zones = _zones(record)
        self._channels.update((name, self._channel(name, zone)) for name, zone in zones.items())
        return {name: zone.energy_j for name, zone in zones.items()} or {"package-0": None}

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings are None, by channel. Raises ParseError."""
        zones = _zones(record)
        return {name: zone.why for name, zone in zones.items() if zone.why} if zones else {"package-0": _NONE}

    def channel(self, name: str) -> Channel:
        """Scope and range of a channel that :meth:`parse` delivered. Raises ParseError for any other."""
        if name not in self._channels and name == "package-0":
            return self._channel(name, None)
        if name not in self._channels:
            raise ParseError(f"rapl delivered no channel {name!r}")
        return self._channels[name]

    def _channel(self, name: str, zone: _Zone | None) -> Channel:
        kind, _, part = name.partition("-")
        channel = Channel(
            name=name,
            unit="J",
            kind="counter",
            scope=f"{kind}:{part}",
            wraps_at=zone.range_j if zone else None,
            method=f"RAPL, energy_uj of {zone.key}" if zone else "RAPL",
        )
        return as_configured(self.cfg, channel)


def command(interval_s: float, root: str = "") -> list[str]:
    """The streaming process; ``root`` is put in front of /sys and /proc (for tests)."""
    return ["bash", "-c", _SCRIPT, MARK, root, str(round(interval_s * 1e6))]


def _zones(record: str) -> dict[str, _Zone]:
    """Channel → its zone, each energy once. Raises ParseError."""
    head, parts = parts_of_record(record, MARK, r" (\S+)")
    matches = [_ZONE.fullmatch(part) for part in parts]
    if None in matches:
        raise ParseError(f"rapl: {record[:60]!r} is not a whole record")
    zones = [_Zone(*match.groups()) for match in matches if match]
    return dict(_counted_zones(zones, one_counter=head[2] in _ONE_COUNTER_A_PACKAGE))


def _counted_zones(zones: list[_Zone], *, one_counter: bool) -> Iterator[tuple[str, _Zone]]:
    """The zones that count, by channel; ``one_counter``: dies show their package, ``core`` is one core."""
    parts = _packages(zones, one_counter=one_counter)
    counted = _PARTS - {"core"} if one_counter else _PARTS
    platforms = 0
    for zone in zones:
        part = parts.get(zone.top)
        if zone.is_top and zone.name == "psys":
            yield f"psys-{platforms}", zone
            platforms += 1
        elif part is not None and zone.is_top:
            yield f"package-{part}", zone
        elif part is not None and zone.name in counted and zone.energy_uj != "0":
            yield f"{zone.name}-{part}", zone


def _packages(zones: list[_Zone], *, one_counter: bool) -> dict[str, str]:
    """Key of a package's zone → what its channels are called by: ``0``, ``0-die-1``. Each name once."""
    packages = [
        (match, zone.key) for zone in zones if zone.is_top and (match := _PACKAGE.fullmatch(zone.name))
    ]
    parts: dict[str, str] = {}
    for match, key in sorted(packages, key=lambda package: int(package[0][2] or 0)):
        part = match[1] if match[2] is None or one_counter else f"{match[1]}-die-{match[2]}"
        if part not in parts.values():
            parts[key] = part
    return parts


DRIVER = Rapl
