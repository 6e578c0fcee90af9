# SPDX-License-Identifier: Apache-2.0

from . import read as read
from .cores import CORE_WORDS as CORE_WORDS
from .cores import CoreKind as CoreKind
from .cores import core_groups as core_groups
from .cores import core_is as core_is
from .cpulist import MAX_CPUS as MAX_CPUS
from .cpulist import cpu_mask as cpu_mask
from .cpulist import format_cpulist as format_cpulist
from .cpulist import parse_cpulist as parse_cpulist
from .interrupts import names_of_queues as names_of_queues
from .interrupts import queue_numbers as queue_numbers
from .kinds import LOW_POWER_KINDS as LOW_POWER_KINDS
from .kinds import Kind as Kind
from .kinds import faster_kinds as faster_kinds
from .parsers import OFFLOADS as OFFLOADS
from .parsers import PAUSE_FRAMES as PAUSE_FRAMES
from .read import BOND_PORTS as BOND_PORTS
from .read import FACT_NAMES as FACT_NAMES
from .read import FURTHER_NICS as FURTHER_NICS
from .read import NOT_KNOWN as NOT_KNOWN
from .read import Facts as Facts
from .read import fact_of_port as fact_of_port
from .read import facts_at_interface as facts_at_interface
from .read import further_nics as further_nics
