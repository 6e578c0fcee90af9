# SPDX-License-Identifier: Apache-2.0
"""One long load with its ledger (docs/soak.md)."""

from linewatt.core.feature import CampaignKey, Feature, FeatureFindings, FeatureResultKind

FEATURE = Feature(
    name="soak",
    summary="one long load: its steadiness and its byte ledger",
    needs=("users",),
    campaign_keys=(
        CampaignKey(
            key="soak",
            field_path="linewatt.features.soak.entries:SOAK_FIELD",
            read_path="linewatt.features.soak.campaign_key:read_soak",
            document_path="linewatt.features.soak.model:Soak",
            problems_path="linewatt.features.soak.campaign_key:check_soak",
            brings_load=True,
            replaces_trials=True,
        ),
        CampaignKey(
            key="best_of",
            field_path="linewatt.features.soak.entries:BEST_OF_FIELD",
            read_path="linewatt.features.soak.campaign_key:read_best_of",
            document_path="linewatt.features.soak.model:BestOf",
            problems_path="linewatt.features.soak.campaign_key:check_best_of",
            resolve_path="linewatt.features.soak.best_setting_lookup:resolved",
        ),
    ),
    findings=(FeatureFindings("Soaks", "linewatt.features.soak.findings:KINDS"),),
    stored_files="linewatt.features.soak.storage:stored_files",
    result_kind=FeatureResultKind(
        is_of_path="linewatt.features.soak.result_mark:is_of", path="linewatt.features.soak.result_kind:KIND"
    ),
    plan_kind="linewatt.features.soak.plan_kind:PLAN_KIND",
)
