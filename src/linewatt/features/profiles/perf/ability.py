# SPDX-License-Identifier: Apache-2.0
"""What perf(1) can do on a host, asked before anything is recorded, and what keeps it from more. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.features.profiles.perf.recording import HARDWARE_CLOCK, SOFTWARE_CLOCK
from linewatt.foreign import last_line, one_line

# $1: a CPU
SCRIPT = r"""export LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
echo "version $(perf --version 2>&1 | head -n 1)"
echo "uid $EUID"
echo "paranoid $(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)"
echo "kptr $(cat /proc/sys/kernel/kptr_restrict 2>/dev/null)"
echo "address $(head -c 16 /proc/kallsyms 2>/dev/null)"
type -P awk >/dev/null && echo "awk yes"
perf stat -x, -e cpu-clock -C "$1" -- true 2>&1 | sed 's/^/clock /'
perf stat -x, -e cycles -C "$1" -- true 2>&1 | sed 's/^/cycles /'
"""
_INSTALL = "apt-get install linux-perf (Ubuntu: linux-tools-$(uname -r)) or dnf install perf"


def command(cpu: int) -> list[str]:
    """What asks a host what perf can do on one of its CPUs."""
    return ["bash", "-c", SCRIPT, "linewatt", str(cpu)]


@dataclass(frozen=True, slots=True)
class Ability:
    """``problem`` and ``advice``: why nothing can be recorded. ``event``: what takes samples.

    ``no_counters``: why the hardware counts nothing. ``hidden``: kernel functions have no names.
    """

    version: str = ""
    problem: str = ""
    advice: str = ""
    event: str = SOFTWARE_CLOCK
    no_counters: str = ""
    hidden: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the profile should know."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.event == SOFTWARE_CLOCK:
            yield (
                f"samples are of the kernel's clock ({self.no_counters}): what runs with interrupts off is "
                "counted where they are on again"
            )
        if self.hidden:
            yield "kernel functions have no names: kernel.kptr_restrict hides their addresses; set it to 0"


def parse(text: str) -> Ability:
    """What a host answered; whatever it does not say is a problem, not an error."""
    answers: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        answers.setdefault(name, []).append(value.strip())
    version = re.match(r"perf version (\S+)", one_line(_first(answers, "version")))
    if version is None:
        return Ability(problem=_no_perf(_first(answers, "version")), advice=_INSTALL)
    if not answers.get("awk"):
        return Ability(version[1], "there is no awk, which folds stacks", "apt-get or dnf install gawk")
    if not _counts(answers.get("clock", [])):
        return Ability(version[1], *_forbidden(answers))
    counts = _counts(answers.get("cycles", []))
    return Ability(
        version[1],
        event=HARDWARE_CLOCK if counts else SOFTWARE_CLOCK,
        no_counters="" if counts else _no_counters(answers.get("cycles", [])),
        hidden=not _first(answers, "address").strip("0"),
    )


def _first(answers: dict[str, list[str]], name: str) -> str:
    return next(iter(answers.get(name, ())), "")


def _no_perf(text: str) -> str:
    if "not found for kernel" in text:  # Ubuntu's wrapper
        return one_line(f"perf is not there for its kernel: {text[:120]}")
    if not text or "not found" in text:
        return "there is no perf"
    return one_line(f"perf --version says {text[:120]!r}")


def _counts(lines: list[str]) -> bool:
    """Whether ``perf stat -x,`` counted something: ``<value>,<unit>,<event>,…``."""
    return any(re.match(r"[0-9]", line) for line in lines)


def _no_counters(lines: list[str]) -> str:
    if any("<not supported>" in line for line in lines):
        return "no hardware counters: this CPU has none, or its hypervisor passes none on"
    if any("<not counted>" in line for line in lines):
        return "hardware counters are all in use, perhaps by the NMI watchdog or another perf"
    return f"no hardware counters: {last_line(chr(10).join(lines), 'perf stat says nothing of them')}"


def _forbidden(answers: dict[str, list[str]]) -> tuple[str, str]:
    """Why nothing can be recorded, and what to do about it."""
    paranoid, uid = _first(answers, "paranoid"), _first(answers, "uid")
    if uid != "0":
        return (
            f"perf may not look at whole CPUs (not root; kernel.perf_event_paranoid {paranoid or 'unknown'})",
            "log in as root, give the host sudo: true, or sysctl kernel.perf_event_paranoid=-1",
        )
    why = last_line("\n".join(answers.get("clock", [])), "perf stat says nothing")
    return f"perf cannot look at whole CPUs: {why}", "is it in a container without CAP_PERFMON?"
