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
        return sorted(self.children.values(), key=lambda child: (-child.samples, child.function.symbol))


def call_tree(host: HostProfile, place: Place) -> Node:
    """All busy stacks of the CPUs of a place below one root; the first step below it are processes."""
    root = Node(Function("all", ""))
    cpus = set(host.cpus.get(place, ()))
    counts: dict[int, int] = {}
    for count in host.counts:
        if count.cpu in cpus:
            counts[count.stack] = counts.get(count.stack, 0) + count.samples
    for number, samples in counts.items():
        stack = host.stacks[number]
        functions = host.called(stack)
        if group_of(functions) == IDLE:
            continue
        node = root
        node.samples += samples
        for function in (
            Function(stack.process, ""),
            *(function for function in functions if function.symbol != OUTSIDE),
        ):
            node = node.children.setdefault(function, Node(function))
            node.samples += samples
    return root


def call_graph(root: Node, least_ratio: float = LEAST_RATIO) -> list[str]:
    """As ``perf report -g caller`` prints it: percent of busy samples, single calls below each other."""
    min_samples = max(1.0, least_ratio * root.samples)
    return [
        line
        for node in root.sorted
        if node.samples >= min_samples
        for line in _top(node, root.samples, min_samples)
    ]


def _top(node: Node, total_samples: int, min_samples: float) -> Iterator[str]:
    yield f"{node.samples / total_samples:7.2%}  {node.function.symbol}"
    yield from _below(node, total_samples, min_samples, "         ", 1)


def _below(node: Node, total_samples: int, min_samples: float, indent: str, depth: int) -> Iterator[str]:
    shown = [child for child in node.sorted if child.samples >= min_samples]
    if len(shown) == 1 and shown[0].samples > node.samples - min_samples:
        yield f"{indent}{shown[0].function.symbol}"
        yield from _below(shown[0], total_samples, min_samples, indent, depth)
        return
    if depth > _DEEPEST:
        return
    for number, child in enumerate(shown):
        yield f"{indent}|--{child.samples / total_samples:.2%}--{child.function.symbol}"
        last = number == len(shown) - 1
        yield from _below(
            child, total_samples, min_samples, f"{indent}{' ' if last else '|'}          ", depth + 1
        )


def folded(host: HostProfile, place: Place) -> list[str]:
    """Busy stacks as flamegraph.pl and its kin read them: ``process;outermost;…;innermost samples``."""
    lines: list[str] = []

    def walk(node: Node, path: str) -> None:
        self_samples = node.samples - sum(child.samples for child in node.children.values())
        if self_samples and path:
            lines.append(f"{path} {self_samples}")
        for child in node.children.values():
            mark = "_[k]" if child.function.in_kernel else ""
            name = child.function.symbol.replace(";", ":").replace(" ", "_") + mark
            walk(child, f"{path};{name}" if path else name)

    walk(call_tree(host, place), "")
    return sorted(lines)
