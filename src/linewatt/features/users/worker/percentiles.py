# SPDX-License-Identifier: Apache-2.0
"""Times as percentiles that can be merged: an HDR histogram, which keeps 0.1 % from 1 µs to an hour.

Percentiles of several workers cannot be averaged; their histograms can be added. http://hdrhistogram.org
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from linewatt.errors import InvalidInput, ParseError
from linewatt.extras import install_command

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
    """Durations that were counted. Longer than an hour counts as an hour, shorter than 1 µs as 1 µs.

    Its 190 KB of counters are made with the first duration: most workers never do most of what is timed.
    """

    def __init__(self) -> None:
        self._histogram: HdrHistogram | None = None

    def add(self, duration_s: float) -> None:
        self._histogram_made().record_value(min(_HIGHEST_US, max(_LOWEST_US, round(duration_s * 1e6))))

    def merge(self, times: Times) -> None:
        if times._histogram is not None:
            self._histogram_made().add(times._histogram)

    def _histogram_made(self) -> HdrHistogram:
        if self._histogram is None:
            self._histogram = _empty()
        return self._histogram

    def encoded(self) -> str:
        """Text of HdrHistogram's own interchange format (V2, compressed, base64)."""
        return str(self._histogram_made().encode().decode("ascii"))

    @classmethod
    def decoded(cls, text: str) -> Times:
        """Raises ParseError for what was not encoded so."""
        times = cls()
        times.add_encoded(text)
        return times

    def add_encoded(self, text: str) -> None:
        """Add what another one encoded: a third of the work of merging it. Raises ParseError."""
        histogram = self._histogram_made()
        import binascii
        import zlib

        from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException

        try:
            histogram.decode_and_add(text.encode("ascii"))
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

    @property
    def count(self) -> int:
        return 0 if self._histogram is None else int(self._histogram.get_total_count())

    def percentiles_s(self, points: Sequence[float]) -> tuple[float | None, ...]:
        """The least time that this share (0 to 100) of all did not exceed; each ``None`` without any.

        The same values as HdrHistogram's own, a hundred times sooner: it asks for each counter by a call.
        """
        histogram = self._histogram
        if histogram is None or not self.count:
            return (None,) * len(points)
        first, counters = _counters(histogram)
        upto = list(accumulate(counters))
        values = []
        for point in points:
            at = bisect_left(upto, histogram.get_target_count_at_percentile(point))
            value_us = histogram.get_value_from_index(first + at)
            values.append(histogram.get_highest_equivalent_value(value_us) / 1e6)
        return tuple(values)

    def _mean_s(self) -> float | None:
        if self._histogram is None or not self.count:
            return None
        first, counters = _counters(self._histogram)
        total_us = 0
        for at, counted in enumerate(counters):
            if counted:
                total_us += counted * _middle_us(self._histogram, first + at)
        return total_us / self.count / 1e6

    def summary(self) -> Summary:
        values = self.percentiles_s(POINTS)
        return Summary(
            self.count,
            self._mean_s(),
            self._histogram.get_max_value() / 1e6 if self._histogram is not None and self.count else None,
            {f"p{point:g}_s": value for point, value in zip(POINTS, values, strict=True)},
        )


def _counters(histogram: HdrHistogram) -> tuple[int, list[int]]:
    """The counters from the first to the last that counted, and the index of the first."""
    first, last = (
        histogram.get_counts_array_index(value)
        for value in (histogram.get_min_value(), histogram.get_max_value())
    )
    return first, histogram.counts[first : last + 1]


def _middle_us(histogram: HdrHistogram, index: int) -> int:
    """In the middle of what one counter counts, as HdrHistogram takes it for the mean."""
    value_us = int(histogram.get_value_from_index(index))
    return value_us + (int(histogram.get_highest_equivalent_value(value_us)) - value_us + 1 >> 1)


def _empty() -> HdrHistogram:
    try:
        from hdrh.histogram import HdrHistogram
    except ImportError as error:
        raise InvalidInput(f"users: hdrhistogram is not installed; {install_command('users')}") from error
    return HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)
