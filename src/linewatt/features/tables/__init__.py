# SPDX-License-Identifier: Apache-2.0
"""Tables that others published as results, and figures made of tables (docs/tables.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="tables",
    summary="tables that others published, and figures made of tables",
    commands=(
        FeatureCommand("fit", "linewatt.features.tables.fit_command:fit_app", "Read"),
        FeatureCommand("derive", "linewatt.features.tables.derive_command:derive_command", "Tools"),
        FeatureCommand("analyze", "linewatt.features.tables.analyze_command:analyze", "Tools"),
    ),
    result_kind="linewatt.features.tables.result_kind:KIND",
)
