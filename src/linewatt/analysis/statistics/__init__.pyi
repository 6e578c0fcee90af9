# SPDX-License-Identifier: Apache-2.0

from . import shapes as shapes
from .contrasts import ALPHA as ALPHA
from .contrasts import Contrast as Contrast
from .contrasts import holm_adjusted as holm_adjusted
from .modes import FEWEST_RUNS as FEWEST_RUNS
from .rate_agreement import Disagreement as Disagreement
from .rate_agreement import rate_disagrees as rate_disagrees
from .repeats import RepeatOutcome as RepeatOutcome
from .repeats import RepeatRule as RepeatRule
from .repeats import Repeats as Repeats
from .stats import CONFIDENCE_LEVEL as CONFIDENCE_LEVEL
from .stats import FEWEST_TO_SKEW as FEWEST_TO_SKEW
from .stats import Estimate as Estimate
from .stats import Interval as Interval
from .stats import Method as Method
from .stats import Quantity as Quantity
from .stats import runs_that_exclude as runs_that_exclude
from .steadiness import FEWEST_INTERVALS as FEWEST_INTERVALS
from .steadiness import SeriesStep as SeriesStep
from .steadiness import Slope as Slope
from .steadiness import standard_error as standard_error
from .steadiness import warm_up_change_points as warm_up_change_points
from .student import critical_t as critical_t
from .student import two_sided_p as two_sided_p
