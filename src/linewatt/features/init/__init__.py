# SPDX-License-Identifier: Apache-2.0
"""Write a first campaign for two hosts by looking at them (docs/first-hour.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="init",
    summary="a first campaign for two hosts",
    commands=(
        FeatureCommand(
            "init",
            "linewatt.features.init.command:init",
            "Measure",
            "Write a campaign for two hosts by looking at them, and check it.",
        ),
    ),
)
