# SPDX-License-Identifier: Apache-2.0

from .case import FlagCount as FlagCount
from .case import exceeded_flags as exceeded_flags
from .effects import is_light_in_trial as is_light_in_trial
from .hosts import not_ready_flags as not_ready_flags
from .meters import meter_flags as meter_flags
