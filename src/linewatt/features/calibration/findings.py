# SPDX-License-Identifier: Apache-2.0
"""Findings on watts that a calibration on record corrected."""

from __future__ import annotations

from linewatt.findings import Kind, percent

CALIBRATION_DAYS = 365
"""A calibration that is older is told of; laboratories calibrate meters yearly."""
BEYOND_RATIO = 0.1
"""What lies outside a calibration's staircase by more than this part of it, was not compared."""

KINDS = (
    Kind(
        "power-corrected",
        "note",
        "host",
        (),
        "Watts of a source are not as its meter read them, but corrected by a calibration that the campaign names.",
        "A calibration is named for the source, and its channels are there; the evidence has both figures of a trial.",
        "Nothing: each corrected figure is marked, and what was read is stored beside it.",
    ),
    Kind(
        "power-not-corrected",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A calibration is named for a source, and its watts are as read: they are not those that were calibrated.",
        "The channels of the calibrated scope are not the ones that were compared.",
        "Calibrate the meter as it is read now, or take the calibration out.",
    ),
    Kind(
        "calibration-extrapolated",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "Watts are corrected at a power at which nobody compared the meters: the line is only supposed to go on there.",
        f"Power or idle power lies outside of what the calibration's loads spanned by more than {percent(BEYOND_RATIO)} of it.",
        "Calibrate the meter over a load that reaches as far.",
    ),
    Kind(
        "calibration-old",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "Watts are corrected by a calibration that is so old that the meter may have drifted since.",
        f"It was made more than {CALIBRATION_DAYS} days before the trial.",
        "Calibrate the meter again: linewatt calibrate.",
    ),
)
