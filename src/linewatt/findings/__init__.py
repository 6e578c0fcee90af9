# SPDX-License-Identifier: Apache-2.0
"""Every kind of finding, declared once by topic: rank, scope, thresholds, words."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
