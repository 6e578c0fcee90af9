# SPDX-License-Identifier: Apache-2.0
"""What stands at ``calibration`` of a source of power in a campaign file."""

from __future__ import annotations

from pydantic import Field

from linewatt.sensors.power import FilePath

FIELD = (
    FilePath | None,
    Field(
        default=None,
        description="A result of `linewatt calibrate`, or a calibration.json in one, relative to the file "
        "that names it: watts of this source are corrected by it, and stored as read beside that.",
    ),
)
"""its type and its field"""
