# SPDX-License-Identifier: Apache-2.0
"""Means, intervals, tests, change points and shapes of series. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
