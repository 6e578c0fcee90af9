# SPDX-License-Identifier: Apache-2.0

from .candidate import Kind as Kind
from .candidate import SentAgain as SentAgain
from .cpus import interrupt_cpu_tasks as interrupt_cpu_tasks
from .cpus import niced_counts as niced_counts
from .cpus import processes_on as processes_on
from .cpus import seen_cores as seen_cores
from .cpus import task_cores as task_cores
from .cpus import used_ratio as used_ratio
from .knee import Knee as Knee
from .limit_text import cpu_users_text as cpu_users_text
from .limit_text import limit_name as limit_name
from .limit_text import process_names as process_names
from .limit_text import short_limit as short_limit
from .limit_text import throttled_words as throttled_words
from .limit_text import waited_words as waited_words
from .quotas import quota_words as quota_words
from .quotas import throttled_ratio as throttled_ratio
from .ranking import Ranked as Ranked
from .sockets import CONGESTION as CONGESTION
from .sockets import SOCKET_LIMITS as SOCKET_LIMITS
from .sockets import SOCKET_SETTINGS as SOCKET_SETTINGS
from .verdict import MEMORY_PRESSURE as MEMORY_PRESSURE
from .verdict import PRESSURE_FILE as PRESSURE_FILE
from .verdict import Limit as Limit
