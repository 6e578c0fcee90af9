# SPDX-License-Identifier: Apache-2.0
"""What users of a test do where the test does not say it."""

from __future__ import annotations

from typing import Any

USUAL: dict[str, Any] = {
    "get_share": 0.5,
    "think_s": 0.0,
    "think": "fixed",
    "login_per": "session",
    "cycle_transfers": 2,
    "checked_share": 0.01,
    "start": "independent",
    "spread_s": 1.0,
    "arrival_rate_hz": None,
    "seed": 1,
    "discard": "kernel",
}
