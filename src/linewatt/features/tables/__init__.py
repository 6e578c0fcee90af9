# SPDX-License-Identifier: Apache-2.0
"""Tables that others published as results, and figures made of tables (docs/tables.md)."""

from linewatt.core.feature import Feature, FeatureCommand, FeatureResultKind

FEATURE = Feature(
    name="tables",
    summary="tables that others published, and figures made of tables",
    commands=(
        FeatureCommand(
            "fit",
            "linewatt.features.tables.fit_command:fit_app",
            "Read",
            "Fit a model to readings: what a bit and a packet cost.",
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
            "Say what a series shows: regimes, knee, limits, ceilings.",
        ),
    ),
    result_kind=FeatureResultKind(
        is_of_path="linewatt.features.tables.result_mark:is_of",
        path="linewatt.features.tables.result_kind:KIND",
    ),
)
