# SPDX-License-Identifier: Apache-2.0
"""What could be built differently, from measured figures alone: how many servers a target takes, and which
power supplies suit a server (docs/advise.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="advice",
    summary="how many servers a target takes, and which power supplies suit one",
    needs=("tables",),
    commands=(
        FeatureCommand(
            "advise",
            "linewatt.features.advice.command:advise_app",
            "Tools",
            "Say what could be built differently, from figures that are there.",
        ),
    ),
    power_notes="linewatt.features.advice.psu_report:power_notes",
)
