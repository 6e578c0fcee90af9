# SPDX-License-Identifier: Apache-2.0
"""Tables that others published as results, and figures made of tables (docs/import.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="tables",
    summary="tables that others published, and figures made of tables",
    commands=(
        FeatureCommand("fit", "linewatt.cli.commands.fit:fit_app", "Read"),
        FeatureCommand("derive", "linewatt.cli.commands.derive:derive_command", "Tools"),
        FeatureCommand("analyze", "linewatt.cli.commands.analyze:analyze", "Tools"),
    ),
    result_kind="linewatt.report.published.kind:KIND",
)
