# SPDX-License-Identifier: Apache-2.0
"""Scripted users of a file server as a load (docs/users.md).

Soaks use three parts of it: ``model.py`` (what a campaign asks), ``soaks.py`` (a server and users at work),
and what users counted (``worker/tally.py``, ``worker/percentiles.py``).
"""

from linewatt.core.feature import (
    CampaignKey,
    Feature,
    FeatureCommand,
    FeatureFindings,
    FeatureLoad,
    HostCheck,
    PythonPackage,
)

FEATURE = Feature(
    name="users",
    summary="scripted users of a file server, in trials and in soaks",
    commands=(
        FeatureCommand(
            "prepare",
            "linewatt.features.users.prepare_command:prepare_command",
            "Measure",
            "Install the software for scripted users on client hosts.",
        ),
    ),
    campaign_keys=(
        CampaignKey(
            key="users",
            field_path="linewatt.features.users.entries:USERS_FIELD",
            read_path="linewatt.features.users.campaign_key:read_users",
            document_path="linewatt.features.users.model:Users",
            problems_path="linewatt.features.users.campaign_key:check_users_key",
            hosts_path="linewatt.features.users.campaign_key:users_hosts",
            brings_load=True,
            extra="users",
            packages=(PythonPackage("locust", "locust"), PythonPackage("hdrhistogram", "hdrh")),
        ),
    ),
    findings=(FeatureFindings("Users", "linewatt.features.users.findings:KINDS"),),
    knobs=("linewatt.features.users.folder_knob:FOLDER_KNOB",),
    host_checks=(
        HostCheck(
            name="users",
            title="users",
            campaign_key="users",
            path="linewatt.features.users.host_check:users_check",
        ),
    ),
    password_files="linewatt.features.users.server_password:password_files",  # noqa: S106  a path of Python
    loads=(
        FeatureLoad(
            name="users",
            test="ftp",
            planning_path="linewatt.features.users.planning:PLANNING",
            trials_path="linewatt.features.users.trials:UsersAtWork.of",
            measuring_path="linewatt.features.users.measuring:MEASURING",
        ),
    ),
)
