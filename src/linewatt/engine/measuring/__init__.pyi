# SPDX-License-Identifier: Apache-2.0

from .checks.steadiness import flag_of_shape as flag_of_shape
from .checks.window import outside_s as outside_s
from .checks.window import standstill as standstill
from .cut import Cut as Cut
from .cut import InstanceRun as InstanceRun
from .cut import Seen as Seen
from .cut import Setup as Setup
from .flags import Check as Check
from .link import silence_reason as silence_reason
from .measure import load_series as load_series
from .measure import trial_of as trial_of
from .window import COVERAGE_NEEDED as COVERAGE_NEEDED
from .window import Counted as Counted
from .window import EndRun as EndRun
from .window import count_in_window as count_in_window
from .window import overlap_s as overlap_s
from .window import place_load as place_load
