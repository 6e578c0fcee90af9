# SPDX-License-Identifier: Apache-2.0
"""What to do with a lab that is up: a first campaign to copy, and how to remove the lab. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

FILE = "first.yaml"
DEFAULT_NAME = "lab"


def next_step_lines(name: str, hosts: Sequence[str], inventory: Path, *, slow: bool) -> Iterator[str]:
    """``slow``: its hosts are guests on a translated processor, which an unlimited load would keep busy."""
    if len(hosts) > 1:
        yield f"next: save these lines as {FILE}, then: linewatt run {FILE}"
        yield from (f"  {line}" for line in campaign_lines(hosts, inventory, slow=slow))
    down = "linewatt lab down" if name == DEFAULT_NAME else f"linewatt lab down --name {shlex.quote(name)}"
    yield f"to remove the lab: {down}"


def campaign_lines(hosts: Sequence[str], inventory: Path, *, slow: bool) -> Iterator[str]:
    """A campaign of less than half a minute of load between the first two hosts, with short idle windows."""
    yield "name: first"
    yield f"hosts: {json.dumps(str(inventory))}"
    yield f'pairs: ["{hosts[0]} -> {hosts[1]}"]'
    yield "tests: [tcp]"
    if slow:
        yield "rate: 10M"
    yield "trials: 3"
    yield "window: {seconds: 5, omit: 1, tail: 2}"
    yield "idle: {seconds: 5}"
