# SPDX-License-Identifier: Apache-2.0

from .checkup import AskedHost as AskedHost
from .checkup import Checkup as Checkup
from .checkup_fix import Fixes as Fixes
from .checkup_fix import apply_fixes as apply_fixes
from .readiness import Check as Check
from .readiness import Status as Status
from .readiness import check_titles as check_titles
from .readiness import fixes_of_checks as fixes_of_checks
from .readiness import worst_status as worst_status
