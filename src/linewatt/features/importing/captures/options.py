# SPDX-License-Identifier: Apache-2.0
"""What whoever imports files says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo


@dataclass(frozen=True, slots=True)
class Options:
    """``omit_s`` and ``tail_s`` are left out of each test at its start and its end.

    ``zone`` is that of clocks on the wall that are written without one; None: not said, UTC is tried.
    ``hosts`` is the name of a file → the host it is of, where neither its folder nor what is in it says so.
    ``sender`` and ``receiver`` are what the hosts of all tests are called, where it is said.
    """

    omit_s: float = 0.0
    tail_s: float = 0.0
    zone: tzinfo | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    network: str = "bare"
    sender: str | None = None
    receiver: str | None = None
