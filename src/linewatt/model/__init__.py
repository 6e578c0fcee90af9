# SPDX-License-Identifier: Apache-2.0
"""The values that travel through the house: frozen, SI inside, no live handles.

Missing is ``None`` with a reason beside it, never 0. Ratios are 0..1 of one CPU unless said otherwise.
"""

from linewatt.model.case import (
    ENDS,
    FTP,
    TOGETHER,
    Case,
    Direction,
    Family,
    Role,
    Shape,
    TestName,
    group_of,
    is_request_response,
    is_tcp,
)
from linewatt.model.dealing import dealt, lowest_terms
from linewatt.model.ends import (
    CgroupThrottling,
    Counters,
    CpuShares,
    EndResult,
    FlowResult,
    InstanceResult,
    OtherProcess,
    OutsideLimits,
    PortResult,
    PowerResult,
    SchedulingClass,
    SharedCpu,
    TcpState,
    ThermalResult,
)
from linewatt.model.samples import Channel, ChannelKind, Flag, Provenance, Sample, Window, hosts_in
from linewatt.model.trial import METHOD, Trial

__all__ = [
    "ENDS",
    "FTP",
    "METHOD",
    "TOGETHER",
    "Case",
    "CgroupThrottling",
    "Channel",
    "ChannelKind",
    "Counters",
    "CpuShares",
    "Direction",
    "EndResult",
    "Family",
    "Flag",
    "FlowResult",
    "InstanceResult",
    "OtherProcess",
    "OutsideLimits",
    "PortResult",
    "PowerResult",
    "Provenance",
    "Role",
    "Sample",
    "SchedulingClass",
    "Shape",
    "SharedCpu",
    "TcpState",
    "TestName",
    "ThermalResult",
    "Trial",
    "Window",
    "dealt",
    "group_of",
    "hosts_in",
    "is_request_response",
    "is_tcp",
    "lowest_terms",
]
