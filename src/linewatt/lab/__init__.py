# SPDX-License-Identifier: Apache-2.0
"""Lab hosts as network namespaces, or as virtual machines, each with a real sshd.

``up(LabRequest(...))`` gives a :class:`Lab` with the ``inventory`` a campaign can name; ``down(name)``
leaves nothing of it; ``status()`` says what there is.
"""

from linewatt.lab.api import HostStatus, Lab, LabStatus, down, down_all, names, status, up
from linewatt.lab.guests.spec import Guest, Nic
from linewatt.lab.layout import HostLayout, LabRequest

__all__ = [
    "Guest",
    "HostLayout",
    "HostStatus",
    "Lab",
    "LabRequest",
    "LabStatus",
    "Nic",
    "down",
    "down_all",
    "names",
    "status",
    "up",
]
