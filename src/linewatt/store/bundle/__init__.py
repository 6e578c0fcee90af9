# SPDX-License-Identifier: Apache-2.0
"""A result as one file that goes to another machine: packed whole, read as what anybody may have written."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
