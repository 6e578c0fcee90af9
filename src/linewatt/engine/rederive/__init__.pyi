# SPDX-License-Identifier: Apache-2.0

from .differences import Change as Change
from .differences import Told as Told
from .run import Rederived as Rederived
from .run import rederive as rederive
from .run import rederived_document as rederived_document
from .run import write_rederived as write_rederived
