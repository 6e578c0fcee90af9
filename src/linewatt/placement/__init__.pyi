# SPDX-License-Identifier: Apache-2.0

from .hwloc import parse_lstopo_xml as parse_lstopo_xml
from .pin import bind_to_cpus as bind_to_cpus
from .policy import POLICIES as POLICIES
from .policy import Placement as Placement
from .policy import Wish as Wish
from .policy import place_processes as place_processes
from .sysfs import complete_topology as complete_topology
from .sysfs import topology_of_facts as topology_of_facts
from .topology import Cpu as Cpu
from .topology import Topology as Topology
