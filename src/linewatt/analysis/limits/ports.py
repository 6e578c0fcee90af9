# SPDX-License-Identifier: Apache-2.0
"""Lines of several data ports, where that of all together has room. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.findings import FULL_RATIO, IMPOSSIBLE_LINE_RATIO
from linewatt.model import PortResult, Trial


def lines_apart(trial: Trial) -> Iterator[PortResult]:
    """The ports in use whose lines may be full alone; and those that carry what they cannot."""
    if len(trial.data_ports) < 2 or not trial.line_goodput_bps or trial.throughput_bps is None:
        return
    room = trial.throughput_bps / trial.line_goodput_bps < FULL_RATIO
    for data_port in trial.data_ports:
        capacity = data_port.line_goodput_bps
        if capacity and (room or data_port.throughput_bps / capacity > IMPOSSIBLE_LINE_RATIO):
            yield data_port
