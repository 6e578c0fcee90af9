# SPDX-License-Identifier: Apache-2.0
"""Sources of power, one file or one package each, and what they share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
