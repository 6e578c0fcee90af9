# SPDX-License-Identifier: Apache-2.0
"""Findings on the state that loads are compared with."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS: tuple[Kind, ...] = ()
