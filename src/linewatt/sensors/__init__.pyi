# SPDX-License-Identifier: Apache-2.0

from .base import Records as Records
from .base import Sensor as Sensor
from .base import SensorConfig as SensorConfig
from .base import Stamped as Stamped
from .counters import MAX_GAP_INTERVALS as MAX_GAP_INTERVALS
from .counters import WRAP_PART as WRAP_PART
from .counters import counter_delta as counter_delta
from .drops import COUNTED_TWICE as COUNTED_TWICE
from .drops import DROP_CAUSES as DROP_CAUSES
from .drops import Loss as Loss
from .drops import losses_of_host as losses_of_host
from .link import link_news as link_news
from .mpstat import CPU_SHARE_SOURCES as CPU_SHARE_SOURCES
from .mpstat import MPSTAT_COLUMNS as MPSTAT_COLUMNS
from .mpstat import WHOLE_HOST as WHOLE_HOST
from .mpstat import Mpstat as Mpstat
from .mpstat import mpstat_time_s as mpstat_time_s
from .mpstat import reasons_of_shares as reasons_of_shares
from .mpstat import values_of_shares as values_of_shares
from .netcounters import SOFTNET_BITS as SOFTNET_BITS
from .netcounters import netcounters_time_s as netcounters_time_s
from .registry import POWER_DRIVERS as POWER_DRIVERS
from .registry import SENSORS as SENSORS
