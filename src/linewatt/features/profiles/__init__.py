# SPDX-License-Identifier: Apache-2.0
"""What CPUs do while a case runs, by perf(1): one more trial a case, and flame graphs (docs/profiles.md)."""

from linewatt.core.feature import CampaignKey, Feature, FurtherTrials, HostCheck

_CAMPAIGN_KEY = "linewatt.features.profiles.campaign_key"

FEATURE = Feature(
    name="profiles",
    summary="what CPUs do while a case runs, by perf",
    campaign_keys=(
        CampaignKey(
            key="profile", field_path=f"{_CAMPAIGN_KEY}:FIELD", problems_path=f"{_CAMPAIGN_KEY}:problems"
        ),
    ),
    further_trials=(
        FurtherTrials(
            name="profiles",
            noun="profile",
            campaign_key="profile",
            show_option="profile",
            plan_path="linewatt.campaign.planning.profiles:PLAN",
            run_path="linewatt.engine.profiling.run:Profiler",
        ),
    ),
    host_checks=(
        HostCheck(
            name="perf",
            title="profiles",
            campaign_key="profile",
            path="linewatt.features.profiles.host_check:perf_check",
        ),
    ),
)
