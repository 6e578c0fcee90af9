# SPDX-License-Identifier: Apache-2.0
"""How fast the CPUs run, how hot they are and how often they were throttled, from the kernel's files.

One bash process reads them with builtins only and prints one line a record. Measured on a 2-CPU VM over
trees of plain files, exact accounting, CPU time a record: 0.7 ms with 2 CPUs, 2.1 ms with 16, 6.8 ms with 64
and with 512, since 64 are watched at most. A host without the files (most virtual machines) gets a record of
69 bytes for 0.35 ms, without readings.

Frequency: ``cpufreq/cpuinfo_avg_freq`` where the kernel has it (6.15), else ``scaling_cur_freq``, both a mean
over the last milliseconds on x86 (APERF/MPERF). On other architectures ``scaling_cur_freq`` is what was asked
of the hardware. ``cpuinfo_cur_freq`` is not read: it asks the hardware, CPU by CPU. What a reading disturbs
depends on the kernel's arch/x86/kernel/cpu/aperfmperf.c: from 5.19 on it is a sample that the CPU's own tick
took; from 4.13 to 5.18 it interrupts the CPU (IPI), and sleeps 10 to 20 ms where the sample before is older
than 1 s (24 CPUs took 0.5 s: prometheus/node_exporter issue 1086). So only CPUs that take part are read, and
a record reads frequencies for a quarter of a second at most; the next one goes on with the CPUs left out.

Throttling: ``thermal_throttle/{core,package}_throttle_count`` (Intel only), totals in the kernel's memory.

Temperature: one a package, in the same record, so that it costs no process and no timer of its own: hwmon's
coretemp (``Package id``, ``Physical id`` before Linux 4; its cores only where it has neither), k10temp and
zenpower (``Tdie``, else ``Tctl``, which some models have with an offset), else thermal zones of CPUs or SoCs,
eight files at most. coretemp asks one CPU of the package by an interrupt (IPI), k10temp reads a register over
PCI. What is dear or no CPU's is not read: DIMMs, NICs and drives ask firmware or a slow bus, ``acpitz`` runs
firmware's code and often says one number for ever.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any, ClassVar

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, PacedConfig, SensorConfig, parts_of_record

MARK = "linewatt-cpufreq"

MOST_CPUS = 64
"""So many CPUs are watched at most, so that a record stays cheap on any host."""

BUDGET_S = 0.25
"""So long a record reads frequencies; see above."""

MOST_TEMPERATURES = 8
COLDEST_C, HOTTEST_C = -60, 200
"""What is beyond is no CPU's temperature."""

