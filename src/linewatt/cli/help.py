# SPDX-License-Identifier: Apache-2.0
"""Format of ``--help``: commands grouped by purpose, descriptions in full, one metavar per value."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from linewatt.cli.output import say

GROUPS: dict[str, dict[str, str]] = {
    "Measure": {
        "plan": "Print what a campaign would do; touches no host.",
        "check": "Check hosts for anything that would spoil a result.",
        "run": "Run a campaign: each trial is stored before the next begins.",
        "resume": "Continue an interrupted campaign or soak.",
        "restore": "Undo changes that a killed campaign left on hosts.",
    },
    "Read": {
        "list": "List stored results with their main figures.",
        "show": "Show a result: throughput, limits, CPU, watts, and confidence.",
        "report": "Write a report as one file that works offline.",
        "verify": "Check a stored result against its checksums.",
        "rederive": "Recompute a result from raw files by the current method.",
        "export": "Export a result for other programs or another machine.",
        "sql": "Query results with SQL.",
    },
    "Compare": {"compare": "Compare two results, two hosts, or levels within a result."},
    "Tools": {
        "place": "Recommend CPUs for load and interrupts, with reasons.",
        "schema": "Print the JSON Schema of campaign files or JSON output.",
        "features": "List installed features of linewatt and other packages.",
    },
}
"""what commands are for → those of the core, in the order of the help, with the first paragraph of each
description, so that ``linewatt --help`` imports no command; commands of features follow"""


def group_of(command: str) -> str:
    """What a command is for."""
    return next(title for title, names in GROUPS.items() if command in names)


def summary(command: Any) -> str:
    """The first paragraph of its description."""
    return " ".join((command.help or "").split("\n\n")[0].split())


def grouped(group: Any) -> Iterator[tuple[str, list[Any]]]:
    """The commands of a program by what they are for; of a group within it, all under one title."""
    commands = group.commands
    for title, names in GROUPS.items():
        panels = [command for command in commands.values() if command.rich_help_panel == title]
        panels.sort(key=lambda command: _place(command.name, names))
        if panels:
            yield title, panels
    others = [command for command in commands.values() if command.rich_help_panel not in GROUPS]
    if others:
        yield "Commands", others


def _place(word: str, core: Collection[str]) -> tuple[int, str]:
    """Commands of the core in their order, then those of features by the alphabet."""
    return ([*core].index(word), "") if word in core else (len(core), word)


def records(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Its arguments and its options: how each is written, and what it is."""
    lines_by_kind: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.param_type_name == "argument":
            lines_by_kind["Arguments"].append((parameter.metavar or record[0], record[1]))
        elif record is not None:
            lines_by_kind["Options"].append(record)
    return lines_by_kind


class Command(TyperCommand):
    """A command whose arguments stand in its help by the name that its usage has for them."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, rows in records(self, ctx).items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def outline(word: str, group: str, first_paragraph: str) -> TyperCommand:
    """A command for ``--help`` and completions, which cannot be run: its module is not imported."""
    return TyperCommand(word, help=first_paragraph, rich_help_panel=group)


class Group(TyperGroup):
    """Commands by what they are for, each with the whole first paragraph of its description."""

    def invoke(self, ctx: Any) -> Any:
        """Say that Ctrl-C was heard: Typer alone would end without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            say("linewatt: interrupted")
            raise typer.Exit(130) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands), default=0)
        for title, commands in grouped(self):
            with formatter.section(title):
                formatter.write_dl([(f"{command.name:<{width}}", summary(command)) for command in commands])
