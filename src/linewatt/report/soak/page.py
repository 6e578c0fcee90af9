# SPDX-License-Identifier: Apache-2.0
"""The page of a soak: one HTML file, styles and charts inside, no script, nothing loaded from anywhere."""

from __future__ import annotations

from linewatt import __version__
from linewatt.analysis.soak.ledger import COLUMNS
from linewatt.report.campaign_text import campaign_text
from linewatt.report.html import environment_of_pages
from linewatt.report.machine.environment import environment
from linewatt.report.provenance import legend
from linewatt.report.section import drawn
from linewatt.report.soak.charts import figures
from linewatt.report.soak.digest import Soak
from linewatt.report.soak.flags import flags
from linewatt.report.soak.summary import bytes_text, count_text, details, summary
from linewatt.report.soak.table import (
    INTERVAL_COLUMNS,
    MOST_EVENTS,
    TITLES,
    event_line,
    interval_rows,
    ledger_rows,
    part_lines,
)
from linewatt.report.soak.terminal import state
from linewatt.report.soak.words import GLOSSARY
from linewatt.report.trials.words import when


def render(soak: Soak) -> str:
    """The whole page."""
    manifest = soak.result.manifest
    hosts = {
        name: one if isinstance(one, dict) else {} for name, one in (manifest.get("hosts") or {}).items()
    }
    rows = ledger_rows(soak.ledger)
    pages = environment_of_pages()
    pages.filters["bytes"] = bytes_text
    pages.filters["count"] = count_text
    return pages.get_template("soak.html.j2").render(
        soak=soak,
        name=manifest.get("name") or soak.result.id,
        hosts=hosts,
        lab=any(host.get("lab") for host in hosts.values()),
        state=state(soak),
        created=when(manifest.get("created_s")),
        measured_with=manifest.get("linewatt_version"),
        campaign_text=campaign_text(manifest),
        version=__version__,
        flags=flags(soak),
        summary=summary(soak),
        details=details(soak),
        legend=legend(one.total.provenance for one in soak.power if one.total is not None),
        figures=list(drawn(figures(soak), "soak-figure")),
        columns=[TITLES[name] for name in COLUMNS],
        ledger=rows,
        reasons=list(dict.fromkeys(reason for row in rows for reason in row.reasons)),
        interval_columns=INTERVAL_COLUMNS,
        intervals=interval_rows(soak),
        parts=part_lines(soak),
        events=[event_line(one) for one in soak.events[:MOST_EVENTS]],
        events_left=max(0, len(soak.events) - MOST_EVENTS),
        environment=environment(hosts, None),
        glossary=GLOSSARY,
    )
