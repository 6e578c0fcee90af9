# SPDX-License-Identifier: Apache-2.0

from .connections import connection_lines as connection_lines
from .environment import environment_section as environment_section
from .placement_page import Placements as Placements
