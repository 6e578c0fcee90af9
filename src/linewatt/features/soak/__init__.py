# SPDX-License-Identifier: Apache-2.0
"""One long load with its ledger (docs/soak.md)."""

from linewatt.core.feature import CampaignKey, Feature, FeatureFindings

FEATURE = Feature(
    name="soak",
    summary="one long load, its steadiness and its ledger of bytes",
    campaign_keys=(
        CampaignKey(
            key="soak",
            field_path="linewatt.campaign.entries.soak:SOAK_FIELD",
            read_path="linewatt.campaign.users.soak_key:read_soak",
            document_path="linewatt.campaign.users.soak:Soak",
            problems_path="linewatt.campaign.users.soak_key:check_soak",
            brings_load=True,
            replaces_trials=True,
        ),
        CampaignKey(
            key="best_of",
            field_path="linewatt.campaign.entries.soak:BEST_OF_FIELD",
            read_path="linewatt.campaign.users.soak_key:read_best_of",
            document_path="linewatt.campaign.users.soak:BestOf",
            problems_path="linewatt.campaign.users.soak_key:check_best_of",
            resolve_path="linewatt.engine.soak.best_of:resolved",
        ),
    ),
    findings=(FeatureFindings("Soaks", "linewatt.findings.soak:KINDS"),),
    stored_files="linewatt.features.soak.stored_files:stored_files",
    result_kind="linewatt.features.soak.result_kind:KIND",
    plan_kind="linewatt.features.soak.plan_kind:PLAN_KIND",
)
