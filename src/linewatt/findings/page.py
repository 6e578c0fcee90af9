# SPDX-License-Identifier: Apache-2.0
"""The document of all findings: ``python -m linewatt.findings.page > docs/findings.md``."""

from __future__ import annotations

from linewatt.findings.all_kinds import rooms
from linewatt.findings.kinds import Kind, percent
from linewatt.findings.lies import LIES, Lie
from linewatt.findings.steadiness import LIGHT_RATIO, VISIBLE_CHANGE_RATIO

_HEAD = """\
# Findings: what makes a figure doubtful, and what to do

Written by `make findings` from the declarations in `src/linewatt/findings/` and of features; a test fails when the two differ.

A finding has a **rank**. *Withheld*: its figures are not shown, and the reason stands in their place. *Doubtful*: they
are shown with its mark. *Note*: no figure is wrong because of it. It is told once at its **scope** (campaign, host, case
or trial), however often it was seen; the evidence lists where. Numbers are never changed because of a finding.
"""


def page() -> str:
    """The whole document."""
    sections = (_room(title, kinds) for title, kinds in rooms().items())
    return (
        "\n".join([_HEAD, *sections, _LIES, *(_lies(room, lies) for room, lies in LIES.items())]).rstrip()
        + "\n"
    )


_LIES = """\
## The lies of measurement, and what catches each

Each makes a wrong figure look right. Findings name it in the result; what else keeps it out stands beside.

| where | lie | findings | besides |
| --- | --- | --- | --- |"""


def _lies(room: str, lies: tuple[Lie, ...]) -> str:
    rows = []
    for lie in lies:
        codes = ", ".join(f"[`{code}`](#{code})" for code in lie.codes)
        rows.append(f"| {room} | {lie.lie} | {codes} | {lie.how} |")
    return "\n".join(rows)


def _room(title: str, kinds: tuple[Kind, ...]) -> str:
    return "\n".join([f"## {title}\n", *map(_entry, kinds)])


def _entry(kind: Kind) -> str:
    figures = f", on {', '.join(kind.figures).replace('_', ' ')}" if kind.figures else ""
    return (
        f"### `{kind.code}`\n\n*{kind.rank.capitalize()}{figures}; told once a {kind.scope}.* {kind.means}\n\n"
        f"- **Seen**: {kind.seen}\n{_weight(kind)}- **Do**: {kind.do}\n"
    )


def _weight(kind: Kind) -> str:
    """When it is a note although it makes figures doubtful."""
    if kind.weighed is None:
        return ""
    figure = "CPU use" if kind.weighed == "cpu" else kind.weighed
    return (
        f"- **Weight**: a note where all such findings change the mean {figure} of the case by less than half of its "
        f"95 % CI (of one run: {percent(LIGHT_RATIO)}), but never where they change it by {percent(VISIBLE_CHANGE_RATIO)} or more.\n"
    )


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
