# SPDX-License-Identifier: Apache-2.0
"""Findings on watts corrected by a stored calibration."""

from __future__ import annotations

from linewatt.findings import Kind, percent

CALIBRATION_DAYS = 365
"""An older calibration raises a finding; laboratories calibrate meters yearly."""
BEYOND_RATIO = 0.1
"""Watts outside the calibrated range by more than this share of the range are extrapolated."""

KINDS = (
    Kind(
        "power-corrected",
        "note",
        "host",
        (),
        "Watts of a source are corrected by a calibration that the campaign names.",
        "The source has a calibration, and the calibrated channels were read; the evidence has both figures.",
        "Do nothing: each corrected figure is marked, and the reading is stored beside it.",
    ),
    Kind(
        "power-not-corrected",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "The source has a calibration, but its watts are uncorrected: other channels were calibrated.",
        "The channels read in the calibrated scope are not those of the calibration.",
        "Calibrate the channels that are read now, or remove the calibration.",
    ),
    Kind(
        "calibration-extrapolated",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "Watts are outside the calibrated range. The correction assumes that the same line continues there.",
        f"Power or idle power is outside that range by more than {percent(BEYOND_RATIO)} of the range.",
        "Calibrate the meter with loads that reach this power.",
    ),
    Kind(
        "calibration-old",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "The calibration is old: the meter may have drifted since.",
        f"It was made more than {CALIBRATION_DAYS} days before the trial.",
        "Calibrate the meter again: linewatt calibrate.",
    ),
)
