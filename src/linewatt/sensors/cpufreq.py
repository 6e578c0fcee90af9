# SPDX-License-Identifier: Apache-2.0
"""At which frequency the CPUs run, and how often they were throttled, from the kernel's files.

One bash process reads them with builtins only and prints one line a record. Measured on a 2-CPU VM over
trees of plain files, exact accounting, CPU time a record: 0.7 ms with 2 CPUs, 2.1 ms with 16, 6.8 ms with 64
and with 512, since 64 are watched at most. A host without the files (most virtual machines) gets a record of
57 bytes for 0.35 ms, without readings.

Frequency: ``cpufreq/cpuinfo_avg_freq`` where the kernel has it (6.15), else ``scaling_cur_freq``, both a mean
over the last milliseconds on x86 (APERF/MPERF). On other architectures ``scaling_cur_freq`` is what was asked
of the hardware. ``cpuinfo_cur_freq`` is not read: it asks the hardware, CPU by CPU. What a reading disturbs
depends on the kernel's arch/x86/kernel/cpu/aperfmperf.c: from 5.19 on it is a sample that the CPU's own tick
took; from 4.13 to 5.18 it interrupts the CPU (IPI), and sleeps 10 to 20 ms where the sample before is older
than 1 s (24 CPUs took 0.5 s: prometheus/node_exporter issue 1086). So only CPUs that take part are read, and
a record reads frequencies for a quarter of a second at most; the next one goes on with the CPUs left out.

Throttling: ``thermal_throttle/{core,package}_throttle_count`` (Intel only), totals in the kernel's memory.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any, ClassVar

from pydantic import Field

from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, SensorConfig

MARK = "linewatt-cpufreq"

MOST_CPUS = 64
"""So many CPUs are watched at most, so that a record stays cheap on any host."""

BUDGET_S = 0.25
"""So long a record reads frequencies; see above."""

# $1 root of the file system, $2 interval and $3 budget in µs, $4 most CPUs, then the CPUs (none: all).
_SCRIPT = (
    PACED
    + r"""
root=$1/sys/devices/system/cpu interval_us=$2 budget_us=$3 most=$4; shift 4
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

while :; do
  now; record="linewatt-cpufreq 1 $now_us"
  frequencies
  throttles core "${cores[@]}"
  throttles package "${packages[@]}"
  emit
done
"""
)

_HEAD = re.compile(rf"{MARK} 1 \d+", re.ASCII)
_SECTION = re.compile(r"(frequency|core|package)((?: \d{1,9}=[^ |]*)+)", re.ASCII)
_END = re.compile(r"end \d+", re.ASCII)
_CHANNELS = {"frequency": "frequency_hz", "core": "core_throttle_count", "package": "package_throttle_count"}
_CHANNEL = re.compile(r"cpu(\d+)\.(frequency_hz|core_throttle_count|package_throttle_count)", re.ASCII)


class CpufreqConfig(SensorConfig):
    """How often frequencies and counts of throttling are read."""

    interval_s: float = Field(default=1.0, ge=0.1, le=3600)


class Cpufreq(LineSensor):
    """Frequency of the CPUs that take part, and how often they were throttled."""

    name: ClassVar[str] = "cpufreq"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[SensorConfig]] = CpufreqConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(watched_cpus(host), cfg.interval_s)

    def parse(self, record: str) -> dict[str, float | None]:
        """``cpu<N>.frequency_hz``, and totals since boot ``cpu<N>.core_throttle_count`` and
        ``cpu<N>.package_throttle_count``.

        What the kernel does not have is absent; what could not be read is None. Raises ParseError.
        """
        values: dict[str, float | None] = {}
        for section, words in _sections(record).items():
            for cpu, text in words.items():
                value = int(text) if _is_number(section, text) else None
                scale = 1000 if section == "frequency" else 1
                values[f"cpu{cpu}.{_CHANNELS[section]}"] = None if value is None else value * scale
        return values

    def reasons(self, record: str) -> dict[str, str]:
        """Why channels are absent (``frequency``, ``throttle``) or None (by channel). Raises ParseError."""
        sections = _sections(record)
        reasons = {
            f"cpu{cpu}.{_CHANNELS[section]}": f"the kernel says {text!r}; is CPU {cpu} online?"
            for section, words in sections.items()
            for cpu, text in words.items()
            if not _is_number(section, text)
        }
        if "frequency" not in sections:
            reasons["frequency"] = "no cpufreq: the kernel does not see at which frequency its CPUs run"
        if not {"core", "package"} & sections.keys():
            reasons["throttle"] = "no thermal_throttle: only Intel CPUs count it, and no virtual ones"
        return reasons

    def channel(self, name: str) -> Channel:
        """Unit, kind and scope of a channel. Raises ParseError for a name that cannot be."""
        match = _CHANNEL.fullmatch(name)
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
    limits = [str(round(interval_s * 1e6)), str(round(BUDGET_S * 1e6)), str(MOST_CPUS)]
    return ["bash", "-c", _SCRIPT, MARK, root, *limits, *map(str, cpus)]


def _sections(record: str) -> dict[str, dict[int, str]]:
    """Section → CPU → the kernel's word, which may be empty. Raises ParseError."""
    head, *parts, end = record.strip().split("|") if "|" in record else (record, "")
    matches = [_SECTION.fullmatch(part) for part in parts]
    names = [match[1] for match in matches if match]
    whole = _HEAD.fullmatch(head) and _END.fullmatch(end) and None not in matches
    if not whole or len(set(names)) < len(names):
        raise ParseError(f"cpufreq: {record[:60]!r} is no whole record")
    return {match[1]: _by_cpu(match[2]) for match in matches if match}


def _by_cpu(text: str) -> dict[int, str]:
    words = (word.partition("=") for word in text.split())
    return {int(cpu): value for cpu, _, value in words}


def _is_number(section: str, text: str) -> bool:
    """Whether the kernel gave a reading: no driver runs a CPU at 0 Hz, some say ``<unknown>``."""
    return text.isascii() and text.isdigit() and len(text) <= 20 and (section != "frequency" or int(text) > 0)


SENSOR = Cpufreq()
