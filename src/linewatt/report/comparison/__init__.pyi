# SPDX-License-Identifier: Apache-2.0

from .document import CSV_COLUMNS as CSV_COLUMNS
from .document import comparison_csv_rows as comparison_csv_rows
from .document import comparison_document as comparison_document
from .factor import parse_factor as parse_factor
from .first_screen import first_screen_of_comparison as first_screen_of_comparison
from .junit import render_junit as render_junit
from .page import comparison_page_with_section as comparison_page_with_section
from .page import render_comparison_page as render_comparison_page
from .remarks import lab_words as lab_words
from .remarks import lab_words_of as lab_words_of
from .remarks import names_of_cases as names_of_cases
from .remarks import where_and_what as where_and_what
from .sides import Kept as Kept
from .sides import kept_side as kept_side
from .sides import side_of as side_of
from .sides import with_surroundings as with_surroundings
from .stored_comparison import compare_stored as compare_stored
from .stored_comparison import compared_by_kind as compared_by_kind
from .stored_comparison import match_stored as match_stored
from .stored_comparison import run_kind_of as run_kind_of
from .summary import render_summary as render_summary
from .tables import mean_cell as mean_cell
from .tables import unit_of_response as unit_of_response
from .terminal import COLOUR_BY_EXIT_CODE as COLOUR_BY_EXIT_CODE
from .terminal import ENDING_BY_EXIT_CODE as ENDING_BY_EXIT_CODE
from .terminal import show_comparison as show_comparison
