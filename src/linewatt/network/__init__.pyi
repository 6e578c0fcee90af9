# SPDX-License-Identifier: Apache-2.0

from .build import describe_network as describe_network
from .checks import check_hosts as check_hosts
from .checks import check_state as check_state
from .description import NETWORK_KNOB as NETWORK_KNOB
from .description import HostNetwork as HostNetwork
from .foreign import find_templates as find_templates
from .foreign import find_unsupported as find_unsupported
from .framing import FCS_BYTES as FCS_BYTES
from .framing import Framing as Framing
from .framing import frame_sizes as frame_sizes
from .framing import goodput_bps as goodput_bps
from .framing import payload_bytes as payload_bytes
from .host_route import HOST_ROUTE_KNOB as HOST_ROUTE_KNOB
from .host_route import host_route_setting as host_route_setting
from .items import parse_network_key as parse_network_key
from .knob import interfaces_with_addresses as interfaces_with_addresses
from .nmstatectl import NMSTATE_KNOB as NMSTATE_KNOB
from .nmstatectl import nmstate_change as nmstate_change
from .nmstatectl import uses_nmstate as uses_nmstate
from .paths import NetworkPath as NetworkPath
from .paths import path_between as path_between
from .registry import NETWORK_KNOBS as NETWORK_KNOBS
from .schema import Finding as Finding
from .schema import NetworkState as NetworkState
