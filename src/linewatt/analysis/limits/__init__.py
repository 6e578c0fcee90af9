# SPDX-License-Identifier: Apache-2.0
"""The one limit finder: what limits a case, with evidence for and against. Pure (docs/limits.md)."""

from linewatt.analysis.limits.candidate import Candidate as Candidate
from linewatt.analysis.limits.candidate import Kind as Kind
from linewatt.analysis.limits.flags import limit_flags as limit_flags
from linewatt.analysis.limits.ranking import Ranked as Ranked
from linewatt.analysis.limits.ranking import candidates as candidates
from linewatt.analysis.limits.verdict import UNKNOWN as UNKNOWN
from linewatt.analysis.limits.verdict import Limit as Limit
from linewatt.analysis.limits.verdict import verdict as verdict
