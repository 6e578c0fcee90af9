# SPDX-License-Identifier: Apache-2.0

from .current_readings import is_current as is_current
from .current_readings import watts_now as watts_now
from .feed import Feed as Feed
from .feed import Reading as Reading
from .feed import Record as Record
from .secrets import notes_on_open_files as notes_on_open_files
from .secrets import password_from_environment as password_from_environment
from .secrets import password_from_file as password_from_file
from .secrets import read_passwords as read_passwords
from .sensing import Restarts as Restarts
from .sensing import start_sensors as start_sensors
from .sensing import try_until_it_works as try_until_it_works
from .sensor_feed import SensorFeed as SensorFeed
from .session import Connector as Connector
from .session import Session as Session
from .session import read_facts as read_facts
from .trial import Levels as Levels
from .trial import Live as Live
from .trial import LiveTrial as LiveTrial
from .trial import LoadTime as LoadTime
from .trial_run import InstanceOutput as InstanceOutput
from .trial_run import TrialRun as TrialRun
from .trial_run import UsersReport as UsersReport
