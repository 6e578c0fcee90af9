# SPDX-License-Identifier: Apache-2.0
"""Where all interrupts of a host may go, put back after what moves them for good. The target is ``host``.

A CPU that goes offline takes its interrupts' affinity with it: those that may go to no other CPU are given
all that are left, and keep that (kernel, ``kernel/irq/cpuhotplug.c``). irqbalance leaves everything where it
put it last. An interrupt that may go to every CPU is not named; where irqbalance runs, it decides.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, ParseError
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command
from linewatt.tuning.setting_text import parse_words

INTERRUPTS = "interrupts"
NONE = "none"

# "present CPUS", then a line "NUMBER CPUS NAME" for each interrupt
_READ = r"""for name in /proc/[0-9]*/comm; do
  read -r program 2>/dev/null <"$name" && [ "$program" = irqbalance ] || continue
  read -r _ _ state _ 2>/dev/null <"${name%comm}stat" && [ "$state" != Z ] || continue
  echo "irqbalance runs there and moves interrupts as it likes" >&2; exit 1
done
read -r present </sys/devices/system/cpu/present || exit 1
echo "present $present"
awk '$1 ~ /^[0-9]+:$/ { sub(":", "", $1); print $1, $NF }' /proc/interrupts |
while read -r number name; do
  read -r cpus 2>/dev/null <"/proc/irq/$number/smp_affinity_list" && echo "$number $cpus $name"
done
exit 0"""

# Input: NAME=CPUS a line, for what several are called NAME#NUMBER. Others that do not go to every CPU do then
_WRITE = r"""export LC_ALL=C
read -r present </sys/devices/system/cpu/present || exit 1
awk -v present="$present" '
  function marked(list, of,    part, ends, i, at) {
    split(list, part, ",")
    for (i in part) {
      split(part[i] "-" part[i], ends, "-")
      for (at = ends[1] + 0; at <= ends[2] + 0; at++) of[at] = 1
    }
  }
  function everywhere(list,    own, at) {
    marked(list, own)
    for (at in all) if (!(at in own)) return 0
    return 1
  }
  BEGIN { marked(present, all) }
  FNR == NR { match($0, /=[^=]*$/); want[substr($0, 1, RSTART - 1)] = substr($0, RSTART + 1); next }
  $1 ~ /^[0-9]+:$/ {
    number = $1; sub(":", "", number)
    file = "/proc/irq/" number "/smp_affinity_list"
    if ((getline now <file) <= 0) next
    close(file)
    key = ($NF in want) ? $NF : $NF "#" number
    if (key in want) { if (now != want[key]) print number, want[key], $NF }
    else if (!everywhere(now)) print number, present, $NF
  }' - /proc/interrupts | {
  failed=0
  while read -r number cpus name; do
    why=$( { echo "$cpus" >"/proc/irq/$number/smp_affinity_list"; } 2>&1) && continue
    echo "interrupt $number ($name) cannot go to CPU $cpus: ${why##*: }" >&2; failed=1
  done
  exit "$failed"
}"""

_IRQ = re.compile(r"(\d+) ([\d,-]+) (\S+)", re.ASCII)


class Interrupts:
    """The canonical text is ``nvme0q0=0-3 virtio0-requests=3``, or ``none`` where each may go everywhere."""

    name = INTERRUPTS

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        head, _, lines_text = output.partition("\n")
        present = set(parse_cpulist(head.removeprefix("present ")))
        if not head.startswith("present ") or not present:
            raise ParseError(f"{head[:80]!r} does not say which CPUs there are")
        interrupts = [match.groups() for line in lines_text.splitlines() if (match := _IRQ.fullmatch(line))]
        names = [name for _, _, name in interrupts]
        narrow = sorted(
            f"{name if names.count(name) == 1 else f'{name}#{number}'}={format_cpulist(parse_cpulist(cpus))}"
            for number, cpus, name in interrupts
            if not present <= {*parse_cpulist(cpus)}
        )
        return " ".join(narrow) or NONE

    def wanted(self, before: str, value: str) -> str:
        raise ChangeError(f"{value!r}: interrupts are put back as they were, not set; see irq_affinity")

    def write(self, target: str, setting: str) -> Command:
        words = {} if setting == NONE else parse_words(setting)
        lines = "".join(f"{name}={cpus}\n" for name, cpus in words.items())
        # awk takes its second file for the first after an empty one
        return host_command(target, _WRITE, stdin=lines or "\n")
