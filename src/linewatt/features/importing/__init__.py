# SPDX-License-Identifier: Apache-2.0
"""Files that people measured by hand, published tables and bundles, stored as results (docs/import.md)."""

from linewatt.core.feature import Feature, FeatureCommand, FeatureFindings

FEATURE = Feature(
    name="importing",
    summary="import of files of other tools, published tables and bundles",
    needs=("tables",),
    commands=(
        FeatureCommand(
            "import",
            "linewatt.features.importing.command:import_command",
            "Read",
            "Store files measured by hand, a table or a bundle as a result.",
        ),
    ),
    findings=(FeatureFindings("Imports", "linewatt.features.importing.findings:KINDS"),),
)
