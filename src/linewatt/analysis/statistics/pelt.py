# SPDX-License-Identifier: Apache-2.0
"""Change points of a mean by PELT, with the C extension of ruptures. Pure.

``import ruptures`` takes a second, most of it for scipy, which PELT does not need. So the extension is loaded
from its file. Where that file is missing or differs, ruptures is imported, with the same result.

PELT: R. Killick et al., JASA 107 (2012) 1590–1598.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MIN_SIZE = 2
"""values a segment has at least"""
EXTENSION = "ruptures.detection._detection.ekcpd"

_Search = Callable[["np.ndarray[Any, Any]", float, int], Any]


def mean_changes(series: np.ndarray[Any, Any], penalty: float) -> list[int]:
    """Where the mean of a one-dimensional series changes: the first index of each segment but the first.

    Each change costs ``penalty``, in squares of the values. Raises ValueError for fewer than 2 × MIN_SIZE
    values.
    """
    count = len(series)
    if count < 2 * MIN_SIZE:
        raise ValueError(f"{count} values have no two segments of {MIN_SIZE}")
    search = extension()
    if search is None:
        from ruptures import KernelCPD

        ends: list[int] = KernelCPD(kernel="linear", min_size=MIN_SIZE).fit(series).predict(pen=penalty)
        return [int(end) for end in ends[:-1]]
    # as KernelCPD does: for each end of a segment the path has the end of the segment before it
    path = search(series.astype(float).reshape(-1, 1), penalty, MIN_SIZE)
    points = []
    start = int(path[count])
    while start > 0:
        points.append(start)
        start = int(path[start])
    return points[::-1]


@cache
def extension() -> _Search | None:
    """PELT of ruptures' C extension; ``None`` where this version of ruptures has it elsewhere."""
    package = find_spec("ruptures")  # which does not import it
    places = package.submodule_search_locations if package else None
    folders = [str(Path(place, "detection", "_detection")) for place in places or ()]
    spec = PathFinder.find_spec(EXTENSION, folders)
    if spec is None or spec.loader is None:
        return None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:
        return None
    search: _Search | None = getattr(module, "ekcpd_pelt_L2", None)
    return search
