# SPDX-License-Identifier: Apache-2.0
"""What limits a load from outside: quotas and CPUs of its control groups, limits of its processes, pressure.

A host is read just before the window and just after it, with the other questions of the read-back
(:mod:`linewatt.engine.live.readback`); the difference is what happened between the two readings.
Sources: kernel documentation, cgroup-v2 (``cpu.stat``, ``cpu.max``, ``cpuset.cpus.effective``), sched-bwc and
cpusets (the same of version 1) and accounting/psi; proc(5), ``/proc/PID/limits``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linewatt.engine.live.confinement import LONGEST_PATH, Cpuset, ProcessLimits, parse_cpuset, parse_limits
from linewatt.errors import LinewattError, ParseError
from linewatt.foreign import number, one_line
from linewatt.hosts.facts import parse_cpulist
from linewatt.model import CgroupThrottling, OutsideLimits

MOST = 16
"""control groups with a quota that are kept: a load's own, and their parents"""

# The arguments are processes of the load. The first line is the host's uptime. A line for each control group
# of theirs that counts its periods, and for each parent of one: periods, those in which it was throttled, for
# how long (µs, the sum over CPUs), its quota and period (µs), its path; - is not known. Versions 1 and 2 may
# be mounted beside each other. What is mounted may be a part of the tree (containers): its root is taken off
# the paths. A line for each process and hierarchy with the CPUs of its control group, or of the nearest
# parent that names some. A line for each process with its open files, locked memory (kB) and threads, each
# with its limit (bytes for memory). Then the CPUs that the kernel isolates and the totals of
# pressure (µs). Files are taken whole, as in the read-back's script.
SCRIPT = r"""set -f; read -r uptime _ </proc/uptime && echo "$uptime"
declare -A seen
mapfile -t mounts </proc/self/mountinfo
for line in "${mounts[@]}"; do
  field=($line) kind=${line##* - }
  case $kind in
    "cgroup2 "*) root2=${field[3]%/} point2=${field[4]} ;;
    "cgroup "*)
      case ",${kind##* }," in *,cpu,*) root1=${field[3]%/} point1=${field[4]} ;; esac
      case ",${kind##* }," in *,cpuset,*) root_sets=${field[3]%/} point_sets=${field[4]} ;; esac ;;
  esac
done
for pid; do
  mapfile -t groups <"/proc/$pid/cgroup" || continue
  for line in "${groups[@]}"; do
    names=${line#*:} path=${line#*:*:} names=${names%%:*}
    case ${line%%:*},$names, in
      0,,) root=$root2 point=$point2 ;;
      *,cpu,*) root=$root1 point=$point1 ;;
      *,cpuset,*) root=$root_sets point=$point_sets ;;
      *) continue ;;
    esac
    [ "$point" ] || continue
    path=${path#"$root"} path=${path%/} at=$path cpus=
    until read -r cpus <"$point$at/cpuset.cpus.effective" ||
      read -r cpus <"$point$at/cpuset.effective_cpus" || [ -z "$at" ]; do at=${at%/*}; done
    [ "$cpus" ] && echo "cpuset $pid $cpus ${at:-/}"
    while at=$point$path; [ -z "${seen[$at]}" ]; do
      seen[$at]=1 periods=- throttled=- time=- quota=- period=- lines=()
      mapfile -t lines <"$at/cpu.stat"
      for line in "${lines[@]}"; do case $line in
        "nr_periods "*) periods=${line#* } ;;
        "nr_throttled "*) throttled=${line#* } ;;
        "throttled_usec "*) time=${line#* } ;;
        "throttled_time "*) time=$(( ${line#* } / 1000 )) ;;
      esac; done
      read -r quota period <"$at/cpu.max" ||
        { read -r quota <"$at/cpu.cfs_quota_us"; read -r period <"$at/cpu.cfs_period_us"; }
      [ "$periods" = - ] ||
        printf 'cgroup %s %s %s %s %s %s\n' "$periods" "$throttled" "$time" \
          "${quota:--}" "${period:--}" "${path:-/}"
      [ "$path" ] || break
      path=${path%/*}
    done
  done
  files=- locked_limit=- tasks_limit=- locked=- tasks=- lines=()
  mapfile -t lines <"/proc/$pid/limits"
  for line in "${lines[@]}"; do field=(${line:26}); case $line in
    "Max open files "*) files=${field[0]} ;;
    "Max locked memory "*) locked_limit=${field[0]} ;;
    "Max processes "*) tasks_limit=${field[0]} ;;
  esac; done
  lines=(); mapfile -t lines <"/proc/$pid/status"
  for line in "${lines[@]}"; do field=($line); case $line in
    VmLck:*) locked=${field[1]} ;;
    VmPin:*) locked=$(( locked + field[1] )) ;;
    Threads:*) tasks=${field[1]} ;;
  esac; done
  set +f; open=("/proc/$pid/fd/"*); set -f
  [ -L "${open[0]}" ] && opened=${#open[@]} || opened=-
  [ "$files" = - ] || echo "limits $pid $opened $files $locked $locked_limit $tasks $tasks_limit"
done
read -r cpus </sys/devices/system/cpu/isolated && [ "$cpus" ] && echo "isolated $cpus"
for resource in cpu memory; do
  lines=(); mapfile -t lines <"/proc/pressure/$resource"
  for line in "${lines[@]}"; do echo "pressure $resource ${line%% *} ${line##*total=}"; done
done
exit 0"""


