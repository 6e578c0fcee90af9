# SPDX-License-Identifier: Apache-2.0
"""Tables that others published, and figures made of tables (docs/import.md)."""

from linewatt.core.feature import Feature

FEATURE = Feature(
    name="tables",
    summary="tables that others published, and figures made of tables",
    result_kind="linewatt.report.published.kind:KIND",
)
