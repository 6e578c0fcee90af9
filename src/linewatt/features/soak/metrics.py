# SPDX-License-Identifier: Apache-2.0
"""The figures of a soak, each declared once. Pure."""

from __future__ import annotations

from dataclasses import replace

from linewatt.analysis.metrics import COUNT, METRICS, PERCENT, Response, Unit, significant_digits, unscaled
from linewatt.features.soak.job import DRIFT, SUSTAINED
from linewatt.units import format_significant


def _more(name: str, title: str, shown: Unit, *, relative: bool = True) -> Response:
    """A figure of throughput, of which more is better."""
    return Response(name, title, "more", "less", True, relative, "throughput", units=(shown,))


def _less(name: str, title: str, shown: Unit, group: str, *, is_share: bool = False) -> Response:
    """A figure of which less is better."""
    return Response(
        name, title, "more", "less", False, not is_share, group, is_share=is_share, units=(shown,)
    )


_TIME = Unit("ms", lambda seconds: 1e3 * seconds, significant_digits(3))
_PER_S = Unit("per s", unscaled, significant_digits(4))
_CORES = Unit("cores", unscaled, format_significant)
_CPU = Unit("CPU-s/Gbit", unscaled, format_significant)
J_PER_GB = Unit("J/GB", unscaled, significant_digits(3))
_SHARE = Unit("%", PERCENT.from_si, format_significant)
_A_DAY = Unit("% a day", PERCENT.from_si, lambda percent: f"{percent:+.2f}".replace("-", "−"))

_RATE = next(metric.response for metric in METRICS if metric.name == "throughput_bps")
if _RATE is None:
    raise TypeError("throughput compares")
RATE = replace(_RATE, title="Mean rate")
CLIENT_CPU = Response(
    "client_cpu_s_per_gbit",
    "Client CPU per Gbit",
    "more CPU per Gbit",
    "less CPU per Gbit",
    higher_is_better=False,
    group="efficiency",
    units=(_CPU,),
)
UNEXPLAINED = Response(
    "unexplained_drops_count",
    "Unexplained drops",
    "more",
    "less",
    higher_is_better=False,
    relative=False,
    group="loss",
    counted="drops",
    units=COUNT,
)
RESPONSES: tuple[Response, ...] = (
    RATE,
    _more(SUSTAINED, "Users sustained", _SHARE),
    _more("transfers_hz", "Transfers", _PER_S),
    _more(DRIFT, "Slow drift", _A_DAY, relative=False),
    CLIENT_CPU,
    _less("server_cores", "CPU used by the server", _CORES, "efficiency"),
    _less("failed_ratio", "Transfers that failed", _SHARE, "loss", is_share=True),
    UNEXPLAINED,
    _less("server_energy_j_per_gb", "Energy per GB, server", J_PER_GB, "power"),
    _less("clients_energy_j_per_gb", "Energy per GB, all clients", J_PER_GB, "power"),
    *(
        _less(f"{way}_{what}_{point}_s", f"{way.capitalize()}, {words}, {point}", _TIME, "latency")
        for way in ("get", "put")
        for what, words in (("first_byte", "first byte"), ("total", "whole"))
        for point in ("p50", "p99")
    ),
)
"""in the order in which they are shown"""
FOLLOWED: dict[str, Response] = {"throughput": RATE, "efficiency": CLIENT_CPU}
"""what ``--metric`` of ``linewatt history`` means for soaks"""
