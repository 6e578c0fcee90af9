# SPDX-License-Identifier: Apache-2.0
"""A soak in a line of ``linewatt list``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linewatt.errors import StoreError
from linewatt.features.soak.digest import Soak, digest
from linewatt.features.soak.figures import downsample
from linewatt.features.soak.flags import findings, flags
from linewatt.features.soak.storage import FOLDER
from linewatt.report import MOST_VALUES, Best, Glance, Listed
from linewatt.store import Result, listed_files_gone
from linewatt.units import first_of

MOST_BYTES = 64 << 20
"""of a soak's samples that are read for a list; days of many hosts take tens of seconds"""
MOST_NAMED = 4


def samples_bytes(result: Result) -> int:
    """How large its samples are."""
    return sum(path.stat().st_size for path in result.path.glob("soak/part-*/chunk-*.parquet"))


def listed_soak(result: Result, heading: Mapping[str, Any]) -> Listed:
    """Its line; of one with many samples, and of a damaged one, why there is little in it."""
    size_bytes = samples_bytes(result)
    if size_bytes > MOST_BYTES:
        reason = f"{size_bytes / 1e6:,.0f} MB of samples are not read for a list; see its show"
        return Listed(heading, None, reason, _missing_parts(result))
    try:
        soak = digest(result)
        damage = [flag.evidence for flag in flags(soak) if flag.code in ("chunk-damaged", "chunk-missing")]
        count = len(findings(soak).every)
        lacks = "; ".join(damage) or None
        return Listed(heading, count, lacks=lacks, best=_best(soak), shown=count, glance=glance_of_soak(soak))
    except StoreError as error:
        return Listed(heading, None, str(error))


def _best(soak: Soak) -> Best | None:
    if soak.mean_bps is None:
        return None
    server, soak_findings = soak.roles.ends.server, findings(soak).every
    doubted = any(finding.doubts_on(None, soak.hosts, "throughput") for finding in soak_findings)
    power = next((host_power for host_power in soak.power if host_power.host == server), None)
    total = None if power is None else power.total
    if total is None or not total.power_w > 0:
        reason = (None if power is None else power.reason) or "no watts of its server"
        return Best("soak", soak.mean_bps, reason=reason, doubtful_throughput=doubted)
    return Best(
        "soak",
        soak.mean_bps,
        soak.mean_bps / total.power_w,
        total.provenance,
        doubtful_throughput=doubted,
        doubtful_watts=any(finding.doubts_on(server, soak.hosts, "power") for finding in soak_findings),
    )


def _missing_parts(result: Result) -> str | None:
    """What can be told of a soak that is not read."""
    names = [name for name in listed_files_gone(result.path) if name.startswith(f"{FOLDER}/")]
    return f"not there: {first_of(names, MOST_NAMED, between=', ')}" if names else None


def glance_of_soak(soak: Soak) -> Glance | None:
    """Of all its time, slices of one length."""
    values = tuple(point.mean for point in downsample(soak.payload, MOST_VALUES))
    return Glance("time", values) if sum(value is not None for value in values) > 1 else None
