# SPDX-License-Identifier: Apache-2.0
"""From a campaign file to a Campaign, with each fault named by file, line and column."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
