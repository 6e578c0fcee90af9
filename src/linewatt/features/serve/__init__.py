# SPDX-License-Identifier: Apache-2.0
"""Results, and runs as they go on, in a browser (docs/serve.md, docs/live.md).

``broadcast/`` is the side of the run: it tells watchers in other processes what happens. All else is the side
of the web server.
"""

from linewatt.core.feature import Feature, FeatureCommand

FEATURE = Feature(
    name="serve",
    summary="results, and runs as they go on, in a browser",
    commands=(FeatureCommand("serve", "linewatt.features.serve.command:serve", "Read"),),
    run_observer="linewatt.features.serve.broadcast.broadcast:Broadcast",
)
