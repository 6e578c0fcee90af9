# SPDX-License-Identifier: Apache-2.0
"""Hosts on this machine: network namespaces, or virtual machines, each with a real sshd (docs/lab.md).

``api.up(LabRequest(...))`` gives a ``Lab`` with the ``inventory`` that a campaign can name;
``api.down(name)`` leaves nothing of it; ``api.status()`` says what there is.
"""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="lab",
    summary="test hosts on this machine: namespaces or virtual machines",
    commands=(
        FeatureCommand(
            "lab",
            "linewatt.features.lab.commands.lab:lab_app",
            "Tools",
            "Bring up hosts as namespaces or virtual machines.",
        ),
        FeatureCommand(
            "demo",
            "linewatt.features.lab.commands.demo:demo",
            "Tools",
            "Run and report the example campaign on two simulated hosts.",
        ),
    ),
)
