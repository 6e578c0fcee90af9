# SPDX-License-Identifier: Apache-2.0

from .document import plan_document_of as plan_document_of
from .document import plan_document_schema as plan_document_schema
from .document import plan_keys as plan_keys
from .further import further_plans as further_plans
from .idle import Between as Between
from .idle import rounds_between as rounds_between
from .idle import settling_limits as settling_limits
from .layout import Layout as Layout
from .places import Places as Places
from .places import Site as Site
from .plain import plan_as_dict as plan_as_dict
from .plan import Plan as Plan
from .plan import PlannedInstance as PlannedInstance
from .plan import PlannedTrial as PlannedTrial
from .plan import Round as Round
from .plan import plan_campaign as plan_campaign
from .plan import remaining_s as remaining_s
from .plan import seed_of_campaign as seed_of_campaign
from .programs import ALLOW_COMMANDS as ALLOW_COMMANDS
from .programs import Program as Program
from .programs import programs_of_campaign as programs_of_campaign
from .programs import refuse_listed as refuse_listed
from .programs import refuse_programs as refuse_programs
