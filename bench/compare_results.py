# SPDX-License-Identifier: Apache-2.0
"""Two large results as campaigns store them, without what comparing does not read: samples and raw output."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from linewatt.model import Case, CpuShares, EndResult, InstanceResult, PowerResult, Role, Trial, Window
from linewatt.store.write import text_of

CASES, TRIALS = 1000, 10
_CREATED_S = 1_767_225_600.0
_COUNTERS = 130
"""as many as netcounters gives on a host with two CPUs"""


def write_pair(root: Path, cases: int = CASES, trials: int = TRIALS) -> tuple[Path, Path]:
    """Results A and B below ``root``: in B every tenth case is 5 % slower."""
    return (
        write_one(root / "20260101-000000-base", cases, trials, seed=1, slower=0.0),
        write_one(root / "20260102-000000-new", cases, trials, seed=2, slower=0.05),
    )


def write_one(path: Path, cases: int, trials: int, *, seed: int, slower: float = 0.0) -> Path:
    draw = random.Random(seed)  # noqa: S311
    (path / "trials").mkdir(parents=True)
    manifest = _manifest(path.name, cases * trials, _CREATED_S + 86_400 * seed)
    (path / "manifest.json").write_text(json.dumps(manifest, indent=1))
    number = 0
    for repetition in range(1, trials + 1):
        for at in range(cases):
            number += 1
            case = Case("tcp", "gen", "dut", instances=1 + at % 25, streams=1 + at // 25)
            factor = (1 - slower * (at % 10 == 0)) * draw.gauss(1, 0.02)
            one = _trial(number, repetition, case, 94e9 * factor, 13 * draw.gauss(1, 0.02))
            directory = path / "trials" / f"{number:05d}"
            directory.mkdir()
            (directory / "trial.json").write_text(text_of(one))
    return path


def _manifest(name: str, planned: int, created_s: float) -> dict[str, Any]:
    facts = {"kernel": {"release": "6.12.0"}, "tools": {"iperf3": "iperf 3.18 (cJSON 1.7.15)"}}
    hosts = {host: {"name": host, "address": "192.0.2.1", "data": "eth1", "facts": facts} for host in _HOSTS}
    return {
        "schema_version": 1,
        "id": name,
        "name": name,
        "linewatt_version": "0.1.0",
        "created_s": created_s,
        "campaign": {"window_s": 60.0, "omit_s": 5.0},
        "trials_planned": planned,
        "hosts": hosts,
    }


_HOSTS = ("gen", "dut")


def _trial(number: int, repetition: int, case: Case, bps: float, cores: float) -> Trial:
    began_s = _CREATED_S + 70.0 * number
    instance = InstanceResult(1, 5201, "0", "0", began_s, began_s, bps / case.instances, bps / case.instances)
    return Trial(
        number=number,
        repetition=repetition,
        case=case,
        case_key=case.key,
        status="done",
        started_s=began_s,
        window=Window(began_s + 5, began_s + 65),
        throughput_bps=bps,
        offered_bps=bps,
        retransmits=0,
        start_skew_s=0.001,
        sender=_end("gen", "sender", cores),
        receiver=_end("dut", "receiver", cores),
        instances=tuple(replace(instance, instance=at + 1) for at in range(min(4, case.instances))),
        clock=dict.fromkeys(_HOSTS, (0.0001, 0.00005)),
        overhead_s=0.04,
    )


def _end(host: str, role: Role, cores: float) -> EndResult:
    shares = CpuShares((0, 1, 2, 3), 0.1, 0.4, 0.01, 0.3, 0.19, 0.0)
    watts = PowerResult("bmc", "PSU1 Power Out", "psu-out:PSU1", "measured", "IPMI", 250 + cores, 15e3, 300.0)
    return EndResult(
        host=host,
        role=role,
        cpu_cores=cores,
        app_cpu=shares,
        irq_cpu=shares,
        load_cpu_cores=cores,
        base_frequency_hz=3.2e9,
        counters={f"nstat.TcpExtCounter{at}": 1234.567 * at for at in range(_COUNTERS)},
        power=(watts, replace(watts, channel="PSU2 Power Out", scope="psu-out:PSU2")),
        settings={"mtu eth1": "1500", "irq-affinity eth1": "16-31"},
    )
