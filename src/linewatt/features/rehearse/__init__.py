# SPDX-License-Identifier: Apache-2.0
"""A campaign's changes, placement and loads tried on guests shaped like its hosts (docs/rehearse.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="rehearse",
    summary="a campaign's changes tried on guests shaped like its hosts",
    commands=(FeatureCommand("rehearse", "linewatt.features.rehearse.command:rehearse", "Measure"),),
)
