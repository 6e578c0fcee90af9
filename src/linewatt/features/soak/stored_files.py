# SPDX-License-Identifier: Apache-2.0
"""The files of a soak, each with what reads it, for ``linewatt verify``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from linewatt.features.soak import storage as soak
from linewatt.store import read_channels


def stored_files(result: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Its parts, then each chunk of samples; nothing of a result that is none."""
    if soak.is_soak(result):
        yield result / soak.FOLDER, partial(soak.parts, result)
        for chunk in soak.chunk_files(result):
            yield chunk, partial(read_channels, chunk)
