# SPDX-License-Identifier: Apache-2.0
"""Compare two meters of a host, and correct watts by the result (docs/calibrate.md)."""

from linewatt.core.feature import (
    Feature,
    FeatureCommand,
    FeatureDocument,
    FeatureFindings,
    PowerSourceKey,
    ResultKey,
)

_CAMPAIGN_KEY = "linewatt.features.calibration.campaign_key"
_PRINTED = "linewatt.features.calibration.result"
_CORRECTIONS = "linewatt.features.calibration.correction_notes"

FEATURE = Feature(
    name="calibration",
    summary="comparison of two meters of a host, and corrected watts",
    commands=(
        FeatureCommand(
            "calibrate",
            "linewatt.features.calibration.command:calibrate",
            "Measure",
            "Compare two meters of a host: gain, offset, delay.",
        ),
    ),
    documents=(
        FeatureDocument(
            "calibration",
            "`calibration.json` …",
            "One meter of a host against another.",
            1,
            "linewatt.features.calibration.documents:schema",
        ),
    ),
    findings=(FeatureFindings("Calibrations of meters", "linewatt.features.calibration.findings:KINDS"),),
    result_keys=(
        ResultKey("calibrations", f"{_PRINTED}:calibration_documents", f"{_PRINTED}:calibrations_schema"),
        ResultKey(
            "corrections",
            f"{_PRINTED}:correction_documents",
            f"{_CORRECTIONS}:schema",
        ),
    ),
    power_source_keys=(
        PowerSourceKey(
            key="calibration",
            field_path="linewatt.features.calibration.field:FIELD",
            problems_path=f"{_CAMPAIGN_KEY}:check_calibrations",
            read_path=f"{_CAMPAIGN_KEY}:calibration_of",
            document_path="linewatt.features.calibration.documents:CalibrationUsed",
            correct_path="linewatt.features.calibration.correction:corrected",
        ),
    ),
    power_notes=f"{_PRINTED}:power_notes",
    first_blocks="linewatt.features.calibration.comparison_notes:first_blocks",
    differences="linewatt.features.calibration.differences:corrections_differ",
)
