# SPDX-License-Identifier: Apache-2.0
"""The page of a soak: one HTML file, styles and charts inside, no script, nothing loaded from anywhere."""

from __future__ import annotations

from dataclasses import replace

from linewatt import __version__
from linewatt.report.campaign_text import campaign_text
from linewatt.report.charts.figure import Figure, drawn
from linewatt.report.html import environment_of_pages
from linewatt.report.machine.environment import environment
from linewatt.report.machine.side_by_side import environment_section
from linewatt.report.provenance import legend
from linewatt.report.section import Section
from linewatt.report.soak.charts import figures
from linewatt.report.soak.digest import Soak
from linewatt.report.soak.flags import flags
from linewatt.report.soak.summary import details, summary
from linewatt.report.soak.table import (
    MOST_EVENTS,
    event_line,
    facts_table,
    groups_table,
    interval_table,
    ledger_table,
    part_lines,
)
from linewatt.report.soak.terminal import state
from linewatt.report.soak.words import GLOSSARY
from linewatt.report.table import Table, legend_notes
from linewatt.report.trials.words import when


def render(soak: Soak) -> str:
    """The whole page."""
    manifest = soak.result.manifest
    hosts = {
        name: one if isinstance(one, dict) else {} for name, one in (manifest.get("hosts") or {}).items()
    }
    return (
        environment_of_pages()
        .get_template("soak.html.j2")
        .render(
            soak=soak,
            kind="soak",
            complete=soak.complete,
            campaign_title="Campaign file",
            campaign_words="The file that was run.",
            name=manifest.get("name") or soak.result.id,
            hosts=hosts,
            lab=any(host.get("lab") for host in hosts.values()),
            elsewhere=None,
            state=state(soak),
            created=when(manifest.get("created_s")),
            measured_with=manifest.get("linewatt_version"),
            campaign_text=campaign_text(manifest),
            version=__version__,
            flags=flags(soak),
            summary=summary(soak),
            tables=_summary_tables(soak),
            figures=Section("Over time", "figures", figures=tuple(drawn(_figures(soak), "soak-figure"))),
            ledger=ledger_table(soak.ledger),
            intervals=Section("By interval", "intervals", (interval_table(soak),)),
            parts=part_lines(soak),
            events=[event_line(one) for one in soak.events[:MOST_EVENTS]],
            events_left=max(0, len(soak.events) - MOST_EVENTS),
            environment=environment_section(environment(hosts, None), hosts),
            glossary=GLOSSARY,
        )
    )


def _summary_tables(soak: Soak) -> list[Table]:
    marks = legend_notes(legend(one.total.provenance for one in soak.power if one.total is not None))
    facts = facts_table("In detail", details(soak), marks)
    return [facts, groups_table(soak)] if len(soak.groups) > 1 else [facts]


def _figures(soak: Soak) -> list[Figure]:
    """With what they show in words below each."""
    return [
        replace(
            one, caption=f"{one.caption} {one.description}." if one.description else one.caption, wide=True
        )
        for one in figures(soak)
    ]
