# SPDX-License-Identifier: Apache-2.0
"""What features say below the tables of power."""

from __future__ import annotations

from linewatt.core.feature import installed_features
from linewatt.core.third_party import load
from linewatt.report.section import Lines
from linewatt.report.trials.digest import Digest


def feature_power_notes(view: Digest) -> list[Lines]:
    """Lists of lines, each under its title; those without lines are left out."""
    lists = [
        load(item.feature.power_notes, f"feature {item.feature.name!r}")(view)
        for item in installed_features()
        if item.feature.power_notes
    ]
    return [lines for lines in lists if lines.notes]