@dataclass(frozen=True, slots=True)
class CgroupTotals:
    """What a control group counted since it was made; ``throttled_s`` is the sum over CPUs.

    ``quota_s`` is how much CPU time it may use in each ``period_s``; ``None``: it has no quota, or it is not
    known.
    """

    path: str
    periods: int
    throttled_periods: int
    throttled_s: float
    quota_s: float | None
    period_s: float | None


@dataclass(frozen=True, slots=True)
class OutsideTotals:
    """One reading of a host. ``pressure_s`` is by resource and kind (``cpu some``); empty without PSI.

    ``cpusets`` and ``process_limits`` are of the load's processes, ``isolated_cpus`` those that the kernel
    gives to nobody who was not put there.
    """

    uptime_s: float
    cgroups: tuple[CgroupTotals, ...] = ()
    pressure_s: Mapping[str, float] = field(default_factory=dict)
    cpusets: tuple[Cpuset, ...] = ()
    process_limits: tuple[ProcessLimits, ...] = ()
    isolated_cpus: tuple[int, ...] = ()


def command(pids: Sequence[int]) -> tuple[str, ...]:
    """The argument list; ``pids`` are the load's processes."""
    return ("bash", "-c", f"{{ {SCRIPT}\n}} 2>/dev/null", "linewatt", *map(str, pids))


def parse(text: str) -> OutsideTotals:
    """What the script wrote. Raises ParseError."""
    uptime, *lines = text.splitlines() or [""]
    cgroups: list[CgroupTotals] = []
    pressure_s: dict[str, float] = {}
    cpusets: list[Cpuset] = []
    limits: list[ProcessLimits] = []
    isolated: tuple[int, ...] = ()
    for line in lines:
        word, _, values = line.partition(" ")
        try:
            if word == "cgroup":
                cgroups += _parse_cgroup(values)
            elif word == "pressure":
                resource, kind, total_us = values.split()
                pressure_s[f"{resource} {kind}"] = int(total_us) / 1e6
            elif word == "cpuset":
                cpusets.append(parse_cpuset(values))
            elif word == "limits":
                limits.append(parse_limits(values))
            elif word == "isolated":
                isolated = parse_cpulist(values)
            else:
                raise ValueError(word)
        except (ValueError, LinewattError) as error:
            raise ParseError(f"limits from outside the load: {line[:60]!r} cannot be read") from error
    uptime_s = number(uptime, "uptime")
    return OutsideTotals(uptime_s, tuple(cgroups), pressure_s, tuple(cpusets), tuple(limits), isolated)


def _parse_cgroup(values: str) -> tuple[CgroupTotals, ...]:
    """One control group, or none where a count of it is missing. Raises ValueError."""
    periods, throttled, throttled_us, quota, period, path = values.split(" ", 5)
    if "-" in (periods, throttled, throttled_us):
        return ()
    unlimited = quota in ("max", "-", "-1")
    return (
        CgroupTotals(
            path=one_line(path)[:LONGEST_PATH],
            periods=int(periods),
            throttled_periods=int(throttled),
            throttled_s=int(throttled_us) / 1e6,
            quota_s=None if unlimited else int(quota) / 1e6,
            period_s=None if period == "-" else int(period) / 1e6,
        ),
    )


def outside_limits(before: OutsideTotals | None, after: OutsideTotals | None) -> OutsideLimits | None:
    """What happened between two readings of a host; ``None``: one of them is missing, or it was restarted.

    A control group counts if it was there at both readings and has, or had, a quota.
    """
    if before is None or after is None or after.uptime_s <= before.uptime_s:
        return None
    earlier = {cgroup.path: cgroup for cgroup in before.cgroups}
    pairs = [(earlier[cgroup.path], cgroup) for cgroup in after.cgroups if cgroup.path in earlier]
    throttling = [_throttling(*pair) for pair in pairs if _has_quota(*pair)]
    pressure_s = {
        name: total_s - before.pressure_s[name]
        for name, total_s in after.pressure_s.items()
        if name in before.pressure_s and total_s >= before.pressure_s[name]
    }
    most_throttled = sorted(throttling, key=lambda cgroup: -cgroup.throttled_s)[:MOST]
    return OutsideLimits(after.uptime_s - before.uptime_s, tuple(most_throttled), pressure_s)


def _has_quota(before: CgroupTotals, after: CgroupTotals) -> bool:
    """Also one whose quota was taken away meanwhile, and none that was made again (its counts fell)."""
    limited = after.quota_s is not None or after.throttled_periods > before.throttled_periods
    return limited and after.periods >= before.periods and after.throttled_s >= before.throttled_s


def _throttling(before: CgroupTotals, after: CgroupTotals) -> CgroupThrottling:
    return CgroupThrottling(
        path=after.path,
        periods=after.periods - before.periods,
        throttled_periods=after.throttled_periods - before.throttled_periods,
        throttled_s=after.throttled_s - before.throttled_s,
        quota_cores=after.quota_s / after.period_s if after.quota_s and after.period_s else None,
        period_s=after.period_s,
    )
