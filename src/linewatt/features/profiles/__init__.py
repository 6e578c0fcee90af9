# SPDX-License-Identifier: Apache-2.0
"""CPU profiles by perf(1): one extra trial per case, and flame graphs (docs/profiles.md)."""

from linewatt.core.feature import (
    CampaignKey,
    Feature,
    FeatureOption,
    FurtherTrials,
    HostCheck,
    ReportFormat,
)

_CAMPAIGN_KEY = "linewatt.features.profiles.campaign_key"
_FORMATS = "linewatt.features.profiles.report_formats"
_VIEW = "linewatt.features.profiles.report.view"

FEATURE = Feature(
    name="profiles",
    summary="CPU profiles of cases, by perf",
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
            plan_path="linewatt.features.profiles.planning:PLAN",
            run_path="linewatt.features.profiles.engine.run:Profiler",
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
    options=(
        FeatureOption(
            command="show",
            word="profile",
            help="Hottest functions, kinds of work, call graphs (perf).",
            path=f"{_VIEW}:VIEW",
        ),
        FeatureOption(
            command="compare",
            word="profile",
            help="Profiles: functions that gained or lost CPU time.",
            path="linewatt.features.profiles.comparison:COMPARISON",
        ),
    ),
    report_formats=(
        ReportFormat(
            word="folded",
            help="profile stacks for flamegraph.pl",
            suffix="folded",
            path=f"{_FORMATS}:folded",
        ),
        ReportFormat(
            word="speedscope",
            help="profile stacks as JSON",
            suffix="speedscope.json",
            path=f"{_FORMATS}:speedscope",
        ),
    ),
    page_sections=f"{_VIEW}:page_sections",
)
