# SPDX-License-Identifier: Apache-2.0
"""Making a lab: files, namespaces and networks, hosts with their sshd; then waiting until every one answers."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from linewatt.errors import LabError
from linewatt.lab import recipe
from linewatt.lab.keys import make_key, write_private
from linewatt.lab.layout import SSH_PORT, HostLayout, Layout
from linewatt.lab.system import Tools, run_batch, tool_environment

PRIVILEGE_SEPARATION = Path("/run/sshd")
"""sshd refuses to start without it; a package's service makes it, a machine without that service has none."""

_START_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 20.0
_RETRY_S = 0.005


def build(layout: Layout, directory: Path, tools: Tools, lock: int) -> None:
    """Make everything in ``layout``; every tool started holds ``lock``. Raises LabError, leaving what it made."""
    what = f"lab {layout.name}"
    run_batch([tools.ip, "-batch", "-"], recipe.root_batch(layout), what=what, lock=lock)
    run_batch([tools.ip, "-n", layout.switch_namespace, "-batch", "-"], recipe.switch_batch(layout), what=what, lock=lock)
    write_files(layout, directory, tools)
    start_hosts(layout, directory, tools, lock)
    wait_for_hosts(layout, directory)


def write_files(layout: Layout, directory: Path, tools: Tools) -> None:
    """Keys, sshd configurations, homes and the inventory."""
    user = make_key()
    write_private(directory / "id_ed25519", user)
    (directory / "authorized_keys").write_text(f"{user.public} linewatt-lab-{layout.name}\n")
    public_keys = {}
    for host in layout.hosts:
        key = make_key()
        public_keys[host.name] = key.public
        write_private(directory / f"{host.name}.key", key)
        config = recipe.sshd_config(host, directory, source_penalties=tools.sshd_version >= (9, 8))
        (directory / f"{host.name}.conf").write_text(config)
        (directory / "home" / host.name).mkdir(parents=True)
    (directory / "known_hosts").write_text(recipe.known_hosts(layout, public_keys))
    (directory / "inventory.yaml").write_text(recipe.inventory(layout, directory))


def start_hosts(layout: Layout, directory: Path, tools: Tools, lock: int) -> None:
    """Run the start script in every host's namespace, all at once."""
    PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    with tempfile.TemporaryFile("w+") as said:
        started = [_start(layout, host, directory, tools, lock, said.fileno()) for host in layout.hosts]
        deadline = time.monotonic() + _START_LIMIT_S
        statuses = [process.wait(max(0.0, deadline - time.monotonic())) for process in started]
        if any(statuses):
            said.seek(0)
            failed = [host.name for host, status in zip(layout.hosts, statuses, strict=True) if status]
            raise LabError(f"lab {layout.name}: {_some(failed)} did not start: {' '.join(said.read().split())}")


def _start(
    layout: Layout, host: HostLayout, directory: Path, tools: Tools, lock: int, said: int
) -> subprocess.Popen[bytes]:
    arguments = recipe.start_arguments(layout, host, tools.sshd, directory)
    return subprocess.Popen(
        [tools.ip, "netns", "exec", host.namespace, "sh", "-c", recipe.START_HOST, "linewatt-lab", *arguments],
        stdin=lock,
        stdout=said,
        stderr=said,
        env=tool_environment(),
    )


def wait_for_hosts(layout: Layout, directory: Path) -> None:
    """Until every host's sshd accepts a connection. Raises LabError naming those that do not, and their log."""
    deadline = time.monotonic() + _ANSWER_LIMIT_S
    for host in layout.hosts:
        while not answers(host.address):
            if time.monotonic() > deadline:
                log = directory / f"{host.name}.log"
                said = " ".join(log.read_text(errors="replace").split()[-40:]) if log.exists() else "nothing logged"
                raise LabError(
                    f"lab {layout.name}: {host.name}: sshd at {host.address}:{SSH_PORT} accepted no connection within"
                    f" {_ANSWER_LIMIT_S:.0f} s ({said}); does a firewall of this machine drop 198.18.0.0/15?"
                )
            time.sleep(_RETRY_S)


def answers(address: str) -> bool:
    """Whether something accepts on the SSH port there, right now."""
    try:
        socket.create_connection((address, SSH_PORT), timeout=1.0).close()
    except OSError:
        return False
    return True


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
