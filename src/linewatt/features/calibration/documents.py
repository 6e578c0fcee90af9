# SPDX-License-Identifier: Apache-2.0
"""``calibration.json`` of a result, and what a campaign that uses one stores of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from linewatt.declare import Schema
from linewatt.json_document import of_class
from linewatt.model import Provenance
from linewatt.records import SCHEMA_VERSION, Count, Document, Ratio, Time


class Bounded(Document):
    """A value with its 95 % CI, in the unit of its name."""

    value: float
    low: float
    high: float

    @property
    def is_zero(self) -> bool:
        """Whether its CI holds 0."""
        return self.low <= 0 <= self.high


class ComparedMeter(Document):
    """One of two meters that were compared: a campaign's name of a source, and what of it was read."""

    source: str
    channels: list[str]
    scope: str
    provenance: Provenance
    step_w: float | None = None
    """the smallest difference that all its channels together can show"""
    refresh_s: float | None = None
    tolerance_ratio: float | None = None
    """as it is stated for it"""


class ComparedStep(Document):
    """Means of both over one step of the load."""

    trial: int
    reference_w: float
    meter_w: float


class Calibration(Document):
    """One meter of a host against another: ``meter = (1 + gain) · reference + offset_w``, ``delay_s`` later.

    ``withheld`` says why gain and offset, or all of it, are not told. ``measured_s`` is when the last of the
    load ended. ``within_w``: where the meter as it reads is surely within ``tolerance_ratio``.
    """

    schema_version: int = SCHEMA_VERSION
    linewatt_version: str
    host: str
    meter: ComparedMeter
    reference: ComparedMeter
    measured_s: Time
    tolerance_ratio: Ratio
    gain: Bounded | None = None
    offset_w: Bounded | None = None
    delay_s: Bounded | None = None
    averaging_s: float | None = None
    """the moving average by which the meter is slower; below 0: the reference is"""
    low_w: float | None = None
    high_w: float | None = None
    """of the reference, from the lowest to the highest step"""
    difference_w: Bounded | None = None
    left_w: float | None = None
    bulge_w: float | None = None
    legs_w: Bounded | None = None
    within_w: list[Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(default_factory=list)
    withheld: str | None = None
    windows: Count = 0
    """of the load; ``steps`` are of those that were long enough for both meters"""
    steps: list[ComparedStep] = Field(default_factory=list)


class CalibrationUsed(Document):
    """A calibration by which a source's watts are corrected: all of it, and which file of which result."""

    result: str
    file: str
    calibration: Calibration

    @property
    def name(self) -> str:
        """Where it is found: the result, and which of its files where there are several."""
        return self.result if self.file == "calibration.json" else f"{self.result}/{self.file}"


def schema() -> Schema:
    """Of :class:`Calibration`, as it is read: what a newer linewatt adds is left alone."""
    return of_class(Calibration, stored=True, closed=False)
