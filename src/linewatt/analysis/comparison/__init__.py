# SPDX-License-Identifier: Apache-2.0
"""Two results, two hosts or two levels against each other, and effects of factors. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
