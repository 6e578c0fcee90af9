# SPDX-License-Identifier: Apache-2.0
"""Findings on settings and paths that are not what they were taken to be."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS: tuple[Kind, ...] = ()
