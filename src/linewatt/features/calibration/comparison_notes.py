# SPDX-License-Identifier: Apache-2.0
"""Two meters of one host against each other, in words: what one reads above the other, and what that is
not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linewatt.analysis.power import SCOPE_WORDS
from linewatt.features.calibration.comparison import SIDES
from linewatt.features.calibration.documents import Bounded, Calibration, ComparedMeter
from linewatt.features.calibration.stored import calibrations
from linewatt.report import Note, provenance_words
from linewatt.report.printing import Block, Line
from linewatt.report.trials import Digest
from linewatt.units import format_percent

TITLE = "Two meters of one host"
TELLING_S = 2.0
"""A meter that averages over more, and over more than a refresh, is told."""
_FINE = 0.05
"""What is as sure has a digit more."""


def first_blocks(view: Digest) -> Iterator[Block]:
    """What one meter of a host reads above another, which such a campaign was run for."""
    entries = tuple(
        (Line(calibration.host, prose=headline(calibration)),)
        for calibration in calibrations(view.result.path)
    )
    if entries:
        yield Block(TITLE, entries)


def notes(compared: Iterable[Calibration]) -> tuple[Note, ...]:
    """All that is on record of a result's meters."""
    return tuple(
        Note("doubt" if record.gain is None else "remark", "; ".join(lines(record)), record.host)
        for record in compared
    )


def lines(record: Calibration) -> list[str]:
    """A sentence each, the answer first."""
    return [headline(record), *_further(record)]


def headline(record: Calibration) -> str:
    """What the meter reads above the reference, and how much later."""
    meter, reference = record.meter.source, record.reference.source
    if record.gain is None or record.offset_w is None:
        return f"{_difference(record)}no gain and offset: {record.withheld}"
    return f"{_line(record.gain, record.offset_w, meter, reference)}{_late(record.delay_s)}{_within(record)}"


def _difference(record: Calibration) -> str:
    by = record.difference_w
    if by is None or record.low_w is None or record.high_w is None:
        return f"{record.meter.source} against {record.reference.source}: "
    at = f"between {record.low_w:.0f} and {record.high_w:.0f} W"
    return f"{record.meter.source} reads {_apart(by, ' W')} {record.reference.source} {at}; "


def _line(gain: Bounded, offset: Bounded, meter: str, reference: str) -> str:
    percent = Bounded(value=100 * gain.value, low=100 * gain.low, high=100 * gain.high)
    if gain.is_zero and offset.is_zero:
        return (
            f"{meter} reads as {reference} does: gain {_range(percent, ' %')}, offset {_range(offset, ' W')}"
        )
    if gain.is_zero:
        none = f"no error of gain shown ({_range(percent, ' %')})"
        return f"{meter} reads {_apart(offset, ' W')} {reference} at any load, {none}"
    if offset.is_zero:
        return f"{meter} reads {_apart(percent, ' %')} {reference}, no offset shown ({_range(offset, ' W')})"
    if gain.value * offset.value > 0:
        return f"{meter} reads {_magnitude(percent, ' %')} and {_apart(offset, ' W')} {reference}"
    return f"{meter} reads {_apart(percent, ' %')} {reference}, and {_apart(offset, ' W')} that"


def _late(delay: Bounded | None) -> str:
    if delay is None:
        return "; how much later cannot be told"
    if delay.is_zero:
        return f"; no delay shown ({_range(delay, ' s')})"
    return f", {_magnitude(delay, ' s')} {'later' if delay.value > 0 else 'earlier'}"


