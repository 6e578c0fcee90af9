# SPDX-License-Identifier: Apache-2.0
"""Interrupts, softirqs and context switches of a machine, and the interrupts of the data interface by CPU.

One bash process reads /proc/stat (``intr``, ``ctxt``, ``softirq``) and, of /proc/interrupts, the rows of the
data interface, with builtins only, and prints one line a record. Those rows are found as the knob
irq_affinity finds them: by the device's ``msi_irqs``, or a name that has the interface or its bus address in
it; a virtual interface has none. Which of them are its queues' :mod:`linewatt.hosts.facts.interrupts` says
to both. They are looked for again every 60 records, and whenever there are more or fewer rows. Measured on a
2-CPU VM, exact accounting: 0.6 ms of CPU a record; with plain files of 64 CPUs, 400 interrupts and 64 queues
3.5 ms. With more than 4096 interrupts × CPUs, such as a queue a CPU of 128, awk counts them, and the record
has only the counts that are not 0: ``5:123`` is 123 on the sixth CPU of the list.

Both files are of the whole machine, also in a network namespace or a container. The totals of /proc/stat
have 64 bits; what a CPU counts of one interrupt, or of one kind of softirq, has 32 (kernel, fs/proc/stat.c,
struct kernel_stat, kstat_irqs), so a sum of such is again a counter of 32 bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import names_of_queues
from linewatt.model import Channel
from linewatt.sensors.base import PACED, LineSensor, PacedConfig, SensorConfig, sections_of_record

MARK = "linewatt-interrupts"
TOTALS = {"intr": "host.interrupts", "ctxt": "host.context_switches"}
SOFTIRQS = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")
"""in the kernel's order (include/linux/interrupt.h)"""
MOST_BUILTIN_CELLS = 4096
"""interrupts × CPUs of the data interface that bash reads by itself; of more, awk is cheaper"""
MOST_CELLS = 1 << 19
"""interrupts × CPUs of the data interface: more would cost its host too much each second"""
MOST_CHARACTERS = 800_000
MOST_CHARACTERS_A_S = 400_000
"""of the counts in a record: the controller takes records of 1 MiB, and 512 KiB a second"""
_SUM_BITS = 32

# $1 root of the file system, $2 interfaces, $3 interval in µs, $4 most cells for builtins, $5 for awk,
# $6 most characters of counts
_SCRIPT = (
    PACED
    + r"""
root=$1 devices=($2) interval_us=$3 builtin=$4 most=$5 characters=$6 count=0 number=0

find_rows() {  # what may be interrupts of each data interface, by their place in /proc/interrupts
  local at device path bus numbers row irq name
  heads=() places=() labels=() interrupts=0
  for at in "${!devices[@]}"; do
    device=${devices[at]} heads[at]="irq:$device" places[at]= numbers=' '
    cd -P "$root/sys/class/net/$device/device" || continue  # a virtual interface has none
    [[ ${PWD##*/} == virtio* ]] && cd ..
    bus=${PWD##*/} heads[at]+=" $bus"
    for path in msi_irqs/*; do numbers+="${path##*/} "; done
    for (( row = 1; row < ${#rows[@]}; row++ )); do
      name=${rows[row]} irq=${rows[row]%%:*}
      name=${name:${#name} > 200 ? ${#name} - 200 : 0}  # a pattern over all of a long row takes its square
      name=${name##* }
      irq=${irq//[[:space:]]}
      [[ $irq == *[!0-9]* ]] && continue
      [[ $numbers == *" $irq "* || $name == *"$bus"* ||
        $name =~ (^|[^A-Za-z0-9])"$device"([^A-Za-z0-9]|$) ]] || continue
      places[at]+=" $row" labels[row]="$irq ${name//[;|]/_}" interrupts=$(( interrupts + 1 ))
    done
  done
} 2>/dev/null

counts_above_0() {  # a line an interface, and "whole"; $1 CPUs
  local at row
  for at in "${!devices[@]}"; do
    for row in ${places[at]}; do printf '%s\n' "$at ${labels[row]} ${rows[row]#*:}"; done
  done | awk -v cpus="$1" -v devices="${#devices[@]}" -v most="$characters" '
    { row = ";" $2 " " $3
      for (cpu = 0; cpu < cpus; cpu++) if ($(cpu + 4) != "0") row = row " " cpu ":" $(cpu + 4)
      size += length(row); if (size > most) { many = 1; exit }
      rows[$1] = rows[$1] row }
    END { if (many) exit; for (at = 0; at < devices; at++) print rows[at]; print "whole" }'
}

interrupts() {
  mapfile -t rows <"$root/proc/interrupts" || return
  local cpus=(${rows[0]}) at row words above=()
  if [[ ${#rows[@]} != "$count" ]] || (( number++ % 60 == 0 )); then
    count=${#rows[@]}
    find_rows
  fi
  if (( interrupts * ${#cpus[@]} > most )); then record+='|many'; return; fi
  if (( interrupts * ${#cpus[@]} > builtin )); then
    mapfile -t above < <(counts_above_0 "${#cpus[@]}")
    if [[ ${above[${#devices[@]}]} != whole ]]; then record+='|many'; return; fi
  fi
  set -f
  for at in "${!devices[@]}"; do
    record+="|${heads[at]}"
    [[ ${places[at]} ]] && record+=" ${cpus[*]}"
    if (( ${#above[@]} )); then record+=${above[at]}; continue; fi
    for row in ${places[at]}; do
      words=(${rows[row]})
      record+=";${labels[row]} ${words[*]:1:${#cpus[@]}}"
    done
  done
  set +f
} 2>/dev/null

stat() {
  mapfile -t rows <"$root/proc/stat" || return
  local row words
  for row in "${rows[@]}"; do
    case $row in
      intr*) words=${row:0:40}; words=(${words#intr }); record+="|intr ${words[0]}" ;;
      ctxt*) record+="|$row" ;;
      softirq*) words=($row); record+="|softirqs ${words[*]:2}" ;;
    esac
  done
} 2>/dev/null

while :; do
  now; record="linewatt-interrupts 1 $now_us"
  stat
  interrupts
  emit
done
"""
)


