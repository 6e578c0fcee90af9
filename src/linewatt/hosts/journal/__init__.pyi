# SPDX-License-Identifier: Apache-2.0

from .journal import Journal as Journal
from .journal import damage_text as damage_text
from .journal import journal_path as journal_path
from .journal import journals as journals
from .journal import read_journal as read_journal
from .journal import state_dir as state_dir
from .lines import Content as Content
from .lines import Entry as Entry
from .lines import Place as Place
