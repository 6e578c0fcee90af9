# SPDX-License-Identifier: Apache-2.0
"""Findings on whether a meter can show what the window needs."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

FEWEST_SAMPLES = 4
"""What a meter took less often in the window is no mean of it."""
LEAST_SEEN_RATIO = 0.5
"""A meter that has seen less of the window says nothing of it."""

KINDS: tuple[Kind, ...] = ()
