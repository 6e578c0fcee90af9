# SPDX-License-Identifier: Apache-2.0
"""linewatt: network throughput, its CPU cost at both ends, and how sure one can be.

For Python programs: ``linewatt.open_results``, ``compare``, ``Campaign``, ``plan`` and ``run`` (docs/api.md).
They are imported when they are used, so that ``import linewatt`` takes no time.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from linewatt.api import (
        Campaign,
        Case,
        CaseResult,
        Comparison,
        Figure,
        Finding,
        LinewattError,
        Plan,
        Result,
        Results,
        Samples,
        Trial,
        Verdict,
        compare,
        events,
        open_results,
        plan,
        run,
        run_async,
    )

__all__ = [
    "Campaign",
    "Case",
    "CaseResult",
    "Comparison",
    "Figure",
    "Finding",
    "LinewattError",
    "Plan",
    "Result",
    "Results",
    "Samples",
    "Trial",
    "Verdict",
    "compare",
    "events",
    "open_results",
    "plan",
    "run",
    "run_async",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("linewatt.api"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
