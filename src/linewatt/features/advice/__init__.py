# SPDX-License-Identifier: Apache-2.0
"""What could be built differently, from measured figures alone: how many servers a target takes, and which
power supplies suit a server (docs/advise.md)."""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="advice",
    summary="how many servers a target takes, and which power supplies suit one",
    commands=(FeatureCommand("advise", "linewatt.cli.commands.advise:advise_app", "Tools"),),
    power_notes="linewatt.report.trials.power.psu:power_notes",
)
