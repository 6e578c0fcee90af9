# SPDX-License-Identifier: Apache-2.0
"""From what a trial left behind to its numbers, and to what makes them doubtful. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
