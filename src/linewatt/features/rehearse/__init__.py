# SPDX-License-Identifier: Apache-2.0
"""Try changes, placement and loads of a campaign on virtual machines like its hosts (docs/rehearse.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="rehearse",
    summary="rehearsal of a campaign on virtual machines like its hosts",
    needs=("lab",),
    commands=(
        FeatureCommand(
            "rehearse",
            "linewatt.features.rehearse.command:rehearse",
            "Measure",
            "Try a campaign's changes on virtual machines like its hosts.",
        ),
    ),
)
