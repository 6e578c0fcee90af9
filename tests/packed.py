# SPDX-License-Identifier: Apache-2.0
"""What tools wrote in a trial or an idle window, unpacked as anybody would: nothing of linewatt is used."""

from __future__ import annotations

import tarfile
from pathlib import Path


def texts(folder: Path) -> dict[str, str]:
    """``<host>/<file>`` → text of what is packed beside ``folder``, as it was called when it was one."""
    with tarfile.open(f"{folder}.tar.gz") as archive:
        return {
            member.name.removeprefix(f"{folder.name}/"): content.read().decode()
            for member in archive
            if (content := archive.extractfile(member)) is not None
        }


def outputs(directory: Path, host: str) -> list[str]:
    """What the load's processes of a trial wrote on a host, in the order of the instances."""
    every = texts(directory / "raw")
    return [every[name] for name in sorted(every) if name.startswith(f"{host}/iperf3-")]
