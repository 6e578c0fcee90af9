# SPDX-License-Identifier: Apache-2.0

from .beats import beats_of_loop as beats_of_loop
from .jumps import parse_destination as parse_destination
from .jumps import parse_jumps as parse_jumps
from .login import key_problem as key_problem
