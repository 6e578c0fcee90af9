# SPDX-License-Identifier: Apache-2.0
"""What :mod:`linewatt.features.profiles.perf.recording` has a host say, as values. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linewatt.errors import ParseError
from linewatt.features.profiles.perf.counters import parse_counts
from linewatt.features.profiles.perf.memory import memory_traffic
from linewatt.features.profiles.perf.model import KERNEL, UNKNOWN, Count, Function, HostProfile, Stack
from linewatt.features.profiles.perf.recording import MARK
from linewatt.foreign import one_line

MOST_CHARACTERS = 300
"""of a name: those of C++ templates have no end"""
_KERNELS = re.compile(r"\[(?:kernel|guest\.kernel)\.kallsyms\]|\[kernel\.vmlinux\]|(?:.*/)?vmlinux(?:-.*)?")
_MODULE = re.compile(r"\[(?:guest\.kernel\.)?([\w-]+)\]|.*/([\w-]+)\.ko(?:\.\w+)?")
_NO_MODULES = ("vdso", "vsyscall", "vectors", "stack", "heap", "unknown", "uprobes", "guest")
_TOTALS = 4


@dataclass(slots=True)
class _Read:
    """What was read so far."""

    begun_s: float | None = None
    ended_s: float | None = None
    functions: list[Function] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    builds: dict[str, str] = field(default_factory=dict)
    totals: tuple[int, ...] = ()
    counted: dict[int, list[str]] = field(default_factory=dict)
    memory: list[str] = field(default_factory=list)
    ended: bool = False


def parse(text: str, empty: HostProfile, slices: int, slice_s: float) -> HostProfile:
    """The profile of a host, which ``empty`` describes; its stamps are those of the host's clock.

    Raises ParseError for what is no profile, or not the whole of one.
    """
    lines = text.splitlines()
    if MARK not in lines[:1]:
        raise ParseError("what perf recorded is not there")
    contents = _Read()
    for number, line in enumerate(lines[1:], start=2):
        try:
            _take(contents, line, slices)
        except (ValueError, IndexError) as error:
            raise ParseError(f"line {number} of the profile is not valid: {line[:60]!r}") from error
    if not contents.ended or len(contents.totals) != _TOTALS:
        raise ParseError("what perf recorded was cut off: perf script or awk ended before its end")
    samples, lost, cut, further = contents.totals
    if samples != sum(count.samples for count in contents.counts):
        raise ParseError(f"the profile's counts do not sum up to its {samples} samples")
    return replace(
        empty,
        start_s=contents.begun_s,
        end_s=contents.ended_s,
        slices=slices,
        slice_s=slice_s,
        functions=tuple(contents.functions),
        stacks=tuple(contents.stacks),
        counts=tuple(contents.counts),
        samples=samples,
        lost_samples=lost,
        cut_samples=cut,
        build_ids=contents.builds,
        counted=tuple(
            count
            for place, at in zip(empty.cpus, range(len(empty.cpus)), strict=True)
            for count in parse_counts(place, contents.counted.get(at, ()))
        ),
        memory=memory_traffic(contents.memory, slices * slice_s),
        notes=(*empty.notes, *_notes(further)),
    )


def _take(contents: _Read, line: str, slices: int) -> None:
    """One line. Raises ValueError, IndexError."""
    kind, _, body = line.partition("\t")
    if kind == "F":
        symbol, _, binary = body.partition("\t")
        contents.functions.append(function_of(symbol, binary))
    elif kind == "S":
        process, _, numbers = body.partition("\t")
        functions = tuple(map(int, numbers.split()))
        if functions and not 0 <= min(functions) <= max(functions) < len(contents.functions):
            raise ValueError("no such function")
        contents.stacks.append(Stack(one_line(process[:MOST_CHARACTERS]), functions))
    elif kind == "C":
        at, cpu, stack, samples = map(int, body.split("\t"))
        if not 0 <= stack < len(contents.stacks) or samples < 1 or cpu < 0 or at < 0:
            raise ValueError("no such stack")
        contents.counts.append(Count(min(at, slices - 1), cpu, stack, samples))
    elif kind == "N":
        place, _, text = body.partition("\t")
        contents.counted.setdefault(int(place), []).append(text)
    elif kind == "M":
        contents.memory.append(body)
    else:
        _take_words(contents, line)


def _take_words(contents: _Read, line: str) -> None:
    kind, _, body = line.partition(" ")
    if kind == "times":
        contents.begun_s, contents.ended_s = map(float, body.split())
    elif kind == "build":
        build, _, binary = body.partition(" ")
        contents.builds[binary_of(binary)] = one_line(build[:MOST_CHARACTERS])
    elif kind == "totals":
        contents.totals = tuple(map(int, body.split()))
    elif kind == "ended":
        contents.ended = body.split() == ["0", "0"]
    elif line.strip():
        raise ValueError("no such line")


def function_of(symbol: str, binary: str) -> Function:
    """As perf names it: without what only one build has in it."""
    name = one_line(symbol.strip()[:MOST_CHARACTERS]) or UNKNOWN
    return Function(
        re.sub(r"\.(?:isra|constprop|part|cold|llvm)(?:\.\d+)*(?=\.|$)", "", name), binary_of(binary)
    )


def binary_of(path: str) -> str:
    """``kernel``, ``kernel: <module>``, or the name of a program or library."""
    text = one_line(path.strip()[:MOST_CHARACTERS])
    if _KERNELS.fullmatch(text):
        return KERNEL
    module = _MODULE.fullmatch(text)
    if module is not None:
        name = module[1] or module[2]
        if name not in _NO_MODULES:
            return f"{KERNEL}: {name.replace('-', '_')}"
    if text.startswith("bpf_prog_"):
        return f"{KERNEL}: bpf"
    return text.rpartition("/")[2] or UNKNOWN


def _notes(further: int) -> Iterator[str]:
    if further:
        yield f"{further:,} samples had stacks beyond those that are told apart, and stand under [more]"
