# SPDX-License-Identifier: Apache-2.0
"""A comparison as sections, JSON, CSV, JUnit and a page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
