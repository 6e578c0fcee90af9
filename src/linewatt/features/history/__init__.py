# SPDX-License-Identifier: Apache-2.0
"""Follow cases over many results and find lasting changes; name results to compare with (docs/history.md)."""

from linewatt.core.feature import Feature, FeatureCommand, FeatureDocument, ResultName

FEATURE = Feature(
    name="history",
    summary="cases over many results, and named results to compare with",
    commands=(
        FeatureCommand(
            "history",
            "linewatt.features.history.command:history",
            "Compare",
            "Follow each case over all results: where it changed for good.",
        ),
        FeatureCommand(
            "baseline",
            "linewatt.features.history.baseline_command:baseline_app",
            "Compare",
            "Names of results that others are compared with: baseline:NAME.",
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
