# SPDX-License-Identifier: Apache-2.0

from .caveats import short_caveats as short_caveats
from .charts.components import EndBreakdown as EndBreakdown
from .charts.components import component_caption as component_caption
from .charts.components import component_spec as component_spec
from .charts.components import component_words as component_words
from .charts.components import end_breakdowns as end_breakdowns
from .detail import detail_documents as detail_documents
from .digest import Digest as Digest
from .digest import digest_document as digest_document
from .digest import digest_of as digest_of
from .every_trial import EVERY_TRIAL_TITLE as EVERY_TRIAL_TITLE
from .one_trial import trial_sections as trial_sections
from .power.power_table import power_cases as power_cases
from .searches.watts_at import watts_at_documents as watts_at_documents
from .searches.watts_at import watts_table as watts_table
from .settings.effects import EFFECT_COLUMNS as EFFECT_COLUMNS
from .settings.effects import effect_rows as effect_rows
from .terminal import show_trials as show_trials
