# SPDX-License-Identifier: Apache-2.0
"""What makes a result doubtful as a whole: findings on its hosts, meters and idle windows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linewatt.analysis.flags.meters import meter_flags
from linewatt.model import Flag, Trial


def campaign_flags(manifest: Mapping[str, Any], trials: Sequence[Trial]) -> Iterator[Flag]:
    """Flags that are of no trial and no case; ``where`` begins with the host they are about, if any."""
    yield from meter_flags(manifest, trials)
