# SPDX-License-Identifier: Apache-2.0
"""Advice from measured figures: how many servers a target needs, and which power supplies suit a server
(docs/advise.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="advice",
    summary="number of servers for a target rate, and suitable power supplies",
    needs=("tables",),
    commands=(
        FeatureCommand(
            "advise",
            "linewatt.features.advice.command:advise_app",
            "Tools",
            "Advise on fleet size and power supplies from existing figures.",
        ),
    ),
    power_notes="linewatt.features.advice.psu_report:power_notes",
)
