# SPDX-License-Identifier: Apache-2.0

from .findings import Finding as Finding
from .findings import Findings as Findings
from .findings import Sighting as Sighting
from .findings import counted_by_rank as counted_by_rank
from .findings import gather_findings as gather_findings
from .findings import merge_sightings as merge_sightings
from .methods import why_figure_differs as why_figure_differs
