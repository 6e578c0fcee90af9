# SPDX-License-Identifier: Apache-2.0
"""Results on disk with samples of throughput, CPUs, watts and fans: a reading of each a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.report_factories import result, stored

from linewatt.model import Channel, Provenance, Sample, Trial
from linewatt.report.trials.digest import Digest, digest_of
from linewatt.store import read
from linewatt.store.samples import Origin, Series, write_samples

Values = Mapping[str, tuple[str, float | None]]
"""channel → (unit, value)"""
SCOPES = {"psu-out PSU1": "psu-out:PSU1", "psu-out PSU2": "psu-out:PSU2", "cpu": "cpu"}


def of_bmc(at: int) -> Values:
    """Two supplies, of which the second one was not read at 3 s, the CPU, and two fans."""
    second = None if at == 3 else 60.0
    watts = {"psu-out PSU1": ("W", 100.0 + at), "psu-out PSU2": ("W", second), "cpu": ("W", 99.0)}
    return watts | {"FAN1": ("rpm", 4000.0), "FAN2": ("rpm", 5000.0 + at)}


def of_cpus(at: int) -> Values:
    """Three CPUs, 30 % busy each; the third is another host's."""
    shares = {"idle": 0.5, "iowait": 0.15, "steal": 0.05}
    return {f"cpu{cpu}.{name}_ratio": ("ratio", value) for cpu in range(3) for name, value in shares.items()}


def of_load(role: str, instances: int) -> Any:
    def values(at: int) -> Values:
        return {f"instance{n}.{role}.throughput_bps": ("bit/s", 1e9 + at) for n in range(instances)}

    return values


def series(name: str, source: str, start_s: float, values: Any, provenance: Provenance) -> Series:
    channels, samples = {}, []
    for at in range(-5, 66):
        for channel, (unit, value) in values(at).items():
            scope = SCOPES.get(channel) or (f"cpu:{channel[3]}" if channel[:3] == "cpu" else "host")
            kind = "mean" if unit in ("ratio", "bit/s") else "gauge"
            channels[channel] = Channel(channel, unit, kind, scope, provenance=provenance)  # type: ignore[arg-type]
            samples.append(Sample(start_s + at, channel, value))
    return Series(name, source, channels, samples)


def with_samples(root: Path, trials: Sequence[Trial], **manifest: Any) -> Digest:
    """The result on disk with a reading of everything a second, 5 s longer than the window at either end."""
    path = stored(root, result(trials, **manifest))
    for each in trials:
        assert each.window is not None
        begun = each.window.start_s
        write_samples(
            path / "trials" / f"{each.number:05d}" / "samples.parquet",
            [
                series("h2", "bmc", begun, of_bmc, "simulated"),
                series("h2", "mpstat", begun, of_cpus, "measured"),
                series("h1", "mpstat", begun, of_cpus, "measured"),
                series("h2", "iperf3", begun, of_load("receiver", each.case.instances), "measured"),
            ],
            Origin(path.name, each.number),
        )
    return digest_of(read.load_result(path))
