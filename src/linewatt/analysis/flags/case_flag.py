# SPDX-License-Identifier: Apache-2.0
"""A flag of a case as a whole, whose evidence is of several clauses. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.model import Flag


@dataclass(frozen=True, slots=True)
class CaseFlag(Flag):
    """The first of ``clauses`` says by itself what was seen. No such flag is stored."""

    clauses: tuple[str, ...] = ()


def case_flag(code: str, where: str, clauses: Sequence[str], advice: str) -> CaseFlag:
    """A flag whose evidence is these clauses."""
    return CaseFlag(code, where, "; ".join(clauses), advice, clauses=tuple(clauses))


def clauses_of(flag: Flag) -> tuple[str, ...]:
    """The evidence of a flag, clause by clause where they are known."""
    return flag.clauses if isinstance(flag, CaseFlag) else (flag.evidence,)
