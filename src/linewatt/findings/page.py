# SPDX-License-Identifier: Apache-2.0
"""The document of all findings: ``python -m linewatt.findings.page > docs/findings.md``."""

from __future__ import annotations

from linewatt.findings import ROOMS, Kind

_HEAD = """\
# Findings: what makes a figure doubtful, and what to do

Written by `make findings` from the declarations in `src/linewatt/findings/`; a test fails when the two differ.

A finding has a **rank**. *Withheld*: its figures are not shown, and the reason stands in their place. *Doubtful*: they
are shown with its mark. *Note*: no figure is wrong because of it. It is told once at its **scope** (campaign, host, case
or trial), however often it was seen; the evidence lists where. Numbers are never changed because of a finding.
"""


def page() -> str:
    """The whole document."""
    return "\n".join([_HEAD, *(_room(title, kinds) for title, kinds in ROOMS.items())]).rstrip() + "\n"


def _room(title: str, kinds: tuple[Kind, ...]) -> str:
    return "\n".join([f"## {title}\n", *map(_entry, kinds)])


def _entry(kind: Kind) -> str:
    figures = f", on {', '.join(kind.figures).replace('_', ' ')}" if kind.figures else ""
    return (
        f"### `{kind.code}`\n\n*{kind.rank.capitalize()}{figures}; told once a {kind.scope}.* {kind.means}\n\n"
        f"- **Seen**: {kind.seen}\n- **Do**: {kind.do}\n"
    )


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
