# SPDX-License-Identifier: Apache-2.0
"""Synthetic results for the tests of what reads results: numbers follow the published x64 scaling table."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from linewatt.analysis.cases.regimes import Regime, explained
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.model import (
    METHOD,
    Case,
    CpuShares,
    EndResult,
    Flag,
    PowerResult,
    Provenance,
    Role,
    Trial,
    Window,
)
from linewatt.records import Host, Idle, Manifest
from linewatt.store.read import Result

# instances → Mbps and receiver CPU %, from the published 32-core x64 study (100 GbE)
PUBLISHED = {
    1: (24287.36, 168.66),
    2: (45148.76, 337.55),
    4: (79982.62, 673.33),
    8: (94237.26, 942.52),
    16: (110831.41, 1344.55),
}
# instances → W of PSU DC output and of the CPU, from the same study
PUBLISHED_POWER_W = {
    1: (210.01, 104.00),
    2: (216.00, 104.00),
    4: (228.50, 112.00),
    8: (339.24, 99.98),
    16: (249.00, 136.00),
}
IDLE_W = 180.0
HOSTILE = "<script>alert(1)</script>"
CREATED_S = 1_767_225_600.0

DISAGREE = Flag(
    "cpu-accounting-disagrees",
    "h2",
    "mpstat counts 0.21 cores where the load processes say they used 0.94",
    "the kernel accounts CPU by tick: trust the load's own figure, or use a kernel with exact accounting",
)
SHARED = Flag(
    "hosts-share-cpus",
    "h1, h2",
    "h1 and h2 run on CPUs 0, 1",
    "read CPU at the two ends as one figure, or give the lab a machine with more cores",
)


def shares(busy: float, *, cpus: tuple[int, ...] = (0,), soft: float = 0.0) -> CpuShares:
    """CPUs busy to ``busy`` (0..1), of which ``soft`` in softirq, the rest 1:9 in usr and sys."""
    rest = busy - soft
    return CpuShares(cpus, 0.1 * rest, 0.9 * rest, 0.0, soft, 1 - busy, 0.0)


def end(host: str, role: Role, cpu_cores: float | None, app: float, irq: float, **changes: Any) -> EndResult:
    """One end with its role CPUs busy to ``app`` and ``irq`` (0..1)."""
    base = EndResult(
        host=host,
        role=role,
        cpu_cores=cpu_cores,
        app_cpu=shares(app, cpus=(0, 1)),
        irq_cpu=shares(irq, cpus=(2, 3), soft=irq),
        load_cpu_cores=cpu_cores,
        base_frequency_hz=3.2e9,
    )
    return replace(base, **changes) if changes else base


def watts(
    scope: str, power_w: float | None, *, provenance: Provenance = "measured", **changes: Any
) -> PowerResult:
    """One power channel over a window of 60 s, read to ± 2 %."""
    base = PowerResult(
        source="bmc",
        channel=scope.replace(":", " "),
        scope=scope,
        provenance=provenance,
        method="made for a test",
        power_w=power_w,
        energy_j=None if power_w is None else 60 * power_w,
        energy_uncertainty_j=None if power_w is None else 60 * power_w * 0.02,
        step_w=1.0,
        update_s=1.0,
        tolerance_ratio=0.02,
        updates=0 if power_w is None else 60,
        reason="no answer within 5 s" if power_w is None else None,
    )
    return replace(base, **changes)


def powered(
    trials: Sequence[Trial],
    *,
    provenance: Provenance = "measured",
    ends: Sequence[Role] = ("receiver",),
    idle_w: float | None = IDLE_W,
) -> tuple[Trial, ...]:
    """The trials with the published watts of their instances at these ends: two supplies and the CPU."""
    made = []
    for each in trials:
        system_w, cpu_w = PUBLISHED_POWER_W[each.case.instances]
        half = {"idle_w": None if idle_w is None else idle_w / 2}
        power = (
            watts("psu-out:PSU1", system_w / 2, provenance=provenance, **half),
            watts("psu-out:PSU2", system_w / 2, provenance=provenance, **half),
            watts("cpu", cpu_w, provenance=provenance),
        )
        changed = {role: replace(getattr(each, role), power=power) for role in ends if getattr(each, role)}
        made.append(replace(each, **changed))
    return tuple(made)


def idle_reading(*power: PowerResult, cpu_cores: float = 0.02) -> dict[str, Any]:
    """A host in an idle window, as ``idle.json`` has it."""
    return {"cpu_cores": cpu_cores, "reason": None, "power": [asdict(one) for one in power]}


def trial(number: int, case: Case, bps: float, receiver_cores: float | None, **changes: Any) -> Trial:
    """A done trial of ``case`` with ``bps`` received."""
    udp = case.test != "tcp"
    frame_bits = {"udp-1500": 1472 * 8, "udp-60": 18 * 8}.get(case.test, 1)
    received = int(bps * 60 / frame_bits)
    base = Trial(
        number=number,
        repetition=1,
        case=case,
        case_key=case.key,
        status="done",
        started_s=CREATED_S + 70 * number,
        window=Window(CREATED_S + 70 * number + 5, CREATED_S + 70 * number + 65),
        throughput_bps=bps,
        offered_bps=bps / 0.875 if udp else bps,
        retransmits=None if udp else 40 * number,
        packets=received * 8 // 7 if udp else None,
        lost_packets=received * 8 // 7 - received if udp else None,
        lost_ratio=0.125 if udp else None,
        out_of_order_packets=0 if udp else None,
        start_skew_s=0.004,
        sender=end(
            case.sender, "sender", None if receiver_cores is None else 0.6 * receiver_cores, 0.56, 0.53
        ),
        receiver=end(case.receiver, "receiver", receiver_cores, 0.55, 0.995),
        overhead_s=0.07,
        method=METHOD,
    )
    return replace(base, **changes) if changes else base


def failed(number: int, case: Case, reason: str, **changes: Any) -> Trial:
    """A trial that came to nothing."""
    return replace(
        Trial(number, 1, case, case.key, "failed", CREATED_S + 70 * number, reason=reason, method=METHOD),
        **changes,
    )


def scaling_trials(
    counts: Iterable[int] = (1, 2, 4, 8, 16), trials: int = 3, **case: Any
) -> tuple[Trial, ...]:
    """TCP after the published table, with a spread of about 0.5 %."""
    made: list[Trial] = []
    jitter = random.Random(1)  # noqa: S311
    for count in counts:
        mbps, cpu_pct = PUBLISHED[count]
        spec = replace(Case("tcp", "h1", "h2", instances=count), **case)
        for repetition in range(1, trials + 1):
            by = 1 + jitter.uniform(-0.007, 0.007)
            cores = cpu_pct / 100 * (1 + jitter.uniform(-0.01, 0.01))
            made.append(replace(trial(len(made) + 1, spec, mbps * 1e6 * by, cores), repetition=repetition))
    return tuple(made)


def paced_trials() -> tuple[Trial, ...]:
    """One and two instances of 1 Gbps each, which arrive."""
    return tuple(
        replace(one, throughput_bps=1e9 * one.case.instances) for one in scaling_trials((1, 2), rate_bps=1e9)
    )


LEVELS = (1.0, 0.5, 0.1, 0.0)
# level → W of the system, which falls far less than the load does
LEVEL_W = {None: 250.0, 1.0: 250.0, 0.5: 210.0, 0.1: 190.0, 0.0: 180.0}


def level_trials(
    case: Case,
    *,
    maximum_bps: float = 10e9,
    met: Mapping[float, float] | None = None,
    provenance: Provenance | None = "measured",
    trials: int = 2,
) -> tuple[Trial, ...]:
    """Full rate, then the ``LEVELS`` of it, with watts at the receiver unless ``provenance`` is ``None``.

    ``met``: level → which part of what was asked for arrived; all of it where a level is not named.
    """
    made: list[Trial] = []
    for level in (None, *LEVELS):
        target_bps = None if level is None else level * maximum_bps
        for repetition in range(1, trials + 1):
            arrived = (met or {}).get(-1.0 if level is None else level, 1.0)
            bps = (maximum_bps if target_bps is None else target_bps) * arrived
            one = trial(len(made) + 1, replace(case, load_level=level), bps, 1.0, target_bps=target_bps)
            power_w = LEVEL_W[level] + repetition - 1.5
            assert one.receiver is not None
            power = () if provenance is None else (watts("system", power_w, provenance=provenance),)
            made.append(
                replace(
                    one, repetition=repetition, offered_bps=bps, receiver=replace(one.receiver, power=power)
                )
            )
    return tuple(made)


def renumbered(*groups: Sequence[Trial]) -> tuple[Trial, ...]:
    """Several groups of trials as those of one campaign."""
    flat = [each for group in groups for each in group]
    return tuple(replace(each, number=number) for number, each in enumerate(flat, start=1))


def demo_trials(trials: int = 3) -> tuple[Trial, ...]:
    """What the demo runs: TCP at 1, 2 and 4 instances, UDP 1500 and UDP 60 at one, with flags."""
    tcp = scaling_trials((1, 2, 4), trials)
    udp = []
    for test, bps, cpu in (("udp-1500", 3.7e9, 1.53), ("udp-60", 90e6, 1.59)):
        case = Case(test, "h1", "h2")
        udp += [trial(1, case, bps * (1 + 0.01 * at), cpu, repetition=at + 1) for at in range(trials)]
    made = renumbered(tcp, udp)
    first = replace(made[0], flags=(DISAGREE, SHARED))
    return (first, replace(made[1], flags=(DISAGREE,)), *made[2:])


FACTS: dict[str, dict[str, Any]] = {
    "board": {"vendor": "Example", "product": "R1", "bios": "1.4.2"},
    "cpu": {
        "model": "x64 32-core",
        "sockets": 1,
        "cores": 32,
        "base_frequency_ghz": 3.2,
        "microcode": "0xd0003a5",
        "mitigations": {"spectre_v2": "Retpolines", "mds": None},
    },
    "nic": {"model": "ConnectX-6 Dx", "driver": "mlx5_core", "firmware": "22.39.1002", "speed_gbps": 100},
    "kernel": {"release": "5.14.0-427", "cmdline": "isolcpus=0-15 quiet", "hz": 1000},
    "tuning": {"governor": "performance", "tuned": "throughput-performance", "gro": True, "tso": True},
    "tools": {"iperf3": "3.18", "mpstat": "12.7.5", "ethtool": None},
}


def host(name: str, **changes: Any) -> dict[str, Any]:
    """A host as the manifest has it."""
    return {
        "name": name,
        "address": f"192.0.2.{sum(map(ord, name)) % 250}",
        "data": "enp1s0f0np0",
        "port": 22,
        "user": "tester",
        "key_file": "/home/tester/.ssh/id_ed25519",
        "app_cpus": [0, 1],
        "irq_cpus": [2, 3],
        "lab": None,
        "shares_cpus_with": [],
        "facts": FACTS,
    } | changes


def result(trials: Sequence[Trial], *, planned: int | None = None, **manifest: Any) -> Result:
    """A result in memory."""
    names = dict.fromkeys(name for each in trials for name in (each.case.sender, each.case.receiver))
    hosts = {name: host(name) for name in names or ("h1", "h2")}
    if "h2" in hosts:
        kernel = FACTS["kernel"] | {"release": "6.9.0-0.rc4"}
        hosts["h2"] = hosts["h2"] | {"facts": FACTS | {"kernel": kernel}}
    base = {
        "schema_version": 1,
        "id": "20260101-000000-x64-scaling",
        "name": "x64-scaling",
        "linewatt_version": "0.1.0",
        "created_s": CREATED_S,
        "campaign_text": "name: x64-scaling\ntests: [tcp]\ninstances: [1, 2, 4, 8, 16]\n",
        "seed": 1,
        "order": "interleaved",
        "trials_planned": len(trials) if planned is None else planned,
        "hosts": hosts,
        "idle": {},
    } | manifest
    return result_of(base, trials)


def result_of(document: Mapping[str, Any], trials: Sequence[Trial] = ()) -> Result:
    """A result in memory; ``idle`` and ``idle_end`` of its document are hosts in such windows."""
    idle = [
        Idle.model_validate({"hosts": document[name], "after": name == "idle_end"})
        for name in ("idle", "idle_end")
        if document.get(name)
    ]
    path = Path(str(document.get("id", "id")))
    return Result(path.name, path, manifest_of(**document), tuple(trials), tuple(idle))


def hosts_of(documents: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Host]:
    """Hosts as a manifest has them."""
    return manifest_of(hosts=documents).hosts


def manifest_of(**fields: Any) -> Manifest:
    """A manifest with these fields, as it is read."""
    written = {"schema_version": 1, "trials_planned": 0, **fields}
    return Manifest.model_validate(json.loads(json.dumps(written)))


def stored(root: Path, made: Result) -> Path:
    """The result on disk, as the store lays it out (without samples)."""
    path = root / made.id
    (path / "trials").mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps(written(made.manifest)))
    for each in made.trials:
        directory = path / "trials" / f"{each.number:05d}"
        directory.mkdir()
        (directory / "trial.json").write_text(json.dumps(each, default=dataclass_fields))
    return path


def dataclass_fields(one: Any) -> dict[str, Any]:
    """Of a dataclass; ``asdict`` copies all that is in it, which takes longer than to write it."""
    return {field.name: getattr(one, field.name) for field in fields(one)}


def written(manifest: Manifest) -> dict[str, Any]:
    """The manifest as JSON has it."""
    hosts = {name: {**one.said, "facts": one.facts} for name, one in manifest.hosts.items()}
    campaign = {} if manifest.campaign is None else {"campaign": manifest.campaign.written}
    return {**manifest.as_written(), **campaign, "hosts": hosts}


def regimes(series: Sequence[CaseSummary]) -> tuple[Regime, ...]:
    """The regime of each case of a series, instances ascending."""
    return tuple(row.regime for row in explained(series))
