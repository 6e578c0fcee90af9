# SPDX-License-Identifier: Apache-2.0
"""One long load with its ledger (docs/soak.md)."""

from linewatt.core.feature import Feature, FeatureFindings

FEATURE = Feature(
    name="soak",
    summary="one long load, its steadiness and its ledger of bytes",
    findings=(FeatureFindings("Soaks", "linewatt.findings.soak:KINDS"),),
    stored_files="linewatt.features.soak.stored_files:stored_files",
    result_kind="linewatt.features.soak.result_kind:KIND",
    plan_kind="linewatt.features.soak.plan_kind:PLAN_KIND",
)
