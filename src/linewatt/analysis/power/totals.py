# SPDX-License-Identifier: Apache-2.0
"""Which watts are the system's and which are the CPU's, without counting anything twice. Pure.

The system's power is the DC output of its power supplies where that is known, because their losses depend on
how they are loaded (docs/metrics.md); else the next best scope, by name. A total is only made of channels of
one scope and one source, and only when all of them have a number. Supplies that contradict a reading of the
whole host (one at 0 W, far less or far more together, each as much as the whole) are not the system. An
estimate is taken only where nothing measures; 0 W of a host that runs is no reading, and a total whose bound
is as large as itself no figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linewatt.findings import (
    CARRIES_W,
    DRIFT_RATIO,
    FAR_MORE_RATIO,
    MIN_OUT_RATIO,
    REPEATED_TOTAL_RATIO,
    SUPPLY_IDLE_W,
)
from linewatt.missing import Missing
from linewatt.model import PowerResult, Provenance

SYSTEM_SCOPES = ("psu-out", "system", "wall", "psu-in", "psys")
CPU_SCOPES = ("cpu", "package")
WHOLE_SCOPES = ("system", "wall")
"""readings of the whole host, against which its supplies are held"""
SCOPE_WORDS = {
    "psu-out": "PSU DC out",
    "psu-in": "PSU AC in",
    "system": "system",
    "wall": "wall",
    "psys": "platform (RAPL)",
    "cpu": "CPU",
    "package": "CPU package (RAPL)",
    "core": "CPU cores (RAPL)",
    "uncore": "CPU uncore (RAPL)",
    "dram": "DRAM (RAPL)",
    "memory": "memory",
    "fan": "fans",
    "gpu": "GPU",
    "nic": "NIC",
    "other": "other",
}
PROVENANCE_WEIGHT: dict[Provenance, int] = {
    "measured": 0,
    "corrected": 1,
    "datasheet": 2,
    "estimate": 3,
    "simulated": 4,
}
_MOST_KEPT = 1 << 16
"""totals that are kept, of the system and of the CPUs of an end of a trial: every table, finding and figure
asks for them; room for both ends of 10,000 trials"""
_MOST_NAMED = 4
_KEPT: dict[tuple[int, tuple[str, ...]], tuple[tuple[PowerResult, ...], Total | Missing]] = {}


def least_sure(provenances: Iterable[Provenance | None]) -> Provenance | None:
    """The provenance of what is made of all of these; ``None`` where there are none."""
    known_provenances = {provenance for provenance in provenances if provenance}
    return max(known_provenances, key=PROVENANCE_WEIGHT.__getitem__, default=None)


@dataclass(frozen=True, slots=True)
class Total:
    """Power of one scope: mean over the window and idle in W, a bound of its error, and where it is from."""

    power_w: float
    idle_w: float | None
    uncertainty_w: float | None
    scope: str
    provenance: Provenance
    source: str
    channels: tuple[str, ...]
    idle_uncertainty_w: float | None = None
    """a bound of the error of ``idle_w``"""
    idle_windows_w: tuple[float, ...] = ()
    """idle before, after, and in whatever windows there were in between"""
    idle_doubt: str | None = None
    """what still moved when idle was measured"""
    step_w: float = 0.0
    """the smallest difference that all its channels together can show"""
    idle_apart_w: float = 0.0
    """by how much two of its idle windows may differ, 95 %, that are of totals of energy"""

    def channels_of(self, power: Sequence[PowerResult]) -> list[PowerResult]:
        """Those among the channels of an end, or of an idle window, that it is made of."""
        return [
            result for result in power if result.source == self.source and result.channel in self.channels
        ]

    @property
    def above_idle_w(self) -> float | None:
        """What the load added, 0 or less where it drew no more; None where idle is not known, or not one."""
        return None if self.idle_w is None or self.idle_drift is not None else self.power_w - self.idle_w

    @property
    def above_idle_uncertainty_w(self) -> float | None:
        """A bound of its error: that of the load and that of idle, in squares."""
        if self.uncertainty_w is None or self.idle_uncertainty_w is None or self.above_idle_w is None:
            return None
        return math.hypot(self.uncertainty_w, self.idle_uncertainty_w)

    @property
    def idle_drift(self) -> str | None:
        """Why there is no one idle power to compare with: its windows differ by more than they should."""
        return idle_drift_of(self.idle_windows_w, self.least_drift_w)

    @property
    def least_drift_w(self) -> float:
        """What two idle windows may differ by although idle does not: a step, or what totals leave open."""
        return max(self.step_w, self.idle_apart_w)


def idle_drift_of(windows_w: Sequence[float], step_w: float) -> str | None:
    """How idle power, given in the order of time, differs by more than 5 % and ``step_w`` of its meter."""
    if len(windows_w) < 2:
        return None
    low_w, high_w = min(windows_w), max(windows_w)
    if high_w - low_w <= max(DRIFT_RATIO * sum(windows_w) / len(windows_w), step_w):
        return None
    if {windows_w[0], windows_w[-1]} == {low_w, high_w}:
        return f"idle was {windows_w[0]:.1f} W before and {windows_w[-1]:.1f} W after"
    return f"idle was between {low_w:.1f} and {high_w:.1f} W in {len(windows_w)} windows"


def power_of_system(power: Sequence[PowerResult]) -> Total | Missing:
    """The system's power, or why there is none."""
    return _first(tuple(power), SYSTEM_SCOPES, "no source of system power is named")


