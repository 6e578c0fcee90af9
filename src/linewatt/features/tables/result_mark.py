# SPDX-License-Identifier: Apache-2.0
"""How the result of a published table is told from others, by its manifest alone."""

from __future__ import annotations

from linewatt.records import Manifest


def is_of(manifest: Manifest) -> bool:
    """Whether a result is a published table."""
    return bool(manifest.imported_kind)
