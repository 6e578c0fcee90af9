# SPDX-License-Identifier: Apache-2.0

from . import cpu as cpu
from . import layout as layout
from . import load as load
from . import plausibility as plausibility
from . import power as power
from . import power_source as power_source
from . import steadiness as steadiness
