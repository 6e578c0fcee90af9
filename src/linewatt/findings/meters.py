# SPDX-License-Identifier: Apache-2.0
"""Findings on whether a meter can show what the window needs."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS: tuple[Kind, ...] = ()
