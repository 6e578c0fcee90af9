# SPDX-License-Identifier: Apache-2.0
"""Stored results and running campaigns in a browser (docs/serve.md, docs/live.md).

``broadcast/`` is part of the run: it sends events to watchers in other processes. The other modules are part
of the web server.
"""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="serve",
    summary="results and running campaigns in a browser",
    needs=("history",),
    commands=(
        FeatureCommand(
            "serve",
            "linewatt.features.serve.command:serve",
            "Read",
            "Show results and running campaigns in a browser.",
        ),
    ),
    run_observer="linewatt.features.serve.broadcast.broadcast:Broadcast",
)
