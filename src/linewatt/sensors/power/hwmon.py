# SPDX-License-Identifier: Apache-2.0
"""Watts and joules that the kernel's drivers show below /sys/class/hwmon: ACPI power meters, GPUs, PSUs.

One bash process finds the sensors when it starts, reads power<n>_average (else power<n>_input, µW) and
energy<n>_input (µJ) with builtins only, and prints one line a record. Measured on a 2-CPU VM over trees of
plain files, exact accounting, CPU time a record: 0.4 ms with 1 sensor, 0.6 ms with 4, 1.3 ms
with 16. What the drivers do for a reading comes on top, one after the other: a USB or PMBus power supply
takes milliseconds, ACPI meters ask the firmware. Choose with ``chips`` and ``channels`` what is needed.

What a sensor measures is known by its driver's name (``_RULES``), else it is ``other``, which is in no total;
``scopes`` says it. Some that look like power are not or are dear, so they are left out or doubted:

- An ACPI meter says 4294967295000 µW for "unknown" (lm-sensors/lm-sensors issue 460), others 0 W
  (influxdata/telegraf, plugins/inputs/sensors/README.md): no number, but a reason. Its averaging interval
  may be 300 s; it is in the channel's ``method``.
- TX_power and RX_power of SFP modules are light (lm-sensors/lm-sensors pull request 116): never read.
- Ecore<n> of amd_energy interrupts every core for a reading: read only if ``channels`` names it.
- corsair-psu's "power total" is its output (liquidctl/liquidctl issue 300).
- Two ACPI meters may contain each other, so neither is the system unless ``scopes`` says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import Field

from linewatt.errors import InvalidInput, ParseError
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, parts_of_record
from linewatt.sensors.power.base import PowerConfig, ScopeName, as_configured

MARK = "linewatt-hwmon"
MOST_NAMED = 60
MOST_W = 1e5
"""More than this is no server's power but garbage."""

# $1 root of the file system, $2 interval in µs, $3 how many patterns of chips follow, then those of channels
_SCRIPT = (
    PACED
    + r"""
root=$1/sys/class/hwmon interval_us=$2 count=$3; shift 3
chips=("${@:1:count}") channels=("${@:count + 1}") heads=() files=() seen= names= lacks=
declare -A met=()

word() { text=; read -r text <"$1"; text=${text//[|$'\t']/_}; } 2>/dev/null

any() {  # whether one of $2… is matched by a pattern of the array $1; no pattern matches all
  local -n patterns=$1
  local kind=$1 pattern name status=1; shift
  (( ${#patterns[@]} )) || return 0
  for pattern in "${patterns[@]}"; do
    for name; do [[ $name != $pattern ]] || { met["$kind $pattern"]=1 status=0; }; done
  done
  return "$status"
}

lacking() {  # the first pattern of $1 that nothing fits, and what there is: $2
  local -n patterns=$1
  local pattern
  for pattern in "${patterns[@]}"; do
    [[ ${met["$1 $pattern"]} || $pattern == \* || $lacks ]] || lacks="|lacks"$'\t'"$1"$'\t'"$pattern$2"
  done
}

sensor() {  # $1 folder of the chip, $2 of its files, $3 file, $4 name of the sensor
  local label interval accuracy file
  word "$2/$4_label"; label=$text
  for file in "$2" "$1/device"; do  # an ACPI meter's
    [[ $label || ! -e $file/$4_oem_info ]] || { word "$file/$4_oem_info"; label=$text; }
  done
  case $label in [TR]X_power*) return;; Ecore*) (( ${#channels[@]} )) || return;; esac
  names+=$'\t'$name.${label:-$4}
  any channels "$name.$4" "$name-$device.$4" "$name.$label" "$name-$device.$label" || return
  word "$3_interval"; interval=$text
  word "$2/$4_accuracy"; accuracy=$text
  heads+=("${1##*/}"$'\t'"$name"$'\t'"$device"$'\t'"${3##*/}"$'\t'"$label"$'\t'"$interval"$'\t'"$accuracy")
  files+=("$3")
}

chip() {  # $1 its folder
  local name device= folder file had=' '
  word "$1/name"; [[ $text ]] || word "$1/device/name"
  name=${text:-unknown}; seen+=" $name"
  [[ ! -e $1/device ]] || { cd -P -- "$1/device" && device=${PWD##*/}; cd /; }
  any chips "$name" "$name-$device" || return
  for folder in "$1" "$1/device"; do  # drivers that register the old way have their files in device
    for file in "$folder"/power*_average "$folder"/power*_input "$folder"/energy*_input; do
      [[ $file =~ /((power|energy)[0-9]+)_(average|input)$ && -e $file ]] || continue
      [[ $had != *" ${BASH_REMATCH[1]} "* ]] || continue
      had+="${BASH_REMATCH[1]} "
      sensor "$1" "$folder" "$file" "${BASH_REMATCH[1]}"
    done
  done
} 2>/dev/null

readings() {
  local number
  for number in "${!files[@]}"; do
    word "${files[number]}"
    if [[ ! $text ]]; then
      if [[ ! -e ${files[number]} ]]; then text=gone
      elif [[ ! -r ${files[number]} ]]; then text=denied
      else text=unreadable; fi
    fi
    record+="|${heads[number]}"$'\t'"$text"
  done
  (( ${#files[@]} )) || record+="|none$seen"
  record+=$lacks
}

for folder in "$root"/hwmon*; do [[ ! -d $folder ]] || chip "$folder"; done
lacking chips "${seen// /$'\t'}"; lacking channels "$names"
while :; do
  now; record="linewatt-hwmon 1 $now_us"
  readings
  emit
done
"""
)

