# SPDX-License-Identifier: Apache-2.0
"""What a result that is made again from its raw files may differ by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linewatt.engine.rederive.differences import LEARNED


def unexplained(document: Mapping[str, Any]) -> list[Any]:
    """What ``rederive --json`` has that is neither the same nor watts of which later loads showed more.

    Where CPUs are waited for, a load begins unevenly and its meter looks slow, until the next ones show that
    it is quick.
    """
    trials = document["trials"]
    changes = [one for trial in trials for one in trial["changes"]]
    findings = [one for trial in trials for one in trial["findings"]]
    return [
        *(trial for trial in trials if not (trial["same"] or trial["changes"] or trial["findings"])),
        *(one for one in changes if one["why"] != LEARNED or ".power[" not in one["figure"]),
        *(one for one in findings if one["added"] or one["code"] != "power-window-too-short"),
    ]
