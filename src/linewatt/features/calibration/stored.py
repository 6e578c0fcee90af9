# SPDX-License-Identifier: Apache-2.0
"""Calibrations beside a result, and those by which its watts are corrected."""

from __future__ import annotations

from pathlib import Path

from linewatt import records
from linewatt.features.calibration.documents import Calibration, CalibrationUsed
from linewatt.store import read_numbered


def calibrations(path: Path) -> tuple[Calibration, ...]:
    """Calibrations of one meter by another in a result; for each pair of meters the last.

    Raises StoreError.
    """
    by_meters = {
        (calibration.host, calibration.meter.source, calibration.reference.source): calibration
        for calibration in read_numbered(path, "calibration", Calibration)
    }
    return tuple(by_meters.values())


def calibrations_used(campaign: records.Campaign) -> dict[tuple[str, str], CalibrationUsed]:
    """(host, source) → by what its watts are corrected; those that are as read are not among them."""
    return {
        (host, source): CalibrationUsed.model_validate(settings["calibration"])
        for host, sources in campaign.power.items()
        for source, settings in sources.items()
        if settings.get("calibration") is not None
    }
