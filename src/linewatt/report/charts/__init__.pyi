# SPDX-License-Identifier: Apache-2.0

from . import specs as specs
from .data import LETTER_PX as LETTER_PX
from .data import Row as Row
from .data import largest_drawn as largest_drawn
from .data import mean_row as mean_row
from .data import spread_labels as spread_labels
from .figure import DrawnFigure as DrawnFigure
from .figure import Figure as Figure
from .figure import draw_figures as draw_figures
from .links import Link as Link
from .links import link_diagram as link_diagram
from .specs import Spec as Spec
