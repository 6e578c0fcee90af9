# SPDX-License-Identifier: Apache-2.0
"""Print the document of all findings: ``python -m linewatt.findings.page > docs/findings.md``."""

from __future__ import annotations

from linewatt.findings.all_kinds import rooms
from linewatt.findings.kinds import Kind, percent
from linewatt.findings.lies import LIES, Lie
from linewatt.findings.steadiness import LIGHT_RATIO, VISIBLE_CHANGE_RATIO

_HEAD = """\
# Findings: what makes a figure doubtful, and what to do

`make findings` writes this page from the declarations in `src/linewatt/findings/` and in features.

Tables and reports show the title of a finding. JSON, CSV and SQL have its code. Below, the heading is the code, and the text begins
with the title.

A finding has a **rank**:

- *Withheld*: the figures are not shown; the reason is shown instead.
- *Doubtful*: the figures are shown with a mark.
- *Note*: it makes no figure wrong.

A finding is reported once per **scope**: campaign, host, case or trial. The evidence lists every place where
it was seen. linewatt never changes a number because of a finding.
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

Each of these errors makes a wrong figure look right. Findings report it in the result.

| where | lie | findings | other protection |
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
    facts = f"*{kind.rank.capitalize()}{figures}; once per {kind.scope}.*"
    return (  # the heading is the code alone: links name it
        f"### `{kind.code}`\n\n**{kind.title}.** {facts} {kind.means}\n\n"
        f"- **Seen**: {kind.seen}\n{_weight(kind)}- **Do**: {kind.do}\n"
    )


def _weight(kind: Kind) -> str:
    """When a finding that makes figures doubtful is only a note."""
    if kind.weighed is None:
        return ""
    figure = "CPU use" if kind.weighed == "cpu" else kind.weighed
    return (
        f"- **Weight**: only a note if all such findings together change the mean {figure} of the case by "
        f"less than half of its 95 % CI (one run: {percent(LIGHT_RATIO)}) and by less than "
        f"{percent(VISIBLE_CHANGE_RATIO)}.\n"
    )


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
