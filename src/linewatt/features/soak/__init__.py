# SPDX-License-Identifier: Apache-2.0
"""One long load with its ledger (docs/soak.md)."""

from linewatt.core.feature import Feature

FEATURE = Feature(
    name="soak",
    summary="one long load, its steadiness and its ledger of bytes",
    result_kind="linewatt.features.soak.result_kind:KIND",
)
