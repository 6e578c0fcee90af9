# SPDX-License-Identifier: Apache-2.0
"""Which CPUs take the interrupts of an interface's queues, through ``/proc/irq``.

A device's interrupts are those of its PCI function (``msi_irqs``; for virtio of its parent) and those whose
name in ``/proc/interrupts`` has the interface or the PCI address in it; which of those are its queues'
:mod:`linewatt.hosts.facts.interrupts` says, and the others are left alone. They are known by name, because
numbers change when queues do.

Some drivers let the kernel manage their interrupts; it answers a write with EIO, or EPERM (seen in 6.18),
which is said by name.
Source: kernel, Documentation/core-api/irq/irq-affinity.rst.
"""

from __future__ import annotations

import re

from linewatt.errors import InvalidInput, ParseError
from linewatt.hosts.facts import format_cpulist, names_of_queues, parse_cpulist, queue_numbers
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command
from linewatt.tuning.setting_text import parse_words

# $1: interface. What names its device
_DEVICE = r"""net=/sys/class/net/$1
device=$(readlink -f "$net/device" 2>/dev/null); bus=${device##*/}
case $bus in virtio*) device=${device%/*}; bus=${device##*/} ;; esac
numbers=
for path in "$device"/msi_irqs/*; do numbers="$numbers ${path##*/}"; done
"""
_OWN = r"""BEGIN { gsub(/[^A-Za-z0-9]/, "[&]", net); net = "(^|[^A-Za-z0-9])" net "([^A-Za-z0-9]|$)" }
  function own(number, name) {
    return index(numbers, " " number " ") || name ~ net || (bus != "" && index(name, bus)) }"""

# What names the device, then a line "irq NUMBER CPUS NAME" for what may be its interrupts; the counters (one
# a CPU and interrupt, megabytes on a large host) stay there
_READ = rf"""{_DEVICE}[ -d "$net" ] || {{ echo "there is no interface $1" >&2; exit 1; }}
echo "interface $1"; echo "bus $bus"
awk -v net="$1" -v bus="$bus" -v numbers="$numbers " '
  {_OWN}
  $1 ~ /^[0-9]+:$/ {{ number = $1; sub(":", "", number)
    if (own(number, $NF)) print number, $NF }}
' /proc/interrupts | while read -r number name; do
  read -r cpus <"/proc/irq/$number/smp_affinity_list" || exit 1
  echo "irq $number $cpus $name"
done"""

# Input: NAME=CPUS a line; a name that several interrupts have is followed by # and the number. Drivers give
# several devices the same names (gve, virtio): those of others are left alone while the interface is there
_WRITE = rf"""export LC_ALL=C
{_DEVICE}[ -d "$device/msi_irqs" ] && here=1 || here=0
awk -v net="$1" -v bus="$bus" -v numbers="$numbers " -v here="$here" '
  {_OWN}
  FNR == NR {{
    match($0, /=[^=]*$/); want[substr($0, 1, RSTART - 1)] = substr($0, RSTART + 1); next }}
  $1 ~ /^[0-9]+:$/ {{ number = $1; sub(":", "", number)
    key = ($NF in want) ? $NF : $NF "#" number
    if (key in want && (!here || own(number, $NF))) print number, want[key], $NF }}
' - /proc/interrupts | while read -r number cpus name; do
  file=/proc/irq/$number/smp_affinity_list
  read -r now 2>/dev/null <"$file" && [ "$now" = "$cpus" ] && continue
  why=$( {{ echo "$cpus" >"$file"; }} 2>&1) && continue
  case $why in
    *Input/output* | *"not permitted"*) why="the kernel manages it and chooses its CPU itself" ;;
    *) why=${{why##*: }} ;;
  esac
  echo "interrupt $number ($name) cannot go to CPU $cpus: $why" >&2; exit 1
done"""

_IRQ = re.compile(r"irq (\d+) ([\d,-]+) (\S+)", re.ASCII)


class IrqAffinity:
    """CPUs of each queue's interrupt; the canonical text is ``eth0-TxRx-0=0-3 eth0-TxRx-1=4``."""

    name = "irq_affinity"
    about = "CPUs that take the interrupts of an interface's queues"
    targets = "interface with interrupts of its own"
    values = "CPU list such as `4-7`: a queue each, round robin"
    tool = "/proc/irq/…/smp_affinity_list"
    order = 130

    def check(self, value: str) -> str:
        cpus = parse_cpulist(value)
        if not cpus:
            raise InvalidInput("interrupts need a CPU; write a list like 4-7")
        return format_cpulist(cpus)

    def read(self, target: str) -> Command:
        return script_command(_READ, checked_interface(target))

    def parse(self, output: str) -> str:
        head = dict(line.split(" ", 1) for line in output.splitlines()[:2] if " " in line)
        interrupts = [match.groups() for line in output.splitlines() if (match := _IRQ.fullmatch(line))]
        if "interface" not in head:
            raise ParseError(f"the list of interrupts is cut off: {output[:80]!r}")
        if not interrupts:
            raise ParseError(
                f"{head['interface']} has no interrupts of its own (a virtual interface has none); steer its "
                "receive work with rps_cpus"
            )
        queues = names_of_queues(
            tuple(name for _, _, name in interrupts), head["interface"], head.get("bus", "")
        )
        of_queues = [interrupt for interrupt in interrupts if interrupt[2] in queues]
        names = [name for _, _, name in of_queues]
        settings = [
            (name if names.count(name) == 1 else f"{name}#{number}", format_cpulist(parse_cpulist(cpus)))
            for number, cpus, name in of_queues
        ]
        return " ".join(
            f"{name}={cpus}" for name, cpus in sorted(settings, key=lambda setting: _natural(setting[0]))
        )

    def wanted(self, before: str, value: str) -> str:
        """Both interrupts of a pair of queues go to one CPU, where a device has two a pair."""
        cpus = parse_cpulist(self.check(value))
        names = list(parse_words(before))
        turn_of = queue_numbers(names)
        if len(turn_of) < len(names):
            turn_of = {name: turn for turn, name in enumerate(names)}
        return " ".join(f"{name}={cpus[turn_of[name] % len(cpus)]}" for name in names)

    def write(self, target: str, setting: str) -> Command:
        checked_interface(target)
        lines = (f"{name}={cpus}\n" for name, cpus in parse_words(setting).items())
        return script_command(_WRITE, target, stdin="".join(lines))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


LISTED_KNOB = IrqAffinity()
