# SPDX-License-Identifier: Apache-2.0
"""The only module of this folder that other features import.

:func:`store_table` makes a result of a published table, whose columns are among :data:`RECOGNISED`, or of
host blocks that are text;
:func:`trials_of_table` reads a series of anybody's as trials.
"""

from linewatt.features.tables.kinds import RECOGNISED
from linewatt.features.tables.stored import StoredTable, store_table
from linewatt.features.tables.trials import trials_of_table

__all__ = ["RECOGNISED", "StoredTable", "store_table", "trials_of_table"]
