# SPDX-License-Identifier: Apache-2.0
"""Host blocks as people paste them from a report or a terminal, as a table of host blocks. Pure.

A block begins with a line of a host and what it does, such as ``arm srv(rcv)``, and has its figures below, in
any order: a throughput with its unit, watts, and what the app CPU and the IRQ CPU did. A heading above one or
two blocks names the test, and may name the pair. ``linewatt show --detail`` prints such blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from linewatt.delimited import Row, Table
from linewatt.errors import InvalidInput
from linewatt.features.tables.imported import PARTS, REQUIRED

_RECEIVES = {"srv(rcv)": True, "clt(rcv)": True, "clt(snd)": False, "srv(snd)": False}
_ROLE = re.compile(r"(?<![\w(])(srv\(rcv\)|clt\(rcv\)|clt\(snd\)|srv\(snd\))(?!\w)")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TEST = re.compile(r"\b(tcp|udp[- ]\d+)\b", re.IGNORECASE)
_PAIR = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:→|->|=>)\s*([A-Za-z0-9][\w.-]*)")
_NUMBER = r"([0-9]*\.?[0-9]+)"
_RATE = re.compile(rf"(?<![\w.]){_NUMBER}\s*([kKMGT]?(?:bits?/s(?:ec)?|bps|b/s))(?![\w/])")
_WATTS = rf"(?:\s*\([^)]*\))?\s*[:=]?\s*{_NUMBER}\s*(?:±\s*[0-9.]+\s*)?W\b(?!/)"
_IDLE = re.compile(rf"\bidle(?:\s+power)?{_WATTS}", re.IGNORECASE)
_POWER = re.compile(rf"(?<!idle )\bpower{_WATTS}", re.IGNORECASE)
_PART = re.compile(r"^\W*(app|irq)\b", re.IGNORECASE)
_INSTANCES = re.compile(r"\b(\d+) instances?\b")
_SHARES = ("usr", "sys", "irq", "soft", "idle")
_NAMED_SHARE = re.compile(rf"%?\b({'|'.join(_SHARES)})\b\s*[:=]?\s*{_NUMBER}(?![\w.])")
_ANY_NUMBER = re.compile(rf"(?<![\w.]){_NUMBER}(?![\w.])")


@dataclass(slots=True)
class _Block:
    """One end, as far as it is read: the line that begins it, and its cells by column."""

    line: int
    host: str
    role: str
    test: str
    pair: tuple[str, str] | None
    instances: str = ""
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        return f"line {self.line}: the block of {self.host} {self.role}"


def is_block_text(text: str) -> bool:
    """Whether some line begins a block, and the first line is no header of a table."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or re.search(r"[,;\t].*[,;\t].*[,;\t]", lines[0]):
        return False
    return any(_beginning(line) is not None for line in lines)


def table_of_blocks(text: str, source: str) -> Table:
    """The blocks as a table of host blocks; rows have the lines of the text. Raises InvalidInput."""
    blocks = list(_blocks(text))
    _complete_pairs(blocks)
    shares = [f"{part}_cpu_{share}_pct" for part in PARTS for share in _SHARES]
    columns = (*REQUIRED, "instances", "power_w", "idle_w", *shares)
    return Table(
        columns,
        tuple(
            Row(number, block.line, _cells(block, columns, source), aligned=True)
            for number, block in enumerate(blocks, start=1)
        ),
    )


def _blocks(text: str) -> Iterator[_Block]:
    test, pair, instances, block = "", None, "", None
    order: Sequence[str] = _SHARES
    for number, line in enumerate(text.splitlines(), start=1):
        beginning = _beginning(line)
        if beginning is not None:
            if block is not None:
                yield block
            block = _Block(number, *beginning, test, pair, instances)
        named_test, named_pair = _TEST.search(line), _PAIR.search(line)
        if named_test:
            if block is not None and beginning is None:
                yield block
                block = None
            test = named_test.group(1).lower().replace(" ", "-")
            pair = (named_pair.group(1), named_pair.group(2)) if named_pair else None
            counted = _INSTANCES.search(line)
            instances = counted.group(1) if counted else ""
        if block is not None:
            if beginning is not None and named_test:
                block.test, block.pair = test, pair or block.pair
            names = [name for name in re.findall(r"[a-z]+", line.lower()) if name in _SHARES]
            if len(names) == len(_SHARES) and not _ANY_NUMBER.search(line):
                order = names
            _read(line, order, block.cells)
    if block is not None:
        yield block


def _beginning(line: str) -> tuple[str, str] | None:
    """The host and the role word of the line that begins a block."""
    role = _ROLE.search(line)
    if role is None:
        return None
    hosts = [*_HOST.findall(line[: role.start()])[-1:], *_HOST.findall(line[role.end() :])[:1]]
    return (hosts[0], role.group(1)) if hosts else None


def _read(line: str, order: Sequence[str], cells: dict[str, str]) -> None:
    """Take the figures of a line; the first of each counts."""
    part = _PART.match(line)
    if part is not None:
        _read_shares(line[part.end() :], part.group(1).lower(), order, cells)
        return
    rate, idle, power = _RATE.search(line), _IDLE.search(line), _POWER.search(line)
    if rate:
        cells.setdefault("throughput", rate.group(1))
        cells.setdefault("throughput_unit", rate.group(2))
    if idle:
        cells.setdefault("idle_w", idle.group(1))
    if power:
        cells.setdefault("power_w", power.group(1))


def _read_shares(rest_of_line: str, part: str, order: Sequence[str], cells: dict[str, str]) -> None:
    """The five shares of a role, each behind its name, or in the order of a header line."""
    if re.match(r"\W*(and|\+)", rest_of_line):  # one line for both roles: they cannot be told apart
        return
    named = dict(_NAMED_SHARE.findall(rest_of_line))
    numbers = _ANY_NUMBER.findall(re.sub(r"^\W*cpu\s*\d*\W", " ", rest_of_line, flags=re.IGNORECASE))
    if not named and len(numbers) == len(order):
        named = dict(zip(order, numbers, strict=True))
    if len(named) == len(_SHARES):
        for share, value in named.items():
            cells.setdefault(f"{part}_cpu_{share}_pct", value)


def _complete_pairs(blocks: Sequence[_Block]) -> None:
    """Name the pair of two ends that follow one another and whose heading names none."""
    for first, second in pairwise(blocks):
        are_ends = _RECEIVES[first.role] != _RECEIVES[second.role] and first.test == second.test
        if are_ends and first.pair is None and second.pair is None:
            receiver, sender = (first, second) if _RECEIVES[first.role] else (second, first)
            first.pair = second.pair = (sender.host, receiver.host)


def _cells(block: _Block, columns: Sequence[str], source: str) -> Mapping[str, str]:
    """The cells of a row. Raises InvalidInput for what a block has to say and does not."""
    if not block.test:
        raise InvalidInput(
            f"{block.words} has no heading above it that names a test (tcp, udp-1500 …)", where=source
        )
    if block.pair is None:
        raise InvalidInput(
            f"{block.words} has neither a heading such as 'gen -> dut' nor the other end's block beside it",
            where=source,
        )
    if "throughput" not in block.cells:
        raise InvalidInput(f"{block.words} has no throughput such as 26.8 Gbits/sec", where=source)
    sender, receiver = block.pair
    names = {
        "test": block.test,
        "receiver": receiver,
        "sender": sender,
        "host": block.host,
        "role": block.role,
        "instances": block.instances,
    }
    return {column: {**names, **block.cells}.get(column, "") for column in columns}
