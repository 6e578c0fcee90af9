# SPDX-License-Identifier: Apache-2.0
"""What a result of trials says of calibrations, in ``show --json`` and below its power."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linewatt.declare import Schema, listing
from linewatt.features.calibration import comparison_notes as words
from linewatt.features.calibration import correction_notes as corrections
from linewatt.features.calibration.documents import Calibration
from linewatt.features.calibration.stored import calibrations
from linewatt.json_document import of_class
from linewatt.report import Lines
from linewatt.report.trials import Digest


def power_notes(view: Digest) -> Iterator[Lines]:
    """What one meter of a host reads above another, then what was corrected by such a calibration."""
    yield Lines(words.TITLE, words.notes(calibrations(view.result.path)))
    yield Lines(corrections.TITLE, corrections.notes(view.result, view.describe))


def calibration_documents(view: Digest) -> list[dict[str, Any]] | None:
    """Meters that were compared over the load of a result; None where none were."""
    return [calibration.model_dump() for calibration in calibrations(view.result.path)] or None


def calibrations_schema() -> Schema:
    """Of :func:`calibration_documents`."""
    return listing(of_class(Calibration), "Meters that were compared over its load.")


def correction_documents(view: Digest) -> list[dict[str, Any]] | None:
    """Watts that a calibration corrected, beside what was read; None where none did."""
    return corrections.documents(view.result) or None
