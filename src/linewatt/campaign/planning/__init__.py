# SPDX-License-Identifier: Apache-2.0
"""From a Campaign to a Plan: cases, rounds, places, programs. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
