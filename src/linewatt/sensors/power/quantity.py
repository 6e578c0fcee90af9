# SPDX-License-Identifier: Apache-2.0
"""A reading as its user describes it, for meters that do not say what they measure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from linewatt.document import Part
from linewatt.model import Channel
from linewatt.sensors.power.base import ScopeName

ChannelName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,39}$", examples=["wall_w"])]


class Quantity(Part):
    """What a channel is; a driver's own entry adds where the reading is."""

    scope: ScopeName = Field(description="What it measures, such as `wall` or `psu-in:PSU1`.")
    unit: Literal["W", "J", "rpm", "V", "A"] = Field(
        default="W",
        description="`W` for power, `J` for a running total of energy; `rpm`, `V`, `A` stand beside.",
    )
    scale: float = Field(
        default=1.0,
        gt=0,
        examples=[0.1],
        description="What one of the meter's units is in `unit`: 0.1 W, or 360000 J for 0.1 kWh.",
    )
    step: float | None = Field(
        default=None, gt=0, description="The smallest difference it can show, in `unit`."
    )

    def channel(
        self, name: str, method: str, step: float | None = None, wraps_at: float | None = None
    ) -> Channel:
        """The channel, with a ``step`` that is known where the settings name none."""
        total = self.unit == "J"
        return Channel(
            name=name,
            unit=self.unit,
            kind="counter" if total else "gauge",
            scope=self.scope,
            wraps_at=wraps_at if total else None,
            method=method,
            step=step if self.step is None else self.step,
        )
