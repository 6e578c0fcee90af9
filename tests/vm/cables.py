# SPDX-License-Identifier: Apache-2.0
"""Cables of guests: pulled out of a data NIC, so that neither guest nor switch has a carrier there."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from linewatt.features.lab import api as lab
from linewatt.features.lab.guests import recipe
from linewatt.features.lab.guests.start import handed_directory
from linewatt.features.lab.state import ROOT

LIMIT_S = 30.0


@contextmanager
def pulled(one: lab.Lab, host: str, ports: Sequence[int]) -> Iterator[None]:
    """Data NICs of a guest by number, all at once; their cables are back afterwards."""
    try:
        _plug(one, host, ports, is_in=False)
        yield
    finally:
        _plug(one, host, ports, is_in=True)


def _plug(one: lab.Lab, host: str, ports: Sequence[int], *, is_in: bool) -> None:
    layout = next(each for each in one.hosts if each.name == host)
    switch, state = one.namespaces[0], "up" if is_in else "down"
    lines = "".join(f"link set {layout.ports[port].switch_port} {state}\n" for port in ports)
    subprocess.run(["ip", "-n", switch, "-batch", "-"], input=lines, text=True, check=True, timeout=LIMIT_S)
    monitor = recipe.monitor(handed_directory(layout, ROOT / one.name))
    asked = [{"execute": "set_link", "arguments": {"name": f"nic{port}", "up": is_in}} for port in ports]
    _ask(monitor, [{"execute": "qmp_capabilities"}, *asked])


def _ask(monitor: Path, commands: Sequence[dict[str, Any]]) -> None:
    """QEMU's monitor greets in a line, and answers each command in one; between them it tells of events."""
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(str(monitor))
        with connection.makefile("rw") as said:
            assert "QMP" in json.loads(said.readline())
            for command in commands:
                said.write(json.dumps(command) + "\n")
                said.flush()
                answer = next(line for line in map(json.loads, said) if "event" not in line)
                assert answer == {"return": {}}, answer
