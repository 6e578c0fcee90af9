# SPDX-License-Identifier: Apache-2.0
"""Inspect two hosts and write a first campaign for them (docs/first-hour.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="init",
    summary="a first campaign for two hosts",
    commands=(
        FeatureCommand(
            "init",
            "linewatt.features.init.command:init",
            "Measure",
            "Inspect two hosts, write a campaign for them, and check it.",
        ),
    ),
)
