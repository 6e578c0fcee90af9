# SPDX-License-Identifier: Apache-2.0
"""The stacks of all profiles of a result, for other tools."""

from __future__ import annotations

import json

from linewatt.errors import InvalidInput
from linewatt.features.profiles.report import view as profiles
from linewatt.features.profiles.report.tables import Shown
from linewatt.report.trials import digest_of
from linewatt.store import Result


def folded(result: Result) -> bytes:
    """For flamegraph.pl. Raises InvalidInput where there is no profile."""
    return profiles.folded_text(_with_stacks(result, "folded")).encode()


def speedscope(result: Result) -> bytes:
    """For speedscope. Raises InvalidInput where there is no profile."""
    return json.dumps(profiles.speedscope(_with_stacks(result, "speedscope"), result.id)).encode()


def _with_stacks(result: Result, form: str) -> list[Shown]:
    shown = profiles.profiles_of(digest_of(result))
    if not any(profile.places for profile in shown):
        raise InvalidInput(
            f"--format {form}: {result.id} has no profile; profile: true in its campaign adds one"
        )
    return shown