def _within(record: Calibration) -> str:
    if record.low_w is None or record.high_w is None:
        return ""
    low_w, high_w = record.low_w, record.high_w
    close = f"within {format_percent(record.tolerance_ratio, 0)} of {record.reference.source}"
    measured = f"({low_w:.0f} to {high_w:.0f} W measured)"
    if not record.within_w:
        return f"; nowhere surely {close} {measured}"
    ranges = []
    for first_w, last_w in record.within_w:
        if (first_w, last_w) == (low_w, high_w):
            return f"; {close} at every load that was measured ({low_w:.0f} to {high_w:.0f} W)"
        if last_w == high_w:
            ranges.append(f"above {first_w:.0f} W")
        elif first_w == low_w:
            ranges.append(f"below {last_w:.0f} W")
        else:
            ranges.append(f"between {first_w:.0f} and {last_w:.0f} W")
    return f"; {close} {' and '.join(ranges)} {measured}"


def _further(record: Calibration) -> Iterator[str]:
    meter, reference = record.meter, record.reference
    if SIDES.get(meter.scope) != SIDES.get(reference.scope):
        yield (
            f"{meter.source} is {_scope(meter)} and {reference.source} is {_scope(reference)}: the "
            "difference is not an error of either meter, but the power drawn between them"
        )
    if record.left_w is not None:
        yield f"off that line by {record.left_w:.1f} W at most over {_windows(record)}"
    if record.bulge_w is not None:
        by = f"{abs(record.bulge_w):.1f} W {'more' if record.bulge_w > 0 else 'less'}"
        yield f"no straight line: {meter.source} reads {by} half way up than a line has it"
    if record.legs_w is not None:
        by = f"{_magnitude(record.legs_w, ' W')} {'more' if record.legs_w.value > 0 else 'less'}"
        yield (
            f"{meter.source} reads {by} on the way down than on the way up at the same load: it drifted, or "
            "has hysteresis; two legs do not tell which"
        )
    if record.averaging_s and abs(record.averaging_s) > max(
        TELLING_S, meter.refresh_s or 0, reference.refresh_s or 0
    ):
        slower, quicker = (meter, reference) if record.averaging_s > 0 else (reference, meter)
        yield f"{slower.source} averages over about {abs(record.averaging_s):g} s more than {quicker.source}"
    yield from (
        _refresh(compared_meter)
        for compared_meter in (meter, reference)
        if (compared_meter.refresh_s or 0) >= TELLING_S
    )
    yield _accuracy(reference)
    sure = provenance_words([meter.provenance, reference.provenance])
    if sure:
        yield f"watts are {sure}: this says nothing of any hardware"


def _windows(record: Calibration) -> str:
    if len(record.steps) >= record.windows:
        return f"{record.windows} windows"
    return (
        f"{len(record.steps)} of {record.windows} windows; the others are too short, or not read all through"
    )


def _refresh(meter: ComparedMeter) -> str:
    return f"{meter.source} is refreshed every {meter.refresh_s:.1f} s"


def _accuracy(reference: ComparedMeter) -> str:
    if reference.tolerance_ratio is None:
        return f"how true {reference.source} itself is is not known: name its tolerance_percent"
    return f"{reference.source} itself is stated to be within {format_percent(reference.tolerance_ratio)}"


def _scope(meter: ComparedMeter) -> str:
    return SCOPE_WORDS.get(meter.scope, meter.scope)


def _apart(figure: Bounded, unit: str) -> str:
    return f"{_magnitude(figure, unit)} {'above' if figure.value > 0 else 'below'}"


def _magnitude(figure: Bounded, unit: str) -> str:
    """Without its sign; a CI that reaches beyond 0 keeps those of its ends."""
    side = 1 if figure.value > 0 else -1
    low, high = sorted((side * figure.low, side * figure.high))
    places = _places(figure)
    return f"{abs(figure.value):.{places}f}{unit} ({_number(low, places)} to {_number(high, places)})"


def _range(figure: Bounded, unit: str) -> str:
    places = _places(figure)
    return f"{_number(figure.low, places)} to {_number(figure.high, places)}{unit}"


def _places(figure: Bounded) -> int:
    return 1 if figure.high - figure.low >= 2 * _FINE else 2


def _number(value: float, places: int) -> str:
    return f"{value:.{places}f}".replace("-", "−")
