# SPDX-License-Identifier: Apache-2.0
"""Cases followed over many results: where each changed for good; and named results to compare with
(docs/compare.md)."""

from linewatt.core.feature import Feature, FeatureCommand, FeatureDocument, ResultName

FEATURE = Feature(
    name="history",
    summary="cases over many results, and named results to compare with",
    commands=(
        FeatureCommand("history", "linewatt.cli.commands.history:history", "Compare"),
        FeatureCommand("baseline", "linewatt.cli.commands.baseline:baseline_app", "Compare"),
    ),
    documents=(
        FeatureDocument(
            "history",
            "`history --json`",
            "Cases and soaks over many results, and where they changed.",
            2,
            "linewatt.report.comparison.history:schema",
        ),
    ),
    result_names=(ResultName("baseline", "linewatt.store.baselines:find"),),
)
