# SPDX-License-Identifier: Apache-2.0
"""How a case and a mean are written into JSON and CSV, everywhere alike; missing is ``None``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Case


def case_keys(case: Case) -> dict[str, Any]:
    """What a case is, its load level apart."""
    others = {name: value for name, value in case.parameters.items() if name != "test"}
    return {"test": case.test, "sender": case.sender, "receiver": case.receiver, **others}


def keyed_case(case: Case) -> dict[str, Any]:
    """What a case is, behind the key by which it is compared."""
    ends = {"case_key": case.key, "sender": case.sender, "receiver": case.receiver}
    return {**ends, **case.parameters, "load_level": case.load_level}


def _same(value: float) -> float:
    return value


def mean_keys(name: str, value: Estimate | None, from_si: Callable[[float], float] = _same) -> dict[str, Any]:
    """A mean, its standard deviation, and how many runs have it, in the unit that ``name`` says."""
    if value is None:
        return {f"{name}_mean": None, f"{name}_sd": None, f"{name}_n": 0}
    return {
        f"{name}_mean": from_si(value.mean),
        f"{name}_sd": None if value.sd is None else from_si(value.sd),
        f"{name}_n": value.n,
    }
