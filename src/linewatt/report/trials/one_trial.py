# SPDX-License-Identifier: Apache-2.0
"""One trial: what it measured, over time and by role, in the tables that cases have."""

from __future__ import annotations

from linewatt.analysis.cases import detail_blocks, with_flows
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import draw_figures
from linewatt.report.section import Section
from linewatt.report.trials.charts.over_time import over_time_figures
from linewatt.report.trials.detail import detail_groups
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.report.trials.roles import role_table
from linewatt.report.trials.settings.levels import level_cases, level_table
from linewatt.report.trials.settings.scalability import scalability_table


def trial_sections(view: Digest) -> list[Section]:
    """Of a result that was read with one trial alone; only sections with anything in them."""
    trials = view.result.trials
    blocks = detail_blocks(trials)
    roles = (role_table(group, blocks) for group in view.groups)
    tables = (
        *(scalability_table(group, view.marks) for group in view.groups),
        *(level_table(level_case, view.marks) for level_case in level_cases(view.levels)),
        *(power_table(power_case, view.marks) for power_case in power_cases(view.groups)),
    )
    figures = draw_figures(over_time_figures(view, runs_of(with_flows(trials))), "time-figure")
    sections = (
        Section("What it measured", "measured", tables),
        Section("Over time", "time", figures=tuple(figures)),
        Section("CPU by role", "roles", tuple(role for role in roles if role is not None)),
        Section(
            "Each end in full",
            "detail",
            tuple(detail_group.table for detail_group in detail_groups(view, blocks)),
        ),
    )
    return [section for section in sections if section]