_FILE = re.compile(r"((?:power|energy)\d{1,9})_(average|input)", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,20}", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)%", re.ASCII)
_WHY = {
    "denied": "it is for root only; set `sudo: true` for this host, or log in as root",
    "gone": "its file is gone; was its driver unloaded?",
    "unreadable": "its driver gives no reading now",
}
_UNKNOWN_UW = {4294967295000, 4294967295}
_ALWAYS_DRAWS = {"wall", "system", "cpu", "package"}

_PSUS = ("pfe*", "dps*", "cffps*", "crps*", "ym2151*", "fsp*", "*psu*")
_RULES: tuple[tuple[str, str, str], ...] = (
    # NVIDIA Grace: a meter each, told apart by power1_oem_info; Grace contains CPU and SysIO, the module all
    ("power_meter", "module power socket *", "other:module{number}"),
    ("power_meter", "grace power socket *", "package:{number}"),
    ("power_meter", "cpu power socket *", "cpu:{number}"),
    ("power_meter", "sysio power socket *", "other:sysio{number}"),
    ("power_meter", "power1", "system:{device}"),
    ("amd_energy", "Esocket*", "package:{number}"),
    ("amd_energy", "Ecore*", "core:{number}"),
    ("zenergy", "Esocket*", "package:{number}"),
    ("zenergy", "Ecore*", "core:{number}"),
    ("amd_hsmp_hwmon*", "power1", "package:{device}"),
    ("fam15h_power", "power1", "package:{device}"),
    ("amdgpu", "power1", "gpu:{device}"),
    ("nouveau", "power1", "gpu:{device}"),
    ("i915", "energy1", "gpu:{device}"),
    ("xe", "card", "gpu:{device}"),
    ("corsairpsu", "power total", "psu-out:{device}"),
    ("nfp", "power1", "nic:{device}"),
    *((chip, "pin", "psu-in:{device}") for chip in _PSUS),
    *((chip, "pout1", "psu-out:{device}") for chip in _PSUS),
)
"""Driver's name, sensor or label, and what that measures. What is measured twice counts once."""

Pattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:+#/ *?-]{1,100}$", examples=["amdgpu.power1"])]


class HwmonConfig(PowerConfig):
    """Which of the sensors below /sys/class/hwmon are read, and what they measure."""

    chips: list[Pattern] = Field(
        default_factory=list,
        description="Chips to read, by their driver's name or `<name>-<device>`; left out: all.",
    )
    channels: list[Pattern] = Field(
        default_factory=list,
        description="Sensors to read, by `<chip>.<sensor>` or `<chip>.<label>`; left out: all.",
    )
    scopes: dict[Pattern, ScopeName] = Field(
        default_factory=dict,
        description="What a sensor measures where that is not known: `{<chip>.<label>: psu-in:PSU1}`.",
    )


