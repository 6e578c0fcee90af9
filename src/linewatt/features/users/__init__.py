# SPDX-License-Identifier: Apache-2.0
"""Scripted users of a file server as a load (docs/users.md)."""

from linewatt.core.feature import (
    CampaignKey,
    Feature,
    FeatureCommand,
    FeatureFindings,
    FeatureLoad,
    HostCheck,
)

FEATURE = Feature(
    name="users",
    summary="scripted users of a file server, in trials and in soaks",
    commands=(FeatureCommand("prepare", "linewatt.cli.commands.prepare:prepare_command", "Measure"),),
    campaign_keys=(
        CampaignKey(
            key="users",
            field_path="linewatt.campaign.entries.users:USERS_FIELD",
            read_path="linewatt.campaign.users.campaign_key:read_users",
            document_path="linewatt.campaign.users.users:Users",
            problems_path="linewatt.campaign.users.campaign_key:check_users_key",
            hosts_path="linewatt.campaign.users.campaign_key:users_hosts",
            brings_load=True,
        ),
    ),
    findings=(FeatureFindings("Users", "linewatt.findings.users:KINDS"),),
    knobs=("linewatt.tuning.users_folder:FOLDER_KNOB",),
    host_checks=(
        HostCheck(
            name="users",
            title="users",
            campaign_key="users",
            path="linewatt.engine.soak.readiness:users_check",
        ),
    ),
    password_files="linewatt.engine.soak.server_password:password_files",  # noqa: S106  a path of Python
    loads=(
        FeatureLoad(
            name="users",
            test="ftp",
            planning_path="linewatt.campaign.users.planning:PLANNING",
            trials_path="linewatt.engine.soak.trials:UsersAtWork.of",
            measuring_path="linewatt.engine.measuring.users:MEASURING",
        ),
    ),
)
