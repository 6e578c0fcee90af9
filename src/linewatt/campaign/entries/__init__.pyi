# SPDX-License-Identifier: Apache-2.0

from . import fields as fields
from .networks import BARE_NETWORK as BARE_NETWORK
from .networks import network_name as network_name
from .quantities import Duration as Duration
from .quantities import Share as Share
from .quantities import Size as Size
from .schema import CampaignFile as CampaignFile
from .schema import HostEntry as HostEntry
from .schema import json_schema as json_schema
from .schema import levels_of_factors as levels_of_factors
