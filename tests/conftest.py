# SPDX-License-Identifier: Apache-2.0
"""What all tests stand on, however they were launched and however busy the machine is."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile("any-pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-pace")  # the rest stays as it was, CI's fixed examples too

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="linewatt-cache-")  # not the one of who tests
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# What a script starts with `&` ignores it, and hands that down: Python then raises no KeyboardInterrupt, and
# bash cannot trap it (bash(1), SIGNALS). Processes that tests start begin with the default again.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
