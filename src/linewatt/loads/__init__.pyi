# SPDX-License-Identifier: Apache-2.0

from .base import BOTH_WAYS as BOTH_WAYS
from .base import SHORT_RATIO as SHORT_RATIO
from .base import Asked as Asked
from .base import Exchange as Exchange
from .base import Load as Load
from .base import LoadEnd as LoadEnd
from .base import LoadInterval as LoadInterval
from .base import LoadJob as LoadJob
from .base import Protocol as Protocol
from .base import ToldEnd as ToldEnd
from .base import Version as Version
from .base import Wanted as Wanted
from .base import protocol_of as protocol_of
from .base import version_text as version_text
from .base import whole_intervals as whole_intervals
from .iperf3.parser import json_after_warnings as json_after_warnings
from .registry import DEFAULT_LOAD as DEFAULT_LOAD
from .registry import LOADS as LOADS
from .registry import SOAKING_LOADS as SOAKING_LOADS
from .registry import load_of as load_of
from .registry import load_of_prefix as load_of_prefix
