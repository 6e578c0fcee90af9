# SPDX-License-Identifier: Apache-2.0
"""What the memory of a whole host moved in a window: counters of its memory controllers, or resctrl's. Pure.

Controllers of Intel CPUs have events with a unit in sysfs (``uncore_imc*``), which ``perf stat -x,`` prints
as ``<MiB>,MiB,<pmu>/<event>/,<ns it ran>,<percent of the time it was enabled>,,``. Where there are none the
kernel's resctrl may count what passes between last-level caches and memory, of each cache and group (kernel,
``Documentation/arch/x86/resctrl.rst``); it is read where it is mounted, and never mounted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from linewatt.features.profiles.perf.model import MemoryTraffic
from linewatt.foreign import MIB, shortened

READ = ("cas_count_read", "data_read", "data_reads")
WRITTEN = ("cas_count_write", "data_write", "data_writes")
CONTROLLERS, RESCTRL = "memory controllers", "resctrl"
NOTHING_COUNTS = (
    "no memory controller has counters (uncore_imc), and resctrl is not mounted or counts no memory traffic"
)
NOT_MOUNTED = "its CPUs could count it, and resctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl)"
LEAST_RUNNING = 0.5
"""of the window, below which a count is an extrapolation of too little"""
_FIELDS = 5

# Beside what perf records: $memory is its events, empty where no controller has any
PREPARE = r"""
memory=
for event in /sys/bus/event_source/devices/uncore_imc*/events/*; do
  name=${event##*/} pmu=${event%/events/*}
  case $name in
    cas_count_read|cas_count_write|data_read|data_write|data_reads|data_writes) memory+=,${pmu##*/}/$name/ ;;
  esac
done
passed_memory() {
  date +%s.%N | tr '\n' ' '
  cat /sys/fs/resctrl/mon_data/mon_L3_*/mbm_total_bytes /sys/fs/resctrl/*/mon_data/mon_L3_*/mbm_total_bytes \
    2>/dev/null | tr '\n' ' '
}
"""
BEGIN = r"""
if [ "$memory" ]; then
  exec {moving}< <(perf stat -x, -a -e "${memory#,}" -- sleep "$4" 2>&1 >/dev/null)
else
  before=$(passed_memory)
fi
"""
AFTER = r"""
[ "$memory" ] || after=$(passed_memory)
"""
END = r"""
if [ "$memory" ]; then
  while IFS= read -r line; do printf 'M\tperf\t%s\n' "$line"; done <&"$moving"
elif [ "${before#* }" ]; then
  printf 'M\tbefore\t%s\nM\tafter\t%s\n' "$before" "$after"
elif grep -qw cqm_mbm_total /proc/cpuinfo; then
  printf 'M\tunmounted\t\n'
else
  printf 'M\tnothing\t\n'
fi
"""


def memory_traffic(lines: Iterable[str], seconds: float) -> MemoryTraffic | None:
    """What a host said, ``<kind>\\t<text>`` each, of a window of ``seconds``; None if it was not asked."""
    texts_by_kind: dict[str, list[str]] = {}
    for line in lines:
        kind, _, text = line.partition("\t")
        texts_by_kind.setdefault(kind, []).append(text)
    if "perf" in texts_by_kind:
        return _of_controllers(texts_by_kind["perf"], seconds)
    if "before" in texts_by_kind:
        return _of_resctrl(texts_by_kind["before"][0], texts_by_kind.get("after", [""])[0])
    if not texts_by_kind:
        return None
    return MemoryTraffic(reason=NOT_MOUNTED if "unmounted" in texts_by_kind else NOTHING_COUNTS)


def _of_controllers(lines: Sequence[str], seconds: float) -> MemoryTraffic:
    """The sum over all controllers; one that says nothing leaves no figure, for it would be too small."""
    moved: dict[tuple[str, ...], float] = {READ: 0.0, WRITTEN: 0.0}
    seen: set[tuple[str, ...]] = set()
    for line in lines:
        parts = line.strip().split(",")
        events = _events(parts[2]) if len(parts) >= _FIELDS else None
        if events is None:
            continue
        if (why := _no_count(parts)) is not None:
            return MemoryTraffic(CONTROLLERS, reason=f"{parts[2][:60]}: {why}")
        moved[events] += float(parts[0]) * MIB
        seen.add(events)
    if not seen:
        return MemoryTraffic(CONTROLLERS, reason=f"perf stat says {shortened(' '.join(lines))!r}")
    if seconds <= 0:
        return MemoryTraffic(CONTROLLERS, reason="its window is not known")
    read, written = (
        moved[direction] / seconds if direction in seen else None for direction in (READ, WRITTEN)
    )
    rates = [rate for rate in (read, written) if rate is not None]
    return MemoryTraffic(CONTROLLERS, read, written, sum(rates) if len(rates) == len(moved) else None)


def _events(text: str) -> tuple[str, ...] | None:
    name = text.partition(":")[0].strip("/").rpartition("/")[2]
    return next((events for events in (READ, WRITTEN) if name in events), None)


def _no_count(parts: Sequence[str]) -> str | None:
    value, unit, percent = parts[0], parts[1], parts[4]
    if value == "<not supported>":
        return "it does not count"
    if value == "<not counted>":
        return "its counter was never free in the window"
    try:
        count, running = float(value), float(percent) / 100
    except ValueError:
        return f"perf stat says {shortened(value)!r}"
    if unit != "MiB" or not (math.isfinite(count) and count >= 0):
        return f"perf stat says {shortened(f'{value} {unit}')!r}, which is not a number of MiB"
    if not LEAST_RUNNING <= running <= 1.001:
        return f"its counter was shared, and counted in {100 * running:.0f} % of the window only"
    return None


def _of_resctrl(before: str, after: str) -> MemoryTraffic:
    """What the counters of all caches and groups rose by. Groups that came or went leave no figure."""
    try:
        (began_s, *first), (ended_s, *last) = (list(map(float, text.split())) for text in (before, after))
    except ValueError:
        return MemoryTraffic(RESCTRL, reason=f"it says {shortened(f'{before} {after}')!r}")
    if len(first) != len(last):
        return MemoryTraffic(RESCTRL, reason="its groups changed in the window")
    rises = [end - start for start, end in zip(first, last, strict=True)]
    if not ended_s > began_s or any(not math.isfinite(rise) or rise < 0 for rise in rises):
        return MemoryTraffic(RESCTRL, reason="its counters, or the clock, went backwards")
    return MemoryTraffic(RESCTRL, total_bytes_per_s=sum(rises) / (ended_s - began_s))
