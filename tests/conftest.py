# SPDX-License-Identifier: Apache-2.0
"""What all tests stand on, however they were launched and however busy the machine is."""

from __future__ import annotations

import atexit
import gc
import gzip
import json
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.charmap import charmap_file
from tests import amounts, costs, forked, pools
from xdist.scheduler import LoadScopeScheduling

settings.register_profile(
    "any-pace",
    max_examples=amounts.inputs(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate) if amounts.UNSHRUNK in os.environ else tuple(Phase),
)
settings.load_profile("any-pace")  # the rest stays as it was, CI's fixed examples too

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="linewatt-cache-")  # not the one of who tests
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


def provide_utf8_characters(file: Path) -> None:
    """Write the file in which Hypothesis keeps the characters that UTF-8 can encode: all but surrogates.

    In a new checkout each process would try to encode every character, which takes 4 CPU seconds.
    """
    if file.exists():
        return
    encodable = [[0, 0xD7FF], [0xE000, sys.maxunicode]]
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_bytes(gzip.compress(json.dumps([encodable, []]).encode()))
        new.replace(file)


# As the program has it (cli.program): with its own 700 Python looks for garbage a tenth of its time and more
gc.set_threshold(50_000, 20, 100)

# What a script starts with `&` ignores it, and hands that down: Python then raises no KeyboardInterrupt, and
# bash cannot trap it (bash(1), SIGNALS). Processes that tests start begin with the default again.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    # Without this, libraries report what was frozen as leaked when the process ends. It comes after pytest's
    # own last garbage collections, which need not look through modules and tests.
    config.add_cleanup(gc.unfreeze)
    recording = costs.record(config)
    if not recording and config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[forked.OFFERED] = str(forked.offer())  # one for all workers; counted costs need one each


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    # What tests look for stands in one line, however long; widths have tests of their own
    if session.config.pluginmanager.has_plugin("terminalreporter"):
        writer = session.config.get_terminal_writer()
        writer.fullwidth = writer.fullwidth  # pytest's own stays what it is
    os.environ["COLUMNS"] = "100000"
    provide_utf8_characters(charmap_file("codec-v2-utf-8"))  # Hypothesis warns of plugins that do so before


def pytest_collection_finish() -> None:
    """Modules and tests live as long as the process: no garbage collection looks through them again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = pools.unit
    return scheduling


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side, what takes longest begins first; a run with a time limit keeps the order of its files."""
    if "PYTEST_XDIST_WORKER" in os.environ and not config.getoption("session_timeout"):
        units: dict[str, list[pytest.Item]] = {}
        for item in items:
            units.setdefault(pools.unit(item.nodeid), []).append(item)
        items[:] = [item for unit in sorted(units, key=pools.begins) for item in units[unit]]
