# SPDX-License-Identifier: Apache-2.0

from .base import CALL_LIMIT_S as CALL_LIMIT_S
from .base import FilePath as FilePath
from .base import Meter as Meter
from .base import MeterRecord as MeterRecord
from .base import MeterSession as MeterSession
from .base import PowerConfig as PowerConfig
from .base import Secret as Secret
from .base import no_meter as no_meter
from .base import parse_record as parse_record
from .base import text_matching as text_matching
from .command import CommandConfig as CommandConfig
from .dynamics import POLL_LIMITED as POLL_LIMITED
from .dynamics import TOO_SHORT_WORDS as TOO_SHORT_WORDS
from .dynamics import Dynamics as Dynamics
from .dynamics import declared_dynamics as declared_dynamics
from .dynamics import student_t as student_t
from .dynamics import why_too_short as why_too_short
from .ipmi.names import DCMI as DCMI
from .ipmi.names import DCMI_SCOPE as DCMI_SCOPE
from .ipmi.names import scope_of_sensor as scope_of_sensor
from .ipmi.names import scopes_of_sensors as scopes_of_sensors
