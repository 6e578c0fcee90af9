# SPDX-License-Identifier: Apache-2.0
"""What ``rederive`` may find changed in a result of today's method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linewatt.engine.rederive.differences import LEARNED


def assert_as_stored(document: Mapping[str, Any], trials: int) -> None:
    """Each trial is the same, but for watts that only later loads showed its meter to have had."""
    assert len(document["trials"]) == trials
    assert {one["problem"] for one in document["trials"]} == {None}
    assert {change["why"] for one in document["trials"] for change in one["changes"]} <= {LEARNED}, document