@dataclass(frozen=True, slots=True)
class _Sensor:
    """A sensor as it was read; all but ``sensor`` and ``kind`` are the kernel's words, which may be empty."""

    folder: str
    chip: str
    device: str
    sensor: str
    kind: str
    label: str
    interval: str
    accuracy: str
    word: str

    @property
    def unit(self) -> str:
        return "W" if self.sensor.startswith("power") else "J"

    @property
    def names(self) -> tuple[str, ...]:
        """What patterns are held against."""
        chips = (self.chip, f"{self.chip}-{self.device}")
        return tuple(f"{chip}.{what}" for chip in chips for what in (self.sensor, self.label) if what)

    def why_not(self, scope: str) -> str | None:
        """Why its reading is no number."""
        if self.word in _WHY:
            return _WHY[self.word]
        if not _NUMBER.fullmatch(self.word):
            return f"the driver says {self.word[:40]!r}"
        value = int(self.word)
        if value < 0:
            return f"the driver says {value} µ{self.unit}, less than nothing"
        if self.unit == "W" and (value in _UNKNOWN_UW or value / 1e6 > MOST_W):
            return f"the driver says {value} µW, as meters do that do not know"
        if self.unit == "W" and value == 0 and scope.partition(":")[0] in _ALWAYS_DRAWS:
            return "the driver says 0 W of a host that runs"
        return None


@dataclass(frozen=True, slots=True)
class _Reading:
    channel: Channel
    value: float | None
    reason: str | None


class Hwmon(LineSensor):
    """Power and energy sensors of the kernel's drivers (hwmon): ACPI power meters, GPUs, PSUs."""

    name: ClassVar[str] = "hwmon"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[PowerConfig]] = HwmonConfig
    needs_root: ClassVar[bool] = True

    def __init__(self, cfg: HwmonConfig) -> None:
        self.cfg = cfg
        self._channels: dict[str, Channel] = {}

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(cfg)

    def parse(self, record: str) -> dict[str, float | None]:
        """``power_meter.power1`` in W, ``amd_energy.energy1`` a running total in J; of several chips with one
        name ``amdgpu-0000:03:00.0.power1``. What is garbage or cannot be read is None.

        Without any sensor it is ``power`` that is missing. Raises ParseError; InvalidInput where a pattern
        of the settings fits nothing.
        """
        readings = self._readings(record)
        self._channels.update((reading.channel.name, reading.channel) for reading in readings)
        return {reading.channel.name: reading.value for reading in readings}

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings are None, by channel. Raises ParseError."""
        return {
            reading.channel.name: reading.reason
            for reading in self._readings(record)
            if reading.reason is not None
        }

    def channel(self, name: str) -> Channel:
        """What a channel that :meth:`parse` delivered is. Raises ParseError for any other."""
        if name not in self._channels:
            raise ParseError(f"hwmon delivered no channel {name!r}")
        return self._channels[name]

    def _readings(self, record: str) -> list[_Reading]:
        sensors, chips = _sensors(record)
        if sensors:
            self._check_scopes(sensors)
            return list(self._read(sensors))
        none = as_configured(self.cfg, Channel("power", "W", "gauge", "other:none"))
        return [_Reading(none, None, _nothing(chips, self.cfg))]

    def _check_scopes(self, sensors: list[_Sensor]) -> None:
        """Raises InvalidInput for a scope of what is not read."""
        for pattern in self.cfg.scopes:
            if not any(fnmatchcase(name, pattern) for sensor in sensors for name in sensor.names):
                available = [f"{sensor.chip}.{sensor.label or sensor.sensor}" for sensor in sensors]
                raise InvalidInput(
                    f"hwmon: scopes: no sensor that is read fits {pattern!r}; {_format_available(available)}"
                )

    def _read(self, sensors: list[_Sensor]) -> Iterator[_Reading]:
        folders = {sensor.folder: (sensor.chip, sensor.device) for sensor in sensors}
        alike, twins = Counter(chip for chip, _ in folders.values()), Counter(folders.values())
        taken: set[str] = set()
        for sensor in sensors:
            has_device = sensor.device and twins[sensor.chip, sensor.device] == 1
            part = sensor.device if has_device else sensor.folder
            alone = alike[sensor.chip] == 1
            named = self._scope_in_settings(sensor, part)
            scope = named or _scope_by_driver(sensor, part, alone=alone)
            if scope is None or (named is None and scope in taken):
                scope = f"other:{sensor.chip}-{part}-{sensor.sensor}"
            taken.add(scope)
            chip = sensor.chip if alone else f"{sensor.chip}-{part}"
            reason = sensor.why_not(scope)
            value = None if reason else int(sensor.word) / 1e6
            yield _Reading(self._channel(f"{chip}.{sensor.sensor}", sensor, scope), value, reason)

    def _scope_in_settings(self, sensor: _Sensor, part: str) -> str | None:
        """The scope that the settings give a sensor."""
        for pattern, scope in self.cfg.scopes.items():
            if any(fnmatchcase(name, pattern) for name in sensor.names):
                return scope if ":" in scope else f"{scope}:{part}"
        return None

    def _channel(self, name: str, sensor: _Sensor, scope: str) -> Channel:
        channel = Channel(
            name=name,
            unit=sensor.unit,
            kind="gauge" if sensor.unit == "W" else "counter",
            scope=scope,
            method=_method(sensor),
            tolerance_ratio=_tolerance(sensor.accuracy),
        )
        return as_configured(self.cfg, channel)


def command(cfg: HwmonConfig, root: str = "") -> list[str]:
    """The streaming process; ``root`` is put in front of /sys (for tests)."""
    interval_us = str(round(cfg.interval_s * 1e6))
    return ["bash", "-c", _SCRIPT, MARK, root, interval_us, str(len(cfg.chips)), *cfg.chips, *cfg.channels]


def _scope_by_driver(sensor: _Sensor, part: str, *, alone: bool) -> str | None:
    """The scope by the driver's name; with several ACPI meters none of them is the system."""
    for chip, what, scope in _RULES:
        labels = (sensor.label, sensor.label.lower())
        fits = fnmatchcase(sensor.chip, chip) and (
            sensor.sensor == what or any(fnmatchcase(label, what) for label in labels)
        )
        if fits and (alone or what != "power1" or chip != "power_meter"):
            number = re.sub(r"\D", "", sensor.label).lstrip("0") or "0"
            return scope.format(device=part, number=number)
    return None


