# SPDX-License-Identifier: Apache-2.0
"""What a worker says it did since it last said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linewatt.errors import ParseError
from linewatt.loads.users.tally import Tally


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What the users of one worker did from ``start_s`` to ``end_s`` (Unix seconds of its host's clock).

    Reports of a worker follow each other without a gap, so what they counted adds up. ``cpu_s`` is the CPU
    time of its process, ``cpus`` how many CPUs that can fill: one, for its users share a thread.
    ``running`` users had begun and not ended at ``end_s``.
    """

    worker: str
    start_s: float
    end_s: float
    cpu_s: float
    cpus: int
    running: int
    tally: Tally


def as_dict(report: WorkerReport) -> dict[str, Any]:
    """Plain values for JSON; :func:`from_dict` makes the same again."""
    return {
        "worker": report.worker,
        "start_s": report.start_s,
        "end_s": report.end_s,
        "cpu_s": report.cpu_s,
        "cpus": report.cpus,
        "running": report.running,
        "tally": report.tally.as_dict(),
    }


def from_dict(values: Mapping[str, Any]) -> WorkerReport:
    """Raises ParseError for what :func:`as_dict` did not make."""
    try:
        return WorkerReport(
            worker=str(values["worker"]),
            start_s=float(values["start_s"]),
            end_s=float(values["end_s"]),
            cpu_s=float(values["cpu_s"]),
            cpus=int(values["cpus"]),
            running=int(values["running"]),
            tally=Tally.from_dict(values["tally"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ParseError(f"a worker's report cannot be read: {error!r}") from error
