# SPDX-License-Identifier: Apache-2.0
"""CPUs in use over a soak, of a side of the load or of one host."""

from __future__ import annotations

from dataclasses import dataclass

from linewatt.features.soak.digest import Cells, Soak


@dataclass(frozen=True, slots=True)
class CpusUsed:
    """How many CPUs there are, and cores in use by slices; None where none of them was read."""

    cpus: int
    cores: Cells


def cpus_used(soak: Soak, side: str, host: str | None = None) -> CpusUsed | None:
    """Of all hosts of a side, or of one of them; None where mpstat was not read at all.

    In a slice in which some CPUs were not read, the others stand for them.
    """
    hosts = [name for name in soak.scan.tracks if name.startswith(f"{side}|idle|")]
    idle_tracks = [soak.scan.tracks[name] for name in hosts if host in (None, name.split("|", 2)[2])]
    if not idle_tracks:
        return None
    count = sum(track.series for track in idle_tracks)
    idle, seconds = sum(track.spread for track in idle_tracks), sum(track.seconds for track in idle_tracks)
    cores = [
        max(0.0, count * (1 - float(value / read_s))) if read_s > 0 else None
        for value, read_s in zip(idle, seconds, strict=True)  # type: ignore[arg-type]
    ]
    return CpusUsed(count, cores)