def _sensors(record: str) -> tuple[list[_Sensor], str]:
    """The sensors of a record, and without any the names of the chips there are.

    Raises ParseError, InvalidInput.
    """
    _, parts = parts_of_record(record, MARK)
    if not parts:
        raise ParseError(f"hwmon: {record[:60]!r} is not a whole record")
    if parts[-1].startswith("lacks\t"):
        raise _refuse(parts[-1])
    if len(parts) == 1 and (parts[0] + " ").startswith("none "):
        return [], parts[0].removeprefix("none").strip()
    return [_sensor(part) for part in parts], ""


def _sensor(part: str) -> _Sensor:
    words = part.split("\t")
    match = _FILE.fullmatch(words[3]) if len(words) == 8 else None
    if match is None or not (words[0] and words[1]):
        raise ParseError(f"hwmon: {part[:60]!r} is not a reading of a sensor")
    folder, chip, device, _, label, interval, accuracy, word = words
    return _Sensor(folder, chip, device, match[1], match[2], label, interval, accuracy, word)


def _method(sensor: _Sensor) -> str:
    """How it is measured, in words."""
    words = [f"hwmon {sensor.chip} {sensor.sensor}_{sensor.kind}"]
    if sensor.label:
        words.append(sensor.label)
    if sensor.kind == "average" and re.fullmatch(r"\d{1,9}", sensor.interval, re.ASCII):
        words.append(f"mean over {int(sensor.interval) / 1000:g} s")
    if sensor.chip == "amdgpu":
        words.append("on an APU with its CPU")
    return ", ".join(words)


def _tolerance(accuracy: str) -> float | None:
    """What ACPI says of its meters, 80 to 100 % (ACPI 6.5, 10.4.1); anything else is not known."""
    match = _PERCENT.fullmatch(accuracy)
    percent = float(match[1]) if match else 0.0
    return round(1 - percent / 100, 6) if 80 <= percent < 100 else None


def _refuse(lack: str) -> InvalidInput:
    """The error for ``lacks``, the setting, its pattern, and what there is, with tabs between."""
    _, kind, pattern, *available = (*lack.split("\t"), "")
    available = [name for name in available if name]
    what = "chip" if kind == "chips" else "sensor of power or energy"
    return InvalidInput(f"hwmon: {kind}: no {what} fits {pattern!r}; {_format_available(available)}")


def _format_available(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    if not names:
        return "there is none: a virtual machine, or its drivers are not loaded"
    return f"there are {', '.join(names[:MOST_NAMED])}{more}"


def _nothing(chips: str, cfg: HwmonConfig) -> str:
    if not chips:
        return "no sensor below /sys/class/hwmon: a virtual machine, or its drivers are not loaded"
    chosen = " that chips and channels choose" if cfg.chips or cfg.channels else ""
    return f"no sensor of power or energy{chosen} below /sys/class/hwmon; chips there are: {chips}"


DRIVER = Hwmon