def power_of_system_as_read(power: Sequence[PowerResult]) -> Total | None:
    """The system's power as its meter read it, where a calibration corrected it; else ``None``."""
    corrected = power_of_system(power)
    if not isinstance(corrected, Total):
        return None
    if not any(result.is_corrected for result in corrected.channels_of(power)):
        return None
    uncorrected = power_of_system_now(
        [result for result in power if result.source == corrected.source and not result.is_corrected]
    )
    return uncorrected if isinstance(uncorrected, Total) else None


def power_of_system_now(power: Sequence[PowerResult]) -> Total | Missing:
    """The same of readings that nobody asks for again."""
    return _found(tuple(power), SYSTEM_SCOPES, "no source of system power is named")


def power_of_cpus(power: Sequence[PowerResult]) -> Total | Missing:
    """The CPUs' power, or why there is none."""
    return _first(tuple(power), CPU_SCOPES, "no source of CPU power is named")


def total_of_scope(power: Sequence[PowerResult], scope: str) -> Total | Missing | None:
    """All channels of one scope of the first source that has it; ``None`` when none has."""
    candidates = [result for result in power if result.scope.partition(":")[0] == scope]
    of_scope = [result for result in candidates if result.provenance != "estimate"] or candidates
    if not of_scope:
        return None
    of_source = _once_each([result for result in of_scope if result.source == of_scope[0].source])
    values_w = [result.power_w for result in of_source if result.power_w is not None]
    if len(values_w) < len(of_source):
        missing = next(result for result in of_source if result.power_w is None)
        return Missing(f"{missing.source} {missing.channel}: {missing.reason or 'not read'}")
    if scope in (*SYSTEM_SCOPES, *CPU_SCOPES) and sum(values_w) == 0:
        return Missing(
            f"{of_source[0].source} {of_source[0].channel}: 0 W while the host runs is not a valid reading"
        )
    bound_w = _uncertainty_w(of_source)
    if bound_w is not None and 0 < sum(values_w) <= bound_w:
        return Missing(
            f"{of_source[0].source}: {sum(values_w):.3g} W with an uncertainty of ± {bound_w:.3g} W: not "
            "usable"
        )
    return Total(
        power_w=sum(values_w),
        idle_w=_sum([result.idle_w for result in of_source]),
        uncertainty_w=bound_w,
        scope=scope,
        provenance=least_sure([result.provenance for result in of_source]) or "measured",
        source=of_source[0].source,
        channels=tuple(result.channel for result in of_source),
        idle_uncertainty_w=_sum([result.idle_uncertainty_w for result in of_source]),
        idle_windows_w=_idle_windows_w(of_source),
        idle_doubt=next((result.idle_doubt for result in of_source if result.idle_doubt), None),
        step_w=math.fsum([result.step_w or 0.0 for result in of_source]),
        idle_apart_w=math.fsum([_idle_apart_w(result) for result in of_source]),
    )


def _idle_apart_w(result: PowerResult) -> float:
    """Of a total of energy, which has no step in W and no spread: the bounds of two windows, in squares.

    Its tolerance is the same in both.
    """
    is_total = result.step_w is None and result.spread_w is None
    if not is_total or result.idle_uncertainty_w is None:
        return 0.0
    idle_w = result.power_w if result.idle_w is None else result.idle_w
    if idle_w is None:
        return 0.0
    half_range_w = (
        (max(result.idle_windows_w) - min(result.idle_windows_w)) / 2 if result.idle_windows_w else 0.0
    )
    alike_w = math.hypot(half_range_w, (result.tolerance_ratio or 0.0) * idle_w)
    return math.sqrt(2 * max(0.0, result.idle_uncertainty_w**2 - alike_w**2))


def _once_each(power: Sequence[PowerResult]) -> list[PowerResult]:
    """One channel of each part: a source may tell the same watts as power and as a total of energy, and the
    whole (``wall``) beside its parts (``wall:outlet1``)."""
    by_scope: dict[str, PowerResult] = {}
    for result in power:
        if result.scope not in by_scope or by_scope[result.scope].power_w is None:
            by_scope[result.scope] = result
    undivided = next((result for scope, result in by_scope.items() if ":" not in scope), None)
    if undivided is None or len(by_scope) == 1:
        return list(by_scope.values())
    return (
        [undivided]
        if undivided.power_w is not None
        else [result for result in by_scope.values() if result is not undivided]
    )


def _sum(values: Sequence[float | None]) -> float | None:
    """Bounds of channels of one kind are not independent, so they are added, too."""
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) if len(numbers) == len(values) else None


