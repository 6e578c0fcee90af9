# SPDX-License-Identifier: Apache-2.0

from .checks import Finding as Finding
from .checks import check_one_port as check_one_port
from .file import load_campaign as load_campaign
from .hosts import path_text as path_text
from .named_files import resolve_path as resolve_path
from .sites import read_topologies as read_topologies
from .sites import site_of_host as site_of_host
from .sites import sites_of_files as sites_of_files
from .ways import Ways as Ways
