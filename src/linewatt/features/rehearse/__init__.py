# SPDX-License-Identifier: Apache-2.0
"""Try the changes, placement and loads of a campaign on guests shaped like its hosts (docs/rehearse.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="rehearse",
    summary="a campaign's changes tried on guests shaped like its hosts",
    needs=("lab",),
    commands=(
        FeatureCommand(
            "rehearse",
            "linewatt.features.rehearse.command:rehearse",
            "Measure",
            "Try a campaign's changes on guests shaped like its hosts.",
        ),
    ),
)
