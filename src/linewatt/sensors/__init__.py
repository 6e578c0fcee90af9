# SPDX-License-Identifier: Apache-2.0
"""Sensors: one file a source."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
