# SPDX-License-Identifier: Apache-2.0
"""Published tables as results, and figures derived from tables (docs/tables.md)."""

from linewatt.core.feature import Feature, FeatureCommand, FeatureResultKind

FEATURE = Feature(
    name="tables",
    summary="published tables, and figures derived from tables",
    commands=(
        FeatureCommand(
            "fit",
            "linewatt.features.tables.fit_command:fit_app",
            "Read",
            "Fit energy per bit and per packet to power readings.",
        ),
        FeatureCommand(
            "derive",
            "linewatt.features.tables.derive_command:derive_command",
            "Tools",
            "Derive efficiency, scaling and energy from a raw table.",
        ),
        FeatureCommand(
            "analyze",
            "linewatt.features.tables.analyze_command:analyze",
            "Tools",
            "Analyze a series: regimes, knee, limits, hidden ceilings.",
        ),
    ),
    result_kind=FeatureResultKind(
        is_of_path="linewatt.features.tables.result_mark:is_of",
        path="linewatt.features.tables.result_kind:KIND",
    ),
)
