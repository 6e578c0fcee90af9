# SPDX-License-Identifier: Apache-2.0
"""Modules that the answer of a campaign is made with, for a run to import while it waits for its hosts."""

from __future__ import annotations

from linewatt.core.feature import feature_modules

OF_THE_ANSWER = (
    "rich.text",
    "rich.console",
    "linewatt.report.table",
    "linewatt.report.section",
    "linewatt.report.kinds",
    "linewatt.report.printing.screen",
    "linewatt.analysis.flags.case",
    "linewatt.analysis.cases.summary",
    "linewatt.report.columns",
    "linewatt.analysis.comparison.differences",
    "linewatt.report.machine.environment",
    "linewatt.analysis.comparison.effects",
    "linewatt.store.cache",
    "linewatt.store.find",
    "linewatt.store.further",
    "linewatt.report.trials.digest",
    "linewatt.report.trials.subject",
    "linewatt.report.charts.time_series",
    "linewatt.report.trials.readings",
    "linewatt.report.trials.answer.throughput_strip",
    "linewatt.report.trials.answer.first_screen",
    "linewatt.cli.actions.show",
)
"""modules that the answer of a campaign is made with, those first that others of them import: a run imports
one at a time and stops between two when a load begins; the last alone would be a single long step"""


def answer_modules() -> tuple[str, ...]:
    """Modules that the answer of a campaign is made with: a run imports them while it waits for its hosts."""
    return (*OF_THE_ANSWER, *feature_modules("first_blocks"))
