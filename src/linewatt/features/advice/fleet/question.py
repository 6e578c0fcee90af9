# SPDX-License-Identifier: Apache-2.0
"""What is asked of a fleet: a target, what is kept in reserve, and what energy and servers cost. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from linewatt.errors import InvalidInput
from linewatt.features.advice.psu.supplies import Supply
from linewatt.features.advice.psu.tables import EfficiencyTable
from linewatt.units import gbps_from_bps

HOURS_PER_YEAR = 8760
W_PER_KW = 1000
DEFAULT_YEARS = 5.0
"""over which a server's price is spread, unless somebody says"""
MOST_BPS = 1e18
MOST_MONEY = 1e12
_MOST_PUE, _LEAST_YEARS, _MOST_YEARS = 10.0, 0.1, 100.0
MOST_SPARE = 10_000
_REDUNDANCY = re.compile(r"(2?)n(?:\+([0-9]{1,5}))?", re.IGNORECASE | re.ASCII)
_NOTHING = 1e-9
_LAST_BITS = 1e-12
"""5 servers of 20 Gbps carry 100 Gbps, whatever the last bits of the quotient say"""


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Servers beside those that carry the target: so many more, and twice as many where ``twice``."""

    more: int = 0
    twice: bool = False

    def spare(self, active: int) -> int:
        """How many stand by for so many that carry the target."""
        return (active if self.twice else 0) + self.more

    def __str__(self) -> str:
        return f"{'2n' if self.twice else 'n'}{f'+{self.more}' if self.more else ''}"


@dataclass(frozen=True, slots=True)
class Question:
    """A target of payload and how it is to be carried.

    ``headroom_ratio`` of a server's measured rate is left free. ``load_share`` is the part of the year in
    which servers are at their operating point; in the rest they are idle. Money is in the unit of
    ``price_per_kwh``; a server's price is spread over ``server_years``. With a ``supply`` and its ``table``
    energy is what goes into the power supplies, where the measured watts are what comes out of them.
    """

    target_bps: float
    headroom_ratio: float = 0.0
    redundancy: Redundancy = Redundancy()
    pue: float = 1.0
    price_per_kwh: float | None = None
    server_cost: float | None = None
    server_years: float = DEFAULT_YEARS
    load_share: float = 1.0
    supply: Supply | None = None
    table: EfficiencyTable | None = None

    def active(self, rate_bps: float) -> int:
        """Servers of this rate that carry the target: never part of one."""
        capacity_bps = rate_bps * (1 - self.headroom_ratio)
        return max(1, math.ceil(self.target_bps / capacity_bps * (1 - _LAST_BITS)))

    def kwh_year(self, power_w: float) -> float:
        """Energy of so many W all year, with what cooling and distribution take."""
        return power_w * self.pue * HOURS_PER_YEAR / W_PER_KW

    def cost_year(self, servers: int, energy_kwh: float) -> float | None:
        """Money a year; ``None`` without a price of energy."""
        if self.price_per_kwh is None:
            return None
        return energy_kwh * self.price_per_kwh + servers * self.server_cost_year

    @property
    def server_cost_year(self) -> float:
        """Of one server; 0 where its price is not asked about."""
        return (self.server_cost or 0.0) / self.server_years


def parse_redundancy(text: str) -> Redundancy:
    """``n``, ``n+1``, ``2n``. Raises InvalidInput."""
    match = _REDUNDANCY.fullmatch(text.strip())
    more = int(match[2] or 0) if match else 0
    if match is None or more > MOST_SPARE:
        raise InvalidInput(f"--redundancy must be n, n+1 (up to n+{MOST_SPARE}), 2n or 2n+1, got {text!r}")
    return Redundancy(more, bool(match[1]))


def check(question: Question) -> None:
    """Raises InvalidInput, one line, for what cannot be asked."""
    limits = (
        ("--target-gbps", gbps_from_bps(question.target_bps), _NOTHING, gbps_from_bps(MOST_BPS)),
        ("--pue", question.pue, 1.0, _MOST_PUE),
        ("--price-kwh", question.price_per_kwh, _NOTHING, MOST_MONEY),
        ("--server-cost", question.server_cost, _NOTHING, MOST_MONEY),
        ("--server-years", question.server_years, _LEAST_YEARS, _MOST_YEARS),
        ("--load-share", question.load_share, _NOTHING, 1.0),
    )
    for option, value, low, high in limits:
        if value is not None and not low <= value <= high:
            lower_bound_words = "above 0" if low == _NOTHING else f"from {low:g}"
            raise InvalidInput(
                f"{option} must be {lower_bound_words} and at most {high:,.15g}, got {value:g}"
            )
    if not 0 <= question.headroom_ratio < 1:
        raise InvalidInput(f"--headroom must be from 0 to below 1, got {question.headroom_ratio:g}")
    if question.server_cost is not None and question.price_per_kwh is None:
        raise InvalidInput("--server-cost needs --price-kwh: money a year is of servers and their energy")
