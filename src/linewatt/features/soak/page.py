# SPDX-License-Identifier: Apache-2.0
"""The page of a soak: one HTML file, styles and charts inside, no script, nothing loaded from anywhere."""

from __future__ import annotations

from dataclasses import replace

from jinja2 import Environment

from linewatt.features.soak.balance import BACKGROUND_BPS, CONTROL_BYTES, HEADER_BYTES, SEGMENT_BYTES
from linewatt.features.soak.charts import figures
from linewatt.features.soak.digest import Soak
from linewatt.features.soak.figures import STALL_SHARE
from linewatt.features.soak.first_screen import first_screen
from linewatt.features.soak.flags import findings, flags
from linewatt.features.soak.ledger_tables import (
    MOST_EVENTS,
    event_line,
    facts_table,
    groups_table,
    interval_table,
    ledger_table,
    part_lines,
)
from linewatt.features.soak.summary import details, summary
from linewatt.features.soak.terminal import state
from linewatt.findings import FULL_RATIO
from linewatt.report import Section, Table, legend_notes, provenance_legend
from linewatt.report.charts import Figure, draw_figures
from linewatt.report.printing import html_page


def render(soak: Soak, pages: Environment | None = None) -> str:
    """The whole page; ``pages`` are templates of a server in place of those of a file."""
    return html_page(
        "soak.html.j2",
        soak.result,
        soak.hosts,
        pages,
        soak=soak,
        kind="soak",
        complete=soak.complete,
        campaign_title="Campaign file",
        campaign_words="The file that was run.",
        elsewhere=None,
        state=state(soak),
        flags=flags(soak),
        counted=findings(soak).counted(),
        screen=first_screen(soak),
        tables=summary_tables(soak),
        figures=Section("Over time", "figures", figures=tuple(draw_figures(_figures(soak), "soak-figure"))),
        ledger=ledger_table(soak.ledger),
        intervals=Section("By interval", "intervals", (interval_table(soak),)),
        parts=part_lines(soak),
        events=[event_line(event) for event in soak.events[:MOST_EVENTS]],
        events_left=max(0, len(soak.events) - MOST_EVENTS),
        glossary=GLOSSARY,
    )


def summary_tables(soak: Soak) -> list[Table]:
    """What a soak did as a whole, and by group of clients where there are several."""
    marks = legend_notes(provenance_legend(soak.power_provenances))
    facts = facts_table("In detail", [*summary(soak), *details(soak)], marks)
    return [facts, groups_table(soak)] if len(soak.groups) > 1 else [facts]


def _figures(soak: Soak) -> list[Figure]:
    """With what they show in words below each."""
    return [
        replace(
            figure,
            caption=f"{figure.caption} {figure.description}." if figure.description else figure.caption,
            wide=True,
        )
        for figure in figures(soak)
    ]


GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Rate",
        "Payload bits a second, as the users’ data sockets counted them, both ways together; of a load "
        "beside them what receivers got. The mean is the total over the time that loads ran; peak and "
        "percentiles are of slices of one length in which loads ran all the time.",
    ),
    (
        "Received, sent",
        "Received is from the server to clients (get), sent the other way (put). Done are transfers that "
        "were whole; incomplete are bytes of those that failed or were cut when the time was over.",
    ),
    (
        "The ledger balances",
        "What clients hold for done and what the server’s log calls complete is the same to the byte, and "
        "what NICs counted lies between the payload and the payload with what protocols need: a header of at "
        f"most {HEADER_BYTES} B for each segment of {SEGMENT_BYTES:,} B and its acknowledgement, "
        f"retransmitted segments, {CONTROL_BYTES // 1024} KiB for each transfer and login, and "
        f"{BACKGROUND_BPS / 1e3:,.0f} kbit/s a host for all else on the interface.",
    ),
    (
        "Dropped or overrun",
        "Packets that counters of either end call dropped, missed, overrun or bad, at NIC, queue discipline, "
        "softnet and socket. Drivers differ in what they count, and some count one packet in two places.",
    ),
    (
        "Unexplained drops",
        "Packets that NICs of one end sent and those of the other did not receive, more than 100 of them. "
        "Few count only as far as TCP sent segments again for which no counter of either end has a cause.",
    ),
    ("Stall", f"Slices below {100 * STALL_SHARE:.0f} % of the median rate while users ran."),
    ("Slow drift", "Theil–Sen slope of the rate in parts of its median, with its 95 % interval."),
    (
        "Client CPU",
        "CPU seconds of the users’ processes for each Gbit of payload. A client is saturated from "
        f"{FULL_RATIO:g} of a core on: its users are one thread.",
    ),
    (
        "Energy per GB",
        "Mean power of a host over the soak times the time that loads ran, for each 10⁹ bytes of payload.",
    ),
    ("Users sustained", "Users that moved at least the stated rate, both ways together, on average."),
)