# $1 root of the file system, $2 interval and $3 budget in µs, $4 most CPUs, $5 most temperatures, then the
# CPUs (none: all).
_SCRIPT = (
    PACED
    + r"""
root=$1/sys/devices/system/cpu class=$1/sys/class interval_us=$2 budget_us=$3 most=$4 hottest=$5; shift 5
if (( $# == 0 )); then
  there=()
  for path in "$root"/cpu[0-9]*; do [[ ${path##*/cpu} == *[!0-9]* ]] || there[${path##*/cpu}]=1; done
  set -- "${!there[@]}"
  set -- "${@:1:most}"
fi
watched=() frequencies=() cores=() packages=() next=0
for cpu; do
  for name in cpuinfo_avg_freq scaling_cur_freq; do
    [[ -e $root/cpu$cpu/cpufreq/$name ]] || continue
    watched+=("$cpu") frequencies+=("$root/cpu$cpu/cpufreq/$name"); break
  done
  path=$root/cpu$cpu/thermal_throttle
  [[ ! -e $path/core_throttle_count ]] || cores+=("$cpu")
  [[ ! -e $path/package_throttle_count ]] || packages+=("$cpu")
done
degrees=() names=()
add() {  # $1 file, $2 what it is of
  (( ${#degrees[@]} < hottest )) && [[ -e $1 ]] || return
  degrees+=("$1") names+=("${2//[!A-Za-z0-9]/_}")
}
sensors() {  # of drivers like $1 those whose label is like $2; status 1: there is none
  local chip file driver label known=${#degrees[@]}
  for chip in "$class"/hwmon/hwmon*; do
    driver=; read -r driver <"$chip/name"
    [[ $driver == $1 ]] || continue
    for file in "$chip"/temp*_input; do
      label=; read -r label <"${file%_input}_label"
      [[ $label != $2 ]] || add "$file" "$driver $label"
    done
  done
  (( ${#degrees[@]} > known ))
} 2>/dev/null
zones() {
  local zone type
  for zone in "$class"/thermal/thermal_zone*; do
    type=; read -r type <"$zone/type"
    case ${type,,} in *pkg_temp*|*cpu*|*soc*) add "$zone/temp" "thermal zone $type";; esac
  done
} 2>/dev/null
sensors coretemp 'P*' || sensors coretemp 'Core *'
sensors '@(k10temp|zenpower)' Tdie || sensors '@(k10temp|zenpower)' Tctl || sensors k10temp ''
(( ${#degrees[@]} )) || zones
if [[ ${EPOCHREALTIME-} ]]; then late() { (( ${EPOCHREALTIME/[.,]/} - now_us > budget_us )); }
else late() { (( count >= 16 )); }; fi  # bash before 5.0

frequencies() {
  local total=${#watched[@]} count=0 value
  (( total )) || return
  record+='|frequency'
  while (( count++ < total )); do
    value=; read -r value <"${frequencies[next]}"
    record+=" ${watched[next]}=$value"
    next=$(( (next + 1) % total ))
    ! late || break
  done
} 2>/dev/null

# $1 section, then the CPUs
throttles() {
  local section=$1 cpu value; shift
  (( $# )) || return
  record+="|$section"
  for cpu; do
    value=; read -r value <"$root/cpu$cpu/thermal_throttle/${section}_throttle_count"
    record+=" $cpu=$value"
  done
} 2>/dev/null

temperatures() {
  local at value
  record+='|temperature'
  for at in "${!degrees[@]}"; do
    value=; read -r value <"${degrees[at]}"
    record+=" ${names[at]}=$value"
  done
} 2>/dev/null

while :; do
  now; record="linewatt-cpufreq 1 $now_us"
  frequencies
  temperatures
  throttles core "${cores[@]}"
  throttles package "${packages[@]}"
  emit
done
"""
)

_SECTION = re.compile(
    r"(frequency|core|package)((?: \d{1,9}=[^ |]*)+)|(temperature)((?: \w{1,60}=[^ |]*)*)", re.ASCII
)
_CHANNELS = {"frequency": "frequency_hz", "core": "core_throttle_count", "package": "package_throttle_count"}
_CHANNEL = re.compile(r"cpu(\d+)\.(frequency_hz|core_throttle_count|package_throttle_count)", re.ASCII)
_TEMPERATURE = re.compile(r"(coretemp|k10temp|zenpower|thermal zone)( [A-Za-z0-9 ]*)?", re.ASCII)
_NO_TEMPERATURE = (
    "no coretemp, k10temp or zenpower in hwmon, no thermal zone of a CPU; virtual machines have none"
)


class CpufreqConfig(PacedConfig):
    """How often frequencies, temperatures and counts of throttling are read."""


class Cpufreq(LineSensor):
    """Frequency of the CPUs that take part, their temperature, and how often they were throttled."""

    name: ClassVar[str] = "cpufreq"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[SensorConfig]] = CpufreqConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(watched_cpus(host), cfg.interval_s)

    def parse(self, record: str) -> dict[str, float | None]:
        """``cpu<N>.frequency_hz``, totals since boot ``cpu<N>.core_throttle_count`` and
        ``cpu<N>.package_throttle_count``, and °C by sensor (``coretemp Package id 0``).

        What the kernel does not have is absent; what could not be read is None. Raises ParseError.
        """
        sections = _sections(record)
        values: dict[str, float | None] = {}
        for section, scale in (("frequency", 1000), ("core", 1), ("package", 1)):
            for cpu, text in sections.get(section, {}).items():
                value = int(text) if _is_number(section, text) else None
                values[f"cpu{cpu}.{_CHANNELS[section]}"] = None if value is None else value * scale
        return values | {name: _degrees(text) for name, text in sections.get("temperature", {}).items()}

    def reasons(self, record: str) -> dict[str, str]:
        """Why channels are absent (``frequency``, ``temperature``, ``throttle``) or None (by channel).

        Raises ParseError.
        """
        sections = _sections(record)
        reasons = {
            f"cpu{cpu}.{channel}": f"the kernel says {text!r}; is CPU {cpu} online?"
            for section, channel in _CHANNELS.items()
            for cpu, text in sections.get(section, {}).items()
            if not _is_number(section, text)
        }
        temperatures = sections.get("temperature", {})
        reasons |= {
            name: f"the kernel says {text!r}, which is not a temperature"
            for name, text in temperatures.items()
            if _degrees(text) is None
        }
        if "frequency" not in sections:
            reasons["frequency"] = "no cpufreq: the kernel does not see at which frequency its CPUs run"
        if not temperatures:
            was_read = "temperature" in sections
            reasons["temperature"] = _NO_TEMPERATURE if was_read else "not read when this was recorded"
        if not {"core", "package"} & sections.keys():
            reasons["throttle"] = "no thermal_throttle: only Intel CPUs count it, and no virtual ones"
        return reasons

    def channel(self, name: str) -> Channel:
        """Unit, kind and scope of a channel. Raises ParseError for a name that cannot be."""
        match = _CHANNEL.fullmatch(name)
        if _TEMPERATURE.fullmatch(name):
            return Channel(name, "°C", "gauge", "host", step=0.001)
        if match is None:
            raise ParseError(f"cpufreq delivers no channel {name!r}")
        scope = f"cpu:{match[1]}"
        if match[2] == "frequency_hz":
            return Channel(name, "Hz", "gauge", scope)
        return Channel(name, "count", "counter", scope, bits=64)