class InterruptsConfig(PacedConfig):
    """How often the counts are read."""


class Interrupts(LineSensor):
    """Interrupts, softirqs and context switches of the whole machine, and the data interface's own by CPU."""

    name: ClassVar[str] = "interrupts"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[SensorConfig]] = InterruptsConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(" ".join(host.interfaces), cfg.interval_s)

    def parse(self, record: str) -> dict[str, float | None]:
        """Totals since boot: ``host.interrupts``, ``host.context_switches``, ``softirqs.net_rx``; of the data
        interface ``irq.data`` and ``irq.cpu0``. Raises ParseError."""
        sections = sections_of_record(record, MARK)
        values: dict[str, float | None] = {
            channel: _number(sections[name]) for name, channel in TOTALS.items() if name in sections
        }
        kinds = zip(SOFTIRQS, sections.get("softirqs", "").split(), strict=False)
        values |= {f"softirqs.{kind}": _number(word) for kind, word in kinds}
        return values | _counts_of_data_interfaces(_by_interface(sections))

    def reasons(self, record: str) -> dict[str, str]:
        """Why there are none of a kind. Raises ParseError."""
        sections = sections_of_record(record, MARK)
        reasons = {} if "intr" in sections else {"host": "no /proc/stat", "softirqs": "no /proc/stat"}
        if "many" in sections:
            reasons["irq"] = (
                f"too many interrupts × CPUs of the data interface (over {MOST_CELLS}, or over "
                f"{MOST_BUILTIN_CELLS} on a host without awk or with counts on most CPUs): not counted"
            )
        elif not _counts_of_data_interfaces(_by_interface(sections)):
            without = [device for device, text in _by_interface(sections).items() if ";" not in text]
            whose = "the data interface" if len(_by_interface(sections)) < 2 else " and ".join(without)
            why = "have no interrupts of their own" if len(without) > 1 else "has no interrupts of its own"
            reasons["irq"] = f"{whose} {why}, or its host does not tell"
        return reasons

    def channel(self, name: str) -> Channel:
        """Raises ParseError for a name that cannot be."""
        group, _, quantity = name.partition(".")
        if name in TOTALS.values():
            return Channel(name, "count", "counter", scope="machine", bits=64)
        if group == "softirqs" and quantity in SOFTIRQS:
            return Channel(name, "count", "counter", scope="machine", bits=_SUM_BITS)
        if re.fullmatch(r"irq\.(data|cpu\d+)", name, re.ASCII):
            scope = "nic:data" if quantity == "data" else f"cpu:{quantity[3:]}"
            return Channel(name, "count", "counter", scope=scope, bits=_SUM_BITS)
        raise ParseError(f"interrupts delivers no channel {name!r}")


def command(interfaces: str, interval_s: float, root: str = "") -> list[str]:
    """The streaming process; ``root`` is put in front of /proc and /sys (for tests)."""
    characters = min(MOST_CHARACTERS, round(MOST_CHARACTERS_A_S * interval_s))
    limits = (MOST_BUILTIN_CELLS, MOST_CELLS, characters)
    words = [root, interfaces, str(round(interval_s * 1e6)), *map(str, limits)]
    return ["bash", "-c", _SCRIPT, MARK, *words]


def _by_interface(sections: Mapping[str, str]) -> dict[str, str]:
    """Data interface → what is said of its interrupts."""
    return {name.partition(":")[2]: text for name, text in sections.items() if name.startswith("irq:")}


def _counts_of_data_interfaces(rows_by_device: Mapping[str, str]) -> dict[str, float | None]:
    """Interrupts of the data interfaces, in sum and by CPU; empty where an interface has none."""
    counted: dict[str, list[str]] = {}
    cpus: list[str] = []
    for device, text in rows_by_device.items():
        head, *rows = (row.split() for row in text.split(";"))
        bus, cpus = head[0] if head else "", head[1:]
        if not rows:
            return {}
        rows = [[*row[:2], *_count_for_each_cpu(row[2:], len(cpus))] for row in rows]
        queues = names_of_queues(tuple(row[1] for row in rows), device, bus)
        counted |= {number: counts for number, name, *counts in rows if name in queues}
    sums = [sum(map(_number, counts)) % 2**_SUM_BITS for counts in zip(*counted.values(), strict=True)]
    per_cpu: dict[str, float | None] = {f"irq.{cpu.lower()}": n for cpu, n in zip(cpus, sums, strict=True)}
    return {"irq.data": sum(sums) % 2**_SUM_BITS, **per_cpu} if sums else {}


def _count_for_each_cpu(counts: list[str], cpus: int) -> list[str]:
    """A count for each CPU of the list; of counts such as ``5:123`` the others are 0. Raises ParseError."""
    if len(counts) == cpus and not any(":" in count for count in counts):
        return counts
    counts_by_cpu = ["0"] * cpus
    for count in counts:
        cpu, colon, number = count.partition(":")
        if not colon or _number(cpu) >= cpus:
            raise ParseError("interrupts: a row of /proc/interrupts has not a count for each CPU")
        counts_by_cpu[int(cpu)] = number
    return counts_by_cpu


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text, re.ASCII):
        raise ParseError(f"interrupts: {text[:40]!r} is not a count")
    return int(text)


SENSOR = Interrupts()
