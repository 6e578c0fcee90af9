# SPDX-License-Identifier: Apache-2.0

from . import events as events
from .background_imports import ImportStep as ImportStep
from .campaign import CampaignRun as CampaignRun
from .case_text import describe_case as describe_case
from .case_text import is_worth_telling as is_worth_telling
from .case_text import outcome_of_trial as outcome_of_trial
from .events import Ended as Ended
from .events import Event as Event
from .events import LeftChanged as LeftChanged
from .events import OnEvent as OnEvent
from .events import Phase as Phase
from .events import Started as Started
from .events import TrialStored as TrialStored
from .events import Warned as Warned
from .further import lacking_trials as lacking_trials
from .observers import CpuOf as CpuOf
from .plan_kinds import KindPlan as KindPlan
from .plan_kinds import kinds_of_plans as kinds_of_plans
from .plan_kinds import plan_kind as plan_kind
from .rounds import RoundRunner as RoundRunner
from .run import Places as Places
from .run import Run as Run
from .stage import Stage as Stage
