# SPDX-License-Identifier: Apache-2.0
"""What features say below the tables of power."""

from __future__ import annotations

from linewatt.core.feature import feature_functions
from linewatt.report.section import Lines
from linewatt.report.trials.digest import Digest


def feature_power_notes(view: Digest) -> list[Lines]:
    """Lists of lines, each under its title; those without lines are left out."""
    lists = (lines for notes_of in feature_functions("power_notes") for lines in notes_of(view))
    return [lines for lines in lists if lines.notes]
