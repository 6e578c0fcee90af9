# SPDX-License-Identifier: Apache-2.0
"""What Python programs call: stored results, comparisons, campaigns. ``linewatt`` has all of these names.

A thin face of the rooms below it. Nothing is printed, errors are those of :mod:`linewatt.errors`, hosts are
touched by :func:`run` alone. docs/api.md has an example of each.
"""

from linewatt.api.cases import CaseResult as CaseResult
from linewatt.api.cases import Figure as Figure
from linewatt.api.comparing import Comparison as Comparison
from linewatt.api.comparing import Verdict as Verdict
from linewatt.api.comparing import compare as compare
from linewatt.api.results import Finding as Finding
from linewatt.api.results import Result as Result
from linewatt.api.results import Results as Results
from linewatt.api.results import open_results as open_results
from linewatt.api.runs import Campaign as Campaign
from linewatt.api.runs import Plan as Plan
from linewatt.api.runs import plan as plan
from linewatt.api.runs import run as run
from linewatt.api.runs import run_async as run_async
from linewatt.api.samples import Samples as Samples
from linewatt.engine import events as events
from linewatt.errors import LinewattError as LinewattError
from linewatt.model import Case as Case
from linewatt.model import Trial as Trial
