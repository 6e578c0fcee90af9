# SPDX-License-Identifier: Apache-2.0
"""Call graphs: stacks joined where they are alike from the outermost function on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from linewatt.features.profiles.analysis.groups import IDLE, group_of
from linewatt.features.profiles.perf.model import OUTSIDE, Function, HostProfile, Place

LEAST_RATIO = 0.01
"""of all busy samples, below which a call is left out of a text"""
_DEEPEST = 48
"""steps that a text indents"""


@dataclass(slots=True)
class Node:
    """A function as it was called from where its parents say; ``samples`` with whatever it called."""

    function: Function
    samples: int = 0
    children: dict[Function, Node] = field(default_factory=dict)

    @property
    def sorted(self) -> list[Node]:
        """What it called, most samples first."""
        return sorted(self.children.values(), key=lambda one: (-one.samples, one.function.symbol))


def call_tree(host: HostProfile, place: Place) -> Node:
    """All busy stacks of the CPUs of a place below one root; the first step below it are processes."""
    root = Node(Function("all", ""))
    cpus = set(host.cpus.get(place, ()))
    counts: dict[int, int] = {}
    for one in host.counts:
        if one.cpu in cpus:
            counts[one.stack] = counts.get(one.stack, 0) + one.samples
    for number, samples in counts.items():
        stack = host.stacks[number]
        functions = host.called(stack)
        if group_of(functions) == IDLE:
            continue
        node = root
        node.samples += samples
        for function in (Function(stack.process, ""), *(one for one in functions if one.symbol != OUTSIDE)):
            node = node.children.setdefault(function, Node(function))
            node.samples += samples
    return root


def call_graph(root: Node, least_ratio: float = LEAST_RATIO) -> list[str]:
    """As ``perf report -g caller`` prints it: percent of busy samples, single calls below each other."""
    least = max(1.0, least_ratio * root.samples)
    return [line for node in root.sorted if node.samples >= least for line in _top(node, root.samples, least)]


def _top(node: Node, whole: int, least: float) -> Iterator[str]:
    yield f"{node.samples / whole:7.2%}  {node.function.symbol}"
    yield from _below(node, whole, least, "         ", 1)


def _below(node: Node, whole: int, least: float, indent: str, depth: int) -> Iterator[str]:
    shown = [one for one in node.sorted if one.samples >= least]
    if len(shown) == 1 and shown[0].samples > node.samples - least:
        yield f"{indent}{shown[0].function.symbol}"
        yield from _below(shown[0], whole, least, indent, depth)
        return
    if depth > _DEEPEST:
        return
    for number, one in enumerate(shown):
        yield f"{indent}|--{one.samples / whole:.2%}--{one.function.symbol}"
        last = number == len(shown) - 1
        yield from _below(one, whole, least, f"{indent}{' ' if last else '|'}          ", depth + 1)


def folded(host: HostProfile, place: Place) -> list[str]:
    """Busy stacks as flamegraph.pl and its kin read them: ``process;outermost;…;innermost samples``."""
    lines: list[str] = []

    def walk(node: Node, path: str) -> None:
        own = node.samples - sum(one.samples for one in node.children.values())
        if own and path:
            lines.append(f"{path} {own}")
        for one in node.children.values():
            mark = "_[k]" if one.function.in_kernel else ""
            name = one.function.symbol.replace(";", ":").replace(" ", "_") + mark
            walk(one, f"{path};{name}" if path else name)

    walk(call_tree(host, place), "")
    return sorted(lines)
