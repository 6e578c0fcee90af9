# SPDX-License-Identifier: Apache-2.0
"""Times as percentiles that can be merged: an HDR histogram, which keeps 0.1 % from 1 µs to an hour.

Percentiles of several workers cannot be averaged; their histograms can be added. http://hdrhistogram.org
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linewatt.errors import InvalidInput, ParseError

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

_LOWEST_US, _HIGHEST_US, _DIGITS = 1, 3_600_000_000, 3
POINTS = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True, slots=True)
class Summary:
    """Seconds; all ``None`` where nothing was counted."""

    count: int
    mean_s: float | None
    max_s: float | None
    percentiles_s: dict[str, float | None]


class Times:
    """Durations that were counted. Longer than an hour counts as an hour, shorter than 1 µs as 1 µs."""

    def __init__(self) -> None:
        self._histogram = _empty()

    def add(self, duration_s: float) -> None:
        self._histogram.record_value(min(_HIGHEST_US, max(_LOWEST_US, round(duration_s * 1e6))))

    def merge(self, other: Times) -> None:
        self._histogram.add(other._histogram)

    def encoded(self) -> str:
        """Text of HdrHistogram's own interchange format (V2, compressed, base64)."""
        return str(self._histogram.encode().decode("ascii"))

    @classmethod
    def decoded(cls, text: str) -> Times:
        """Raises ParseError for what was not encoded so."""
        import binascii
        import zlib

        from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException

        times = cls()
        try:
            times._histogram.decode_and_add(text.encode("ascii"))
        except (
            binascii.Error,
            zlib.error,
            UnicodeError,
            IndexError,
            HdrCookieException,
            HdrLengthException,
            HdrHistogramSettingsException,
        ) as error:
            raise ParseError(f"a histogram of users' times cannot be read: {error}") from error
        return times

    @property
    def count(self) -> int:
        return int(self._histogram.get_total_count())

    def percentile_s(self, point: float) -> float | None:
        return self._histogram.get_value_at_percentile(point) / 1e6 if self.count else None

    def summary(self) -> Summary:
        count = self.count
        return Summary(
            count,
            self._histogram.get_mean_value() / 1e6 if count else None,
            self._histogram.get_max_value() / 1e6 if count else None,
            {f"p{point:g}_s": self.percentile_s(point) for point in POINTS},
        )


def _empty() -> HdrHistogram:
    try:
        from hdrh.histogram import HdrHistogram
    except ImportError as error:
        raise InvalidInput("users: hdrhistogram is not installed; pip install 'linewatt[users]'") from error
    return HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)