def watched_cpus(host: HostSpec) -> tuple[int, ...]:
    """The first 64 CPUs that take part: the named ones, else the host's own; nothing: all there are.

    Instances are put on app CPUs in their order, so the first of each role are those in use.
    """
    if not host.app_cpus:
        return (host.cpus or ())[:MOST_CPUS]
    named = (cpu for pair in zip_longest(host.app_cpus, host.irq_cpus or ()) for cpu in pair)
    return tuple(dict.fromkeys(cpu for cpu in named if cpu is not None))[:MOST_CPUS]


def command(cpus: tuple[int, ...], interval_s: float, root: str = "") -> list[str]:
    """The streaming process; ``root`` is put in front of /sys (for tests)."""
    times_us = [str(round(seconds * 1e6)) for seconds in (interval_s, BUDGET_S)]
    limits = [*times_us, str(MOST_CPUS), str(MOST_TEMPERATURES)]
    return ["bash", "-c", _SCRIPT, MARK, root, *limits, *map(str, cpus)]


def _sections(record: str) -> dict[str, dict[str, str]]:
    """Section → CPU or sensor → the kernel's word, which may be empty. Raises ParseError."""
    _, parts = parts_of_record(record, MARK)
    matches = [_SECTION.fullmatch(part) for part in parts]
    names = [match[1] or match[3] for match in matches if match]
    if None in matches or len(set(names)) < len(names):
        raise ParseError(f"cpufreq: {record[:60]!r} is not a whole record")
    return {
        match[1] or match[3]: _by_cpu(match[2]) if match[1] else _by_sensor(match[4])
        for match in matches
        if match
    }


def _by_cpu(text: str) -> dict[str, str]:
    words = (word.partition("=") for word in text.split())
    return {str(int(cpu)): value for cpu, _, value in words}


def _by_sensor(text: str) -> dict[str, str]:
    """Of several with one name, as packages with a k10temp each, the second one ends in 2, and so on."""
    word_by_name: dict[str, str] = {}
    for word in text.split():
        key, _, value = word.partition("=")
        name = key.replace("_", " ").strip()
        alike = sum(
            re.fullmatch(rf"{re.escape(name)}(?: \d+)?", earlier) is not None for earlier in word_by_name
        )
        word_by_name[f"{name} {alike + 1}" if name in word_by_name else name] = value
    return word_by_name


def _degrees(text: str) -> float | None:
    """The kernel's thousandths of a degree, °C; ``None`` for what is no temperature."""
    if not re.fullmatch(r"-?\d{1,7}", text, re.ASCII):
        return None
    degrees = int(text) / 1000
    return degrees if COLDEST_C < degrees < HOTTEST_C else None


def _is_number(section: str, text: str) -> bool:
    """Whether the kernel gave a reading: no driver runs a CPU at 0 Hz, some say ``<unknown>``."""
    return text.isascii() and text.isdigit() and len(text) <= 20 and (section != "frequency" or int(text) > 0)


SENSOR = Cpufreq()
