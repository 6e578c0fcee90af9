# SPDX-License-Identifier: Apache-2.0
"""Advice on a fleet as JSON: units in key names, what is missing is null with a reason beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from linewatt.analysis.statistics import CONFIDENCE_LEVEL
from linewatt.features.advice.fleet.advice import FleetAdvice
from linewatt.features.advice.fleet.points import OperatingPoint, Reading
from linewatt.features.advice.fleet.question import Question
from linewatt.features.advice.fleet.totals import Fleet, Totals
from linewatt.features.advice.fleet_report.sentences import (
    energy_provenance,
    how_sure,
    supply_lines,
    trade_words,
    warnings,
)
from linewatt.features.advice.fleet_report.sources import FleetSource
from linewatt.units import gbps_from_bps, mbps_from_bps

SCHEMA_VERSION = 1
_FIGURES = ("servers", "cores", "power_w", "energy_kwh_year", "cost_year")


def document(advice: FleetAdvice, source: FleetSource) -> dict[str, Any]:
    """The document of ``advise fleet --json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "target_gbps": gbps_from_bps(advice.question.target_bps),
        "points": [_point(fleet, advice) for fleet in advice.fleets],
        "cheapest": _cheapest(advice, source),
        "warnings": list(warnings(advice, source)),
    }


def _point(fleet: Fleet, advice: FleetAdvice) -> dict[str, Any]:
    point, totals = fleet.point, fleet.totals
    left_out = advice.choice.left_out.get(point.instances)
    return {
        "instances": point.instances,
        **{name: getattr(totals, name) for name in _FIGURES},
        "interval": _interval(fleet),
        "servers_active": totals.active,
        "servers_spare": totals.spare,
        "input_w": totals.input_w,
        "provenance": point.provenance,
        "energy_provenance": energy_provenance(fleet),
        "scope": point.scope,
        "compared": left_out is None,
        "on_front": None if advice.front is None else point.instances in advice.front,
        "server": _server(point),
        "doubts": dict(point.doubts),
        "reasons": {**fleet.reasons, **({} if left_out is None else {"compared": left_out})},
    }


def _server(point: OperatingPoint) -> dict[str, Any]:
    """What one server was measured at."""
    return {
        "throughput_gbps": gbps_from_bps(point.throughput_bps.mean),
        "cores": point.cores.mean if point.cores else None,
        "power_w": point.power_w.mean if point.power_w else None,
        "power_bound_w": point.power_w.bound if point.power_w else None,
        "idle_w": point.idle_w.mean if point.idle_w else None,
        "mbps_per_core": mbps_from_bps(point.bps_per_core.mean) if point.bps_per_core else None,
        "mbps_per_w": mbps_from_bps(point.bps_per_w.mean) if point.bps_per_w else None,
        "throughput_gbps_ci95": _ci(point.throughput_bps, 1e-9),
        "power_w_ci95": _ci(point.power_w, 1.0),
        "runs": point.runs,
        "regime": point.regime,
        "limit": point.limit,
        "limited_by_other_end": point.held_back,
    }


def _ci(reading: Reading | None, scale: float) -> list[float] | None:
    """Over runs alone."""
    ends = reading.ends(meter=False) if reading else None
    return None if ends is None else [end * scale for end in ends]


def _interval(fleet: Fleet) -> dict[str, Any] | None:
    """From the best to the worst that is within 95 %; ``None`` where nothing is known of the spread."""
    if fleet.low is None or fleet.high is None:
        return None
    return {"level": CONFIDENCE_LEVEL, "runs": fleet.point.runs, **_both(fleet.low, fleet.high)}


def _both(low: Totals, high: Totals) -> dict[str, list[float] | None]:
    ends = {name: (getattr(low, name), getattr(high, name)) for name in _FIGURES}
    return {name: None if None in pair else list(pair) for name, pair in ends.items()}


def _cheapest(advice: FleetAdvice, source: FleetSource) -> dict[str, Any]:
    """The choice and all that it stands on; its figures are null where nothing could be compared."""
    choice, trade = advice.choice, advice.trade
    best = choice.cheapest
    figures: Mapping[str, Any] = (
        {} if best is None else {name: getattr(best.totals, name) for name in _FIGURES}
    )
    return {
        "instances": None if best is None else best.point.instances,
        **{name: figures.get(name) for name in _FIGURES},
        "by": choice.by,
        "sure": choice.sure,
        "sure_words": how_sure(advice),
        "second": None if choice.second is None else choice.second.point.instances,
        "second_dearer_ratio": choice.dearer_ratio,
        "rivals": [rival.point.instances for rival in choice.rivals],
        "source": source.name,
        "series": advice.title,
        "role": advice.role,
        "assumptions": _assumptions(advice.question),
        "pareto_front": None if advice.front is None else list(advice.front),
        "cores_against_watts": None
        if trade is None
        else {
            "most_per_core_instances": trade.per_core.point.instances,
            "most_per_w_instances": trade.per_watt.point.instances,
            "mbps_per_core_ratio": trade.core_ratio,
            "mbps_per_w_ratio": trade.watt_ratio,
            "words": trade_words(advice),
        },
        "measure_next": [asdict(measurement) for measurement in advice.next],
        "supplies": list(supply_lines(advice)),
    }


def _assumptions(question: Question) -> dict[str, Any]:
    return {
        "headroom_ratio": question.headroom_ratio,
        "redundancy": str(question.redundancy),
        "pue": question.pue,
        "price_per_kwh": question.price_per_kwh,
        "server_cost": question.server_cost,
        "server_years": None if question.server_cost is None else question.server_years,
        "load_share": question.load_share,
    }
