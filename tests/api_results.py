# SPDX-License-Identifier: Apache-2.0
"""Results as somebody who calls the Python API finds them: two nights of the same campaign, with samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.compare_factories import made
from tests.report_factories import demo_trials, powered, renumbered, scaling_trials, stored

from linewatt.features.history import baselines
from linewatt.model import Channel, Sample, Trial
from linewatt.store import read
from linewatt.store.samples import Origin, Series, write_samples

FIRST, SECOND = "20260101-000000-nightly", "20260102-000000-nightly"
_WATTS = Channel("PSU1 Power Out", "W", "gauge", "psu-out:PSU1", "simulated")


CAMPAIGN = """
name: two-hosts
hosts:
  gen: {address: 192.0.2.11, user: perf, sudo: true, data: enp1s0f0np0}
  dut: {address: 192.0.2.10, user: perf, sudo: true, data: enp1s0f0np0}
pairs: ["gen -> dut"]
tests: [tcp, udp-1500, udp-60]
instances: [1, 2, 4, 8]
trials: 10
window: {seconds: 60, omit: 5}
"""


def write(root: Path, *, slower: float = 0.9) -> Path:
    """``results`` below a folder: the baseline ``night``, and one that is ``slower``; and a campaign file."""
    results = root / "results"
    for day, ratio in ((1, 1.0), (2, slower)):
        trials = renumbered(powered(scaling_trials((1, 2, 4), trials=4)), demo_trials()[9:])
        path = stored(results, made("nightly", [_times(one, ratio) for one in trials], day=day))
        for one in trials:
            _write_samples(path, one)
    baselines.put(results, "night", results / FIRST, 1.767e9)
    (root / "two-hosts.yaml").write_text(CAMPAIGN)
    return results


def _times(trial: Trial, ratio: float) -> Trial:
    bps = trial.throughput_bps
    return replace(trial, throughput_bps=None if bps is None else bps * ratio)


def _write_samples(result: Path, trial: Trial) -> None:
    assert trial.window is not None
    readings = [
        Sample(trial.window.start_s + second, _WATTS.name, None if second == 3 else 200.0 + second, 0.0, why)
        for second, why in ((1, None), (2, None), (3, "no answer within 5 s"))
    ]
    series = Series("h2", "bmc", {_WATTS.name: _WATTS}, readings)
    folder = read.trial_dirs(result)[trial.number - 1]
    write_samples(folder / "samples.parquet", [series], Origin(result.name, trial.number))
