# SPDX-License-Identifier: Apache-2.0

from .knobs import ALL_KNOBS as ALL_KNOBS
from .restore import Undoer as Undoer
from .restore import forget_journal as forget_journal
from .restore import restore_hosts as restore_hosts
from .restore import undo_and_tell as undo_and_tell
from .settings import Settings as Settings
