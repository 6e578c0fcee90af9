# SPDX-License-Identifier: Apache-2.0
"""Follow cases over many results and find lasting changes; name results to compare with (docs/history.md)."""

from linewatt.core.feature import Feature, FeatureCommand, FeatureDocument, ResultName

FEATURE = Feature(
    name="history",
    summary="changes over many results, and named baselines",
    commands=(
        FeatureCommand(
            "history",
            "linewatt.features.history.command:history",
            "Compare",
            "Follow each case over all results and find lasting changes.",
        ),
        FeatureCommand(
            "baseline",
            "linewatt.features.history.baseline_command:baseline_app",
            "Compare",
            "Name results to compare other results with: baseline:NAME.",
        ),
    ),
    documents=(
        FeatureDocument(
            "history",
            "`history --json`",
            "Cases and soaks over many results, and where they changed.",
            2,
            "linewatt.features.history.report:schema",
        ),
    ),
    result_names=(ResultName("baseline", "linewatt.features.history.baselines:find"),),
)
