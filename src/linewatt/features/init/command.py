# SPDX-License-Identifier: Apache-2.0
"""``linewatt init``: write a campaign file for two hosts."""

from __future__ import annotations

from pathlib import Path

import typer

_SENDER = typer.Argument(..., metavar="SENDER", help="The host that sends: [user@]host[:port], as for ssh.")
_RECEIVER = typer.Argument(..., metavar="RECEIVER", help="The host that receives: the device under test.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Default: SENDER-RECEIVER.yaml.")


def init(sender: str = _SENDER, receiver: str = _RECEIVER, output: Path | None = _OUTPUT) -> None:
    """Inspect two hosts, write a campaign for them, and check it.

    Chooses data interfaces that connect the two hosts, and avoids the SSH interface if possible. Changes
    nothing on the hosts.
    """
    from linewatt.features.init.action import write_campaign

    write_campaign(sender, receiver, output)