def _idle_windows_w(power: Sequence[PowerResult]) -> tuple[float, ...]:
    """The sum of all channels in each idle window; nothing where some were not read in all of them."""
    if not power[0].idle_windows_w or len({len(result.idle_windows_w) for result in power}) != 1:
        return ()
    return tuple(
        math.fsum(window_w) for window_w in zip(*(result.idle_windows_w for result in power), strict=True)
    )


def _first(power: tuple[PowerResult, ...], scopes: tuple[str, ...], why_none: str) -> Total | Missing:
    """Kept by which readings they are: to look at what is in them takes longer than to add them up."""
    key = id(power), scopes
    cached = _KEPT.get(key)
    if cached is not None and cached[0] is power:
        return cached[1]
    if len(_KEPT) >= _MOST_KEPT:
        _KEPT.clear()
    total_or_why = _found(power, scopes, why_none)
    _KEPT[key] = power, total_or_why
    return total_or_why


def _found(power: tuple[PowerResult, ...], scopes: tuple[str, ...], why_none: str) -> Total | Missing:
    measured = [result for result in power if result.provenance != "estimate"]
    with_estimates = [power] if len(measured) < len(power) else []
    for results in (measured, *with_estimates):
        scopes_read = {result.scope.partition(":")[0] for result in results}
        if scopes_read.isdisjoint(scopes):
            continue
        has_whole = not scopes_read.isdisjoint(WHOLE_SCOPES)
        scope = next(
            (
                candidate
                for candidate in scopes
                if candidate in scopes_read and not (has_whole and is_refuted(results, candidate))
            ),
            None,
        )
        if scope is not None and (total_or_why := total_of_scope(results, scope)) is not None:
            return total_or_why
    return Missing(f"{why_none}{_unnamed_words(measured)}")


def _unnamed_words(measured: Sequence[PowerResult]) -> str:
    """``; read were bmc VRM, …``: channels that may be of the system, as far as their names say."""
    unnamed = [
        f"{result.source} {result.channel}" for result in measured if result.scope.startswith("other:")
    ]
    if not unnamed:
        return ""
    channels = ", ".join(unnamed[:_MOST_NAMED]) + (", …" if len(unnamed) > _MOST_NAMED else "")
    return (
        f"; read were {channels}, whose names do not say that they are the system, or which side of a supply"
    )


def is_refuted(results: Sequence[PowerResult], scope: str) -> bool:
    """Whether these supplies cannot be the system, by a reading of the whole host that has a number."""
    if scope not in ("psu-out", "psu-in"):
        return False
    host_totals = (total_of_scope(results, host_scope) for host_scope in WHOLE_SCOPES)
    host_total = next((host for host in host_totals if isinstance(host, Total)), None)
    if host_total is None:
        return False
    supplies = [
        supply for supply in results if supply.scope.partition(":")[0] == scope and supply.power_w is not None
    ]
    supplies_w = [supply.power_w for supply in supplies if supply.power_w is not None]
    lowest_w, highest_w = MIN_OUT_RATIO * host_total.power_w, FAR_MORE_RATIO * host_total.power_w
    return bool(supplies_w) and (
        (
            host_total.scope == "system" and not lowest_w <= sum(supplies_w) <= highest_w
        )  # a wall may be of more, or of less
        or any(_is_dead(supply, supplies, results) for supply in supplies)
        or repeat(supplies_w, host_total.power_w)
    )


def _is_dead(supply: PowerResult, supplies: Sequence[PowerResult], results: Sequence[PowerResult]) -> bool:
    """A supply at 0 W while another carries the host; it takes in nothing either, as far as is known."""
    another_carries = any((result.power_w or 0.0) >= CARRIES_W for result in supplies)
    input_scope = supply.scope.replace("psu-out", "psu-in")
    takes_in = any(
        result.source == supply.source
        and result.scope == input_scope
        and (result.power_w or 0.0) > SUPPLY_IDLE_W
        for result in results
    )
    return another_carries and not takes_in and (supply.power_w or 0.0) <= SUPPLY_IDLE_W


def repeat(supplies_w: Sequence[float], host_w: float) -> bool:
    """Whether each of several supplies reads what the whole host draws: their sum is a multiple of it."""
    carrying_w = [supply_w for supply_w in supplies_w if supply_w > SUPPLY_IDLE_W]
    return len(carrying_w) > 1 and all(
        abs(supply_w - host_w) <= max(1.0, REPEATED_TOTAL_RATIO * host_w) for supply_w in carrying_w
    )


def _uncertainty_w(power: Sequence[PowerResult]) -> float | None:
    """Bounds of channels of one kind are not independent, so they are added; ``None`` if one is unknown."""
    seconds = next(
        (result.energy_j / result.power_w for result in power if result.energy_j and result.power_w), None
    )
    bounds_j = [result.energy_uncertainty_j for result in power if result.energy_uncertainty_j is not None]
    return math.fsum(bounds_j) / seconds if seconds and len(bounds_j) == len(power) else None
