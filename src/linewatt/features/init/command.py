# SPDX-License-Identifier: Apache-2.0
"""``linewatt init``: from two SSH names to a campaign file."""

from __future__ import annotations

from pathlib import Path

import typer

_SENDER = typer.Argument(..., metavar="SENDER", help="The host that sends: [user@]host[:port], as for ssh.")
_RECEIVER = typer.Argument(..., metavar="RECEIVER", help="The host that receives; it is the one under test.")
_OUTPUT = typer.Option(None, "--output", "-o", metavar="FILE", help="Left out: SENDER-RECEIVER.yaml.")


def init(sender: str = _SENDER, receiver: str = _RECEIVER, output: Path | None = _OUTPUT) -> None:
    """Write a campaign for two hosts by looking at them, and check it.

    Data interfaces are those through which the two reach each other, not that of SSH if there is another.
    Nothing on the hosts is changed.
    """
    from linewatt.features.init.action import write_campaign

    write_campaign(sender, receiver, output)
